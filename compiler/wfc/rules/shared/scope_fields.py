"""The state fields of a workflow or task: those that `initial_state` names and those that its steps write."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from wfc.language.ast import Scope
from wfc.language.steps.base import Step, UnknownStep
from wfc.rules.shared.nearest import Nearest
from wfc.suggest import did_you_mean
from wfc.yaml import Mapping, Node, Scalar, Sequence, Span


class ScopeFields:
    """The fields, each with the first place that sets it."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.places: dict[str, Span] = {}
        start = scope.node.get("initial_state")
        self.is_complete = start is None or isinstance(start, Mapping)
        """Whether all fields can be told: not where `initial_state` can't be read."""
        for name, span in [*_keys(start), *(found for step in scope.walk() for found in _written(step))]:
            self.places.setdefault(name, span)
        self.nearest = Nearest(self.places)

    @cached_property
    def choices(self) -> str:
        """A help line: what there is to choose from."""
        return did_you_mean("", self.places)

    def __contains__(self, name: str) -> bool:
        return name in self.places


def _written(step: Step) -> Iterator[tuple[str, Span]]:
    """What a step writes, or would write if it were right: what is wrong with it is said elsewhere."""
    for name, (span, _) in step.writes().items():
        yield name, span
    if isinstance(step, UnknownStep):
        yield from _named(step.node)
    elif "output_to" not in step.values:
        yield from _text(step.node.get("output_to"))


def _named(node: Node) -> Iterator[tuple[str, Span]]:
    """Every field that a step of unknown type, or one inside it, names as its output."""
    match node:
        case Sequence():
            for item in node.items:
                yield from _named(item)
        case Mapping():
            yield from _text(node.get("output_to"))
            yield from _keys(node.get("updates"))
            for entry in node.entries:
                yield from _named(entry.value)


def _text(node: Node | None) -> Iterator[tuple[str, Span]]:
    if isinstance(node, Scalar):
        yield node.text, node.span


def _keys(node: Node | None) -> list[tuple[str, Span]]:
    return [(entry.key.text, entry.key.span) for entry in node.entries] if isinstance(node, Mapping) else []
