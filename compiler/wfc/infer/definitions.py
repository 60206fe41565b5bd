"""Where the fields of one scope get their values: at the start, or by a step. Each is a bit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wfc.core.ast import Scope
from wfc.core.types import ANY, ListType, Type
from wfc.infer.lookup import FAILED_CHILD
from wfc.infer.terms import NOTHING, UNDEFINED, join
from wfc.infer.trees import literal_type
from wfc.source import Mapping, Scalar, Span
from wfc.steps.base import Step, UnknownStep
from wfc.steps.call import Call
from wfc.steps.condition import Condition
from wfc.steps.foreach import Foreach
from wfc.steps.set_state import SetState


@dataclass(frozen=True, slots=True)
class Definition:
    """One way in which a field gets a value, or does not."""

    number: int
    field: str
    step: Step | None = None
    """The step that writes it; none for what holds at the start."""
    span: Span | None = None
    after_failure: bool = False
    """What a foreach or call leaves behind when it has failed."""

    @property
    def bit(self) -> int:
        return 1 << self.number


class Definitions:
    """All definitions of a scope. Their types become known as the inference goes on."""

    def __init__(self, scope: Scope) -> None:
        self.all: list[Definition] = []
        self.types: list[Type] = []
        self.by_field: dict[str, list[Definition]] = {}
        self.by_step: dict[Step, list[Definition]] = {}
        self.masks: dict[str, int] = {}
        """All bits of a field."""
        self._at_start(scope)
        self._by_steps(scope)

    def _add(self, definition: Definition, kind: Type) -> None:
        self.all.append(definition)
        self.types.append(kind)
        self.by_field.setdefault(definition.field, []).append(definition)
        self.masks[definition.field] = self.masks.get(definition.field, 0) | definition.bit
        if definition.step is not None:
            self.by_step.setdefault(definition.step, []).append(definition)

    def _at_start(self, scope: Scope) -> None:
        written = {field for step in scope.walk() for field in fields_of(step)}
        node = scope.node.get("initial_state")
        keys = {entry.key.text: entry.key.span for entry in node.entries} if isinstance(node, Mapping) else {}
        for field, tree in (scope.initial_state or {}).items():
            kind = literal_type(tree.node, exactly=field in written)
            self._add(Definition(len(self.all), field, span=keys.get(field)), kind)
        for field in dict.fromkeys(field for step in scope.walk() for field in fields_of(step)):
            if field not in self.by_field:
                self._add(Definition(len(self.all), field), UNDEFINED)

    def _by_steps(self, scope: Scope) -> None:
        for step in scope.walk():
            for field, (span, kind) in fields_of(step).items():
                self._add(Definition(len(self.all), field, step, span), kind)
            output = step.values.get("output_to")
            if isinstance(step, Foreach | Call) and output is not None:
                left = ListType(ANY) if isinstance(step, Foreach) else FAILED_CHILD
                self._add(Definition(len(self.all), output.text, step, output.span, after_failure=True), left)

    @property
    def start(self) -> int:
        return sum(definition.bit for definition in self.all if definition.step is None)

    def unset(self, field: str) -> int:
        """The bit that stands for nothing having been written."""
        first = self.by_field[field][0]
        return first.bit if self.types[first.number] == UNDEFINED else 0

    def of_mask(self, mask: int) -> Iterator[Definition]:
        while mask:
            low = mask & -mask
            yield self.all[low.bit_length() - 1]
            mask ^= low

    def type_of(self, mask: int) -> Type:
        return join(*(self.types[definition.number] for definition in self.of_mask(mask)))


def fields_of(step: Step) -> dict[str, tuple[Span, Type]]:
    """The fields that a step writes when it succeeds, with what is known before anything is inferred."""
    if isinstance(step, UnknownStep):
        return _guessed(step)
    found = step.writes()
    if isinstance(step, SetState | Condition):
        return {field: (span, NOTHING) for field, (span, _) in found.items()}
    return found


def _guessed(step: UnknownStep) -> dict[str, tuple[Span, Type]]:
    """Of a step whose type nobody knows, what its keys suggest."""
    output, updates = step.node.get("output_to"), step.node.get("updates")
    found: dict[str, tuple[Span, Type]] = {}
    if isinstance(output, Scalar):
        found[output.text] = (output.span, ANY)
    if isinstance(updates, Mapping):
        found |= {entry.key.text: (entry.key.span, ANY) for entry in updates.entries}
    return found
