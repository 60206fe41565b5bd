"""The control flow graph of one chart, the basis of every analysis of what can happen in which order.

Nodes are the ids of states and of the ends of regions; `Flow.step` is the step that a state was made from. Edges are
those of the chart, with event and guard, except around a parallel step: it forks into the first state of each branch,
and its successor joins the ends of all branches. A failure without a handler ends the run and has no edge.

The graph is built from the IR, not from the steps: a new step type needs no change here, because its `lower` has said
which states it has and where they lead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from wfc.caching import cached_per_file, cached_property
from wfc.ir import BEGINS, HANDLE, Chart, Edge, Guard, Region, State
from wfc.language.ast import Scope
from wfc.language.steps.base import Step
from wfc.project import SourceFile
from wfc.struct import struct
from wfc_runtime.digraph import components

OUTSIDE_EVENTS = frozenset({"submit", "due", "joined"})
"""Events that come from outside the machine, which waits for them."""


@struct(frozen=True)
class FlowEdge:
    source: str
    target: str
    event: str | None = None
    guard: Guard | None = None
    join: str | None = None
    """The parallel state that this edge leaves; it is taken once all branches have ended."""


def _any_edge(edge: FlowEdge) -> bool:
    return True


class Flow:
    """The graph, with its edges by source and by target."""

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
        """The end nodes of the branches of each parallel state."""
        self.edges: list[FlowEdge] = list(_edges(chart.root))
        if chart.caught:
            self._leave_out_failures()
        if chart.handler:
            # Any step may fail. The steps of the handler come last.
            for name, state in self.states.items():
                if name == chart.handler:
                    break
                # A frame does not fail itself; the states inside it do.
                if state.effect is not None and not state.regions:
                    self.edges.append(FlowEdge(name, chart.handler, HANDLE))

    def _leave_out_failures(self) -> None:
        """Without a handler, a parallel step whose branch has failed fails the run: nothing after it follows such a
        branch. With `join: any`, it follows another one."""
        caught = self.chart.caught
        handled = {edge.source for edge in self.edges if edge.event == "recover"}
        fatal = {
            join
            for join in set(caught.values()) - handled
            if (step := self.states[join].step) is not None and step.setting("join") != "any"
        }
        self.edges = [
            edge for edge in self.edges if edge.event != "recover" or caught.get(edge.source) not in fatal
        ]

    @cached_property
    def out(self) -> dict[str, list[FlowEdge]]:
        """The edges that leave each node."""
        return _by(self.edges, lambda edge: edge.source)

    @cached_property
    def into(self) -> dict[str, list[FlowEdge]]:
        """The edges that lead to each node."""
        return _by(self.edges, lambda edge: edge.target)

    def step(self, node: str) -> Step | None:
        """The step that a node belongs to; None for the end of a region."""
        state = self.states.get(node)
        return state.step if state else None

    def returns(self, edge: FlowEdge) -> bool:
        """Whether the run returns a value over this edge. That taken if it can't be computed is not one, and neither
        is that of a step that ends the run with its state."""
        state = self.states.get(edge.source)
        effect = state.effect if state else None
        # `Return` with `state` ends the run like a flow that reaches the end.
        is_return = effect is not None and effect.name == "Return" and not effect.arguments.get("state")
        return is_return and edge.event != "recover"

    def inside(self, parallel: str) -> set[str]:
        """The nodes in the branches of a parallel state."""
        regions = [inner for region in self.states[parallel].regions for inner in region.regions()]
        return {region.end for region in regions} | {
            state.id for region in regions for state in region.states
        }

    @cached_property
    def reachable(self) -> set[str]:
        """The nodes that a run can reach."""
        return self.reach([self.initial])

    def reach(self, starts: Iterable[str], follow: Callable[[FlowEdge], bool] = _any_edge) -> set[str]:
        """The nodes reachable over the edges that `follow` accepts. A join is passed once all of its branches are."""
        found = set(starts)
        todo = list(found)
        finished: dict[str, int] = {}
        while todo:
            for edge in self.out.get(todo.pop(), ()):
                if not follow(edge):
                    continue
                if edge.join is not None:
                    # Each branch end is visited once, so that counting the edges is enough.
                    finished[edge.join] = finished.get(edge.join, 0) + 1
                    if finished[edge.join] < len(self.branch_ends[edge.join]):
                        continue
                if edge.target not in found:
                    found.add(edge.target)
                    todo.append(edge.target)
        return found

    @cached_property
    def ending(self) -> set[str]:
        """The nodes from which the end is reachable; from a branch also if another branch leaves the parallel state.

        A state that fails the run by intent ends it too.
        """
        # A run that fails by intent has ended, too.
        found = {self.end, *(state.id for state in self.states.values() if fails(state))}
        todo = list(found)
        exits = self._exits()
        while todo:
            node = todo.pop()
            before = {edge.source for edge in self.into.get(node, ())}
            # Popped, since every node needs the states inside a parallel step only once.
            for parallel in exits.pop(node, ()):
                before |= self.inside(parallel)
            todo += before - found
            found |= before
        return found

    def _exits(self) -> dict[str, set[str]]:
        """The parallel states that can be left from inside a branch, by the target, or by the state that fails."""
        found: dict[str, set[str]] = {}
        for parallel in self.branch_ends:
            inside = self.inside(parallel)
            for node in inside & self.reachable & self.states.keys():
                if fails(self.states[node]):
                    found.setdefault(node, set()).add(parallel)
            for edge in (edge for node in inside & self.reachable for edge in self.out.get(node, ())):
                # A join leaves the parallel state as a whole, not from one branch.
                if edge.join is None and edge.target not in inside:
                    found.setdefault(edge.target, set()).add(parallel)
        return found


@cached_per_file(8)
def flows_of(file: SourceFile) -> list[tuple[Scope, Flow]]:
    """Every scope of a file with its flow."""
    charts = file.module.charts if file.module else []
    # Both lists begin with the workflow, followed by its tasks in source order.
    return [(scope, Flow(chart)) for scope, chart in zip(file.scopes, charts, strict=True)]


def _edges(region: Region) -> Iterator[FlowEdge]:
    parallel = {state.id: state for state in region.states if state.regions}
    for state in region.states:
        for inner in state.regions:
            # A parallel state is a fork: all of its branches begin at once.
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


# Endless cycles: the machine would follow them forever while it handles a single event.

_WAITING = frozenset({"Ask", "Spawn"})


@struct(frozen=True)
class Circle:
    """A cycle of states without a wait and without a limit, and its edges."""

    nodes: frozenset[str]
    edges: tuple[FlowEdge, ...]

    @cached_property
    def graph(self) -> dict[str, list[str]]:
        return _graph(self.edges)


def endless_circles(flow: Flow) -> Iterator[Circle]:
    """The cycles that nothing ends.

    They are the strongly connected components of the graph without the edges that wait for an event from outside, and
    without those of a goto, which counts its jumps for the whole run. A loop counts its turns from zero each time it is
    entered, so its limit ends only the cycles that do not enter it again: its edge is removed from a component without
    the state that begins the loop, and the rest is searched again.
    """
    begins = {
        state.effect.arguments["loop"]: state.id
        for state in flow.states.values()
        if state.effect and state.effect.name in BEGINS
    }
    instant = _Instant(flow)
    todo = [[edge for edge in flow.edges if instant(edge) and not _is_jump(edge)]]
    while todo:
        for nodes, edges in _circles(todo.pop()):
            # The edge stays if the cycle also passes the state that resets the count.
            rest = [edge for edge in edges if not _is_turn(edge, begins) or begins[edge.source] in nodes]
            if len(rest) == len(edges):
                yield Circle(nodes, tuple(edges))
            else:
                todo.append(rest)


def _circles(edges: list[FlowEdge]) -> Iterator[tuple[frozenset[str], list[FlowEdge]]]:
    """The strongly connected components that have an edge, with their edges."""
    graph = _graph(edges)
    number = {node: place for place, nodes in enumerate(components(list(graph), graph)) for node in nodes}
    found: dict[int, list[FlowEdge]] = {}
    for edge in edges:
        # An edge between two components is on no cycle.
        if number[edge.source] == number[edge.target]:
            found.setdefault(number[edge.source], []).append(edge)
    for inner in found.values():
        yield frozenset(edge.source for edge in inner), inner


def _graph(edges: Iterable[FlowEdge]) -> dict[str, list[str]]:
    graph: dict[str, list[str]] = {}
    for edge in edges:
        graph.setdefault(edge.source, []).append(edge.target)
    return graph


def _is_jump(edge: FlowEdge) -> bool:
    return edge.guard is not None and edge.guard.name == "at_most"


def _is_turn(edge: FlowEdge, begins: dict[str, str]) -> bool:
    return edge.source in begins and edge.guard is not None and edge.guard.name in ("when", "next_item")


def fails(state: State) -> bool:
    """Whether a state ends the run as failed."""
    return state.effect is not None and state.effect.name in ("Fail", "Handled")


def is_waiting(state: State) -> bool:
    """Whether a state waits for an event from outside after it was entered."""
    return state.effect is not None and state.effect.name in _WAITING


class _Instant:
    """Whether an edge can be taken as soon as its source is entered."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._joins: dict[str, bool] = {}

    def __call__(self, edge: FlowEdge) -> bool:
        if edge.join is not None:
            return self._ends_at_once(edge.join)
        if edge.event == "recover":
            return self._fails_at_once(edge.source)
        return edge.event not in OUTSIDE_EVENTS

    def _ends_at_once(self, parallel: str) -> bool:
        """Whether every branch can end without waiting."""
        if parallel not in self._joins:
            # Set first: a parallel state inside a loop may ask for itself.
            self._joins[parallel] = False
            inside = self._flow.inside(parallel) | {parallel}
            found = self._flow.reach([parallel], lambda edge: edge.target in inside and self(edge))
            self._joins[parallel] = found.issuperset(self._flow.branch_ends[parallel])
        return self._joins[parallel]

    def _fails_at_once(self, node: str) -> bool:
        """Whether a state can fail before it waits. An action can only do so by an error in its templates."""
        state = self._flow.states[node]
        effect = state.effect
        if effect is None or not is_waiting(state):
            return True
        # With a retry, the failure first waits for its pause.
        tried_again = effect.retry is not None and effect.retry.get("max_attempts", 1) > 1
        return not tried_again and state.step is not None and _has_template(state.step)


def _has_template(step: Step) -> bool:
    return any(text is not step.when and not text.template.is_literal for text in step.texts())
