"""Circles in a chart that nothing stops: the machine would go round in them for ever, in a single event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from wfc.flow import OUTSIDE_EVENTS, Flow, FlowEdge
from wfc.ir import State
from wfc.steps.base import Step
from wfc.structs import struct
from wfc_runtime.digraph import components

_WAITING = frozenset({"Ask", "Spawn"})


@struct(frozen=True)
class Circle:
    """States that lead to each other without waiting or counting, and the edges by which they do."""

    nodes: frozenset[str]
    edges: tuple[FlowEdge, ...]

    @cached_property
    def graph(self) -> dict[str, list[str]]:
        return _graph(self.edges)


def endless_circles(flow: Flow) -> Iterator[Circle]:
    """What can be gone round in for ever.

    Edges that wait for an event from outside are left out, and so are those of a goto, which counts its jumps
    for the whole run. A `while` counts its turns afresh each time it is entered, so its count stops only
    the circles that do not enter it anew: its edge is taken out of a component that does not hold the loop's
    beginning, and what remains is looked at again.
    """
    begins = {
        state.effect.arguments["loop"]: state.id
        for state in flow.states.values()
        if state.effect and state.effect.name == "Begin"
    }
    instant = _Instant(flow)
    todo = [[edge for edge in flow.edges if instant(edge) and not _is_jump(edge)]]
    while todo:
        for nodes, edges in _circles(todo.pop()):
            rest = [edge for edge in edges if not _is_turn(edge, begins) or begins[edge.source] in nodes]
            if len(rest) == len(edges):
                yield Circle(nodes, tuple(edges))
            else:
                todo.append(rest)


def _circles(edges: list[FlowEdge]) -> Iterator[tuple[frozenset[str], list[FlowEdge]]]:
    """The components in which one can go round, with the edges inside them."""
    graph = _graph(edges)
    number = {node: place for place, nodes in enumerate(components(list(graph), graph)) for node in nodes}
    found: dict[int, list[FlowEdge]] = {}
    for edge in edges:
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
    return edge.source in begins and edge.guard is not None and edge.guard.name == "when"


def is_waiting(state: State) -> bool:
    """Whether a state, once its work has begun, waits for an event from outside."""
    return state.effect is not None and state.effect.name in _WAITING


class _Instant:
    """Tells the edges that can be taken in the very moment in which their source is entered."""

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
        """Whether every branch can come to its end without waiting."""
        if parallel not in self._joins:
            self._joins[parallel] = False
            inside = self._flow.inside(parallel) | {parallel}
            found = self._flow.reach([parallel], lambda edge: edge.target in inside and self(edge))
            self._joins[parallel] = found.issuperset(self._flow.branch_ends[parallel])
        return self._joins[parallel]

    def _fails_at_once(self, node: str) -> bool:
        """Whether a state can fail before it has waited for anything: an action, by its templates only."""
        state = self._flow.states[node]
        effect = state.effect
        if effect is None or not is_waiting(state):
            return True
        tried_again = effect.retry is not None and effect.retry.get("max_attempts", 1) > 1
        return not tried_again and state.step is not None and _has_template(state.step)


def _has_template(step: Step) -> bool:
    return any(text is not step.when and not text.template.is_literal for text in step.texts())
