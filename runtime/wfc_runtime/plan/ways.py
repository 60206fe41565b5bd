"""A machine's states and edges as the ways of each region: who leads to whom, and how often at most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wfc_runtime.machine.effects import Begin, Delay
from wfc_runtime.machine.interpreter import Condition, Edge, Node, Structure

_NOT_FOLLOWED = frozenset({"retry", "fail", "cancel"})
"""A retry counts as part of its step; a run that fails or is cancelled is not worked to its end."""


@dataclass(frozen=True, eq=False)
class Way:
    """An edge between two states of one region, or between the groups of branches that they stand in."""

    source: str
    target: str
    edge: Edge
    most: int | None = None
    """How often it can be taken: in the whole run or, for a loop, each time the loop is begun."""
    begin: str | None = None
    """The state that begins the loop."""

    def reversed(self) -> Way:
        return Way(self.target, self.source, self.edge, self.most, self.begin)


class Ways:
    """The ways of a machine by the region in which they run."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self._begins = {
            effect.loop: state for state, effect in structure.steps.items() if isinstance(effect, Begin)
        }
        self._of: dict[str, list[Way]] = {}
        for _, edge in edges_of(structure):
            if edge.domain is not None:
                self._of.setdefault(edge.domain.id, []).append(self._way(edge, edge.domain))

    def within(self, region: Node) -> list[Way]:
        return self._of.get(region.id, [])

    def nodes(self, region: Node) -> list[str]:
        steps = self.structure.steps
        return [node.id for node in region.children if not isinstance(steps.get(node.id), Delay)]

    def _way(self, edge: Edge, region: Node) -> Way:
        condition = counted(edge)
        return Way(
            child_in(region, edge.source).id,
            child_in(region, edge.target).id,
            edge,
            condition.most if condition else None,
            self._begins.get(edge.source.id),
        )


def edges_of(structure: Structure) -> Iterator[tuple[str | None, Edge]]:
    """Every edge that work can take, with its event. What a retry goes through is left out."""
    for node in structure.nodes.values():
        if isinstance(structure.steps.get(node.id), Delay):
            continue
        yield from ((None, edge) for edge in node.eventless)
        for event, edges in node.on.items():
            if event not in _NOT_FOLLOWED:
                yield from ((event, edge) for edge in edges)


def condition_of(edge: Edge) -> Condition | None:
    return next((guard for guard in edge.guards if isinstance(guard, Condition)), None)


def counted(edge: Edge) -> Condition | None:
    """The guard that says how often an edge can be taken."""
    condition = condition_of(edge)
    return condition if condition is not None and condition.most is not None else None


def child_in(region: Node, node: Node) -> Node:
    """The child of a region that a node is, or stands in."""
    return next(one for one in (node, *node.ancestors) if one.parent is region)
