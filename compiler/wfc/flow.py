"""The control flow of one chart as a graph, for every analysis of what can happen in which order.

Nodes are the ids of states and of the ends of regions; `Flow.step` gives the step that a state was made from.
Edges are the chart's own, with event and guard, except around a parallel step: it forks into the first state
of each of its branches, and what comes after it is joined from their ends, all of which must be reached. A
failure that nothing recovers from ends the run: that is no edge here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from wfc.core.ast import Scope
from wfc.ir import Chart, Edge, Guard, Region, State
from wfc.lazy import remembered_of_files
from wfc.steps.base import Step
from wfc.structs import struct
from wfc.unit import Unit

OUTSIDE_EVENTS = frozenset({"submit", "due", "joined"})
"""Events that come from outside: until one does, the machine waits."""


@struct(frozen=True)
class FlowEdge:
    source: str
    target: str
    event: str | None = None
    guard: Guard | None = None
    join: str | None = None
    """The parallel state that ends where this edge is taken."""


def _any_edge(edge: FlowEdge) -> bool:
    return True


class Flow:
    """The graph, forward and backward."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.initial = chart.root.initial
        self.end = chart.root.end
        self.states: dict[str, State] = {state.id: state for state in chart.states()}
        self.branch_ends: dict[str, tuple[str, ...]] = {
            state.id: tuple(region.end for region in state.regions)
            for state in self.states.values()
            if state.regions
        }
        """The ends of a parallel state's branches."""
        self.edges: list[FlowEdge] = list(_edges(chart.root))

    @cached_property
    def out(self) -> dict[str, list[FlowEdge]]:
        """The edges that leave each node."""
        return _by(self.edges, lambda edge: edge.source)

    @cached_property
    def into(self) -> dict[str, list[FlowEdge]]:
        """The edges that lead to each node."""
        return _by(self.edges, lambda edge: edge.target)

    def step(self, node: str) -> Step | None:
        """The step that a node belongs to; an end belongs to none."""
        state = self.states.get(node)
        return state.step if state else None

    def returns(self, edge: FlowEdge) -> bool:
        """Whether a step returns by this edge; not where it could not compute its value."""
        state = self.states.get(edge.source)
        effect = state.effect if state else None
        return effect is not None and effect.name == "Return" and edge.event != "recover"

    def inside(self, parallel: str) -> set[str]:
        """The nodes in the branches of a parallel state."""
        regions = [inner for region in self.states[parallel].regions for inner in region.regions()]
        return {region.end for region in regions} | {
            state.id for region in regions for state in region.states
        }

    @cached_property
    def reachable(self) -> set[str]:
        """The nodes that a run can come to."""
        return self.reach([self.initial])

    def reach(self, starts: Iterable[str], follow: Callable[[FlowEdge], bool] = _any_edge) -> set[str]:
        """The nodes that can be come to by edges that `follow` takes; a join needs all of its branches."""
        found = set(starts)
        todo = list(found)
        finished: dict[str, int] = {}
        while todo:
            for edge in self.out.get(todo.pop(), ()):
                if not follow(edge):
                    continue
                if edge.join is not None:
                    finished[edge.join] = finished.get(edge.join, 0) + 1
                    if finished[edge.join] < len(self.branch_ends[edge.join]):
                        continue
                if edge.target not in found:
                    found.add(edge.target)
                    todo.append(edge.target)
        return found

    @cached_property
    def ending(self) -> set[str]:
        """The nodes from which a run can come to its end; from a branch, through one beside it as well."""
        found = {self.end}
        todo = [self.end]
        exits = self._exits()
        while todo:
            node = todo.pop()
            before = {edge.source for edge in self.into.get(node, ())}
            for parallel in exits.pop(node, ()):
                before |= self.inside(parallel)
            todo += before - found
            found |= before
        return found

    def _exits(self) -> dict[str, set[str]]:
        """The parallel states that can be left from inside a branch, by where that leads."""
        found: dict[str, set[str]] = {}
        for parallel in self.branch_ends:
            inside = self.inside(parallel)
            for edge in (edge for node in inside & self.reachable for edge in self.out.get(node, ())):
                if edge.join is None and edge.target not in inside:
                    found.setdefault(edge.target, set()).add(parallel)
        return found


@remembered_of_files(8)
def flows_of(unit: Unit) -> list[tuple[Scope, Flow]]:
    """Every scope of a file with its flow."""
    charts = unit.module.charts if unit.module else []
    return [(scope, Flow(chart)) for scope, chart in zip(unit.scopes, charts, strict=True)]


def _edges(region: Region) -> Iterator[FlowEdge]:
    parallel = {state.id: state for state in region.states if state.regions}
    for state in region.states:
        for inner in state.regions:
            yield FlowEdge(state.id, inner.initial)
            yield from _edges(inner)
    for edge in region.edges:
        if edge.source in parallel:
            yield from _joins(edge, parallel[edge.source])
        else:
            yield FlowEdge(edge.source, edge.target, edge.event, edge.guard)


def _joins(edge: Edge, state: State) -> Iterator[FlowEdge]:
    for region in state.regions:
        yield FlowEdge(region.end, edge.target, edge.event, edge.guard, join=state.id)


def _by(edges: Iterable[FlowEdge], key: Callable[[FlowEdge], str]) -> dict[str, list[FlowEdge]]:
    found: dict[str, list[FlowEdge]] = {}
    for edge in edges:
        found.setdefault(key(edge), []).append(edge)
    return found
