"""Where the fields of one scope get their values: at the start, or by a step. Each is a bit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from operator import or_

from wfc.core.ast import Scope
from wfc.core.types import ANY, ListType, Type
from wfc.infer.children import goes_on
from wfc.infer.lookup import FAILED_CHILD
from wfc.infer.terms import NOTHING, UNDEFINED, join
from wfc.infer.trees import literal_type
from wfc.steps.base import Step, UnknownStep
from wfc.steps.call import Call
from wfc.steps.condition import Condition
from wfc.steps.foreach import Foreach
from wfc.steps.set_state import SetState
from wfc.structs import struct
from wfc.yaml import Mapping, Node, Scalar, Sequence, Span


@struct(frozen=True)
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
        self.changes: list[Definition] = []
        """What has become known better, one after the other."""
        self._later: list[int] = []
        written = {step: fields_of(step) for step in scope.walk()}
        self._at_start(scope, dict.fromkeys(field for fields in written.values() for field in fields))
        self._by_steps(written)

    def _add(self, definition: Definition, kind: Type) -> None:
        self.all.append(definition)
        self.types.append(kind)
        self.by_field.setdefault(definition.field, []).append(definition)
        self.masks[definition.field] = self.masks.get(definition.field, 0) | definition.bit
        if definition.step is not None:
            self.by_step.setdefault(definition.step, []).append(definition)

    def _at_start(self, scope: Scope, written: dict[str, None]) -> None:
        node = scope.node.get("initial_state")
        keys = {entry.key.text: entry.key.span for entry in node.entries} if isinstance(node, Mapping) else {}
        for field, tree in (scope.initial_state or {}).items():
            kind = literal_type(tree.node, exactly=field in written)
            self._add(Definition(len(self.all), field, span=keys.get(field)), kind)
        # An initial_state that can't be read may name any field.
        missing = UNDEFINED if node is None or isinstance(node, Mapping) else ANY
        for field in written:
            if field not in self.by_field:
                self._add(Definition(len(self.all), field), ANY if field in keys else missing)

    def _by_steps(self, written: dict[Step, dict[str, tuple[Span, Type]]]) -> None:
        for step, fields in written.items():
            for field, (span, kind) in fields.items():
                self._add(Definition(len(self.all), field, step, span), kind)
            output = step.values.get("output_to")
            if isinstance(step, Foreach | Call) and output is not None and goes_on(step):
                left = ListType(ANY) if isinstance(step, Foreach) else FAILED_CHILD
                self._add(Definition(len(self.all), output.text, step, output.span, after_failure=True), left)

    def learn(self, definition: Definition, kind: Type) -> None:
        """A definition is known better than before."""
        self.types[definition.number] = kind
        self.changes.append(definition)

    @property
    def moment(self) -> int:
        """How many times a type has become known better."""
        return len(self.changes)

    def changed_since(self, moment: int) -> int:
        """The definitions that have become known better since then."""
        if len(self._later) <= len(self.changes):
            bits = (definition.bit for definition in reversed(self.changes))
            self._later = list(accumulate(bits, or_, initial=0))[::-1]
        return self._later[moment]

    @cached_property
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
        return dict(_guessed(step.node))
    found = step.writes()
    if isinstance(step, SetState | Condition):
        return {field: (span, NOTHING) for field, (span, _) in found.items()}
    output = step.node.get("output_to") if "output_to" not in step.values else None
    if isinstance(output, Scalar):
        # What is wrong with it is said elsewhere; that it would be written is not in doubt.
        return {output.text: (output.span, ANY), **found}
    return found


def _guessed(node: Node) -> Iterator[tuple[str, tuple[Span, Type]]]:
    """Of a step whose type nobody knows, and of those inside it, what their keys suggest."""
    match node:
        case Sequence():
            for item in node.items:
                yield from _guessed(item)
        case Mapping():
            output, updates = node.get("output_to"), node.get("updates")
            if isinstance(output, Scalar):
                yield output.text, (output.span, ANY)
            if isinstance(updates, Mapping):
                yield from ((entry.key.text, (entry.key.span, ANY)) for entry in updates.entries)
            for entry in node.entries:
                yield from _guessed(entry.value)
