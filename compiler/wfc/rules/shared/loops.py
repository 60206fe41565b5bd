"""The loops of a scope, what decides whether they go on, and what is written while they do."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from wfc.analysis.control_flow import FlowEdge
from wfc.language.ast import walk
from wfc.language.steps.base import Step
from wfc.language.steps.goto import Goto
from wfc.language.steps.while_ import While
from wfc.language.values import Text
from wfc.rules.shared.beside import Beside
from wfc.rules.shared.scope_use import ScopeUse
from wfc.struct import struct
from wfc_runtime.digraph import components, has_circle


@struct(frozen=True)
class Loop:
    step: Step
    """The `while`, or the goto that leads back."""
    decisions: list[Text]
    """The conditions that alone decide whether it goes on."""
    written: frozenset[str]
    has_rest: bool
    """Whether it is said where to go on when the turns are used up."""


class Loops:
    def __init__(self, use: ScopeUse) -> None:
        self._scope = use.scope
        self._flow = use.flow
        self._meant = use.meant
        self._beside = Beside(use.scope)

    def found(self) -> Iterator[Loop]:
        """The loops that nothing but conditions can end."""
        steps = list(self._scope.walk())
        if any(isinstance(step, While) for step in steps):
            yield from self._whiles(steps)
        if any(isinstance(step, Goto) for step in steps):
            yield from self._gotos()

    def writes(self, loop: Loop, field: str) -> bool:
        """Whether a field may be written while the loop runs: by itself, or in a branch beside it."""
        return field in loop.written or field in self._meant or self._beside.writes(loop.step, field)

    # -- while -----------------------------------------------------------------

    def _whiles(self, steps: list[Step]) -> Iterator[Loop]:
        nodes = self._nodes
        for step in steps:
            if isinstance(step, While) and step.if_ is not None and step.if_.is_text:
                body = list(walk(step.steps or []))
                inside = {node for one in (step, *body) for node in nodes.get(one, ())}
                mine = set(nodes.get(step, ()))
                if not any(self._leaves(node, inside) for node in inside - mine):
                    yield Loop(step, [step.if_], _written(body), "on_error" in step.values)

    def _leaves(self, node: str, inside: set[str]) -> bool:
        return any(edge.target not in inside for edge in self._flow.out.get(node, ()) if edge.join is None)

    # -- goto ------------------------------------------------------------------

    def _gotos(self) -> Iterator[Loop]:
        """One for each circle of jumps: at the last goto in it."""
        edges = [edge for edge in self._flow.edges if edge.event != "retry" and not self._is_turn(edge)]
        graph: dict[str, list[str]] = {}
        for edge in edges:
            graph.setdefault(edge.source, []).append(edge.target)
        for nodes in components(list(graph), graph):
            if has_circle(nodes, graph):
                yield from self._circle(frozenset(nodes))

    def _is_turn(self, edge: FlowEdge) -> bool:
        """Whether it leads from the body of a `while` back to its condition."""
        state = self._flow.states.get(edge.target)
        return state is not None and state.kind == "turn" and self._flow.step(edge.source) is not state.step

    def _circle(self, nodes: frozenset[str]) -> Iterator[Loop]:
        inside = sorted(nodes & self._flow.states.keys(), key=self._rank.__getitem__)
        states = [self._flow.states[node] for node in inside]
        steps = list(dict.fromkeys(state.step for state in states if state.step))
        gotos = [step for step in steps if isinstance(step, Goto)]
        # How often a `while` inside it turns, and what it writes on the way, is not followed.
        if not gotos or any(state.kind == "turn" for state in states):
            return
        exits = [edge for node in nodes for edge in self._flow.out.get(node, ()) if edge.target not in nodes]
        exits = [edge for edge in exits if not self._is_used_up(edge)]
        if not exits or any(edge.guard is None or edge.guard.name == "ok" for edge in exits):
            return
        deciding = {edge.source for edge in exits}
        if len(deciding) > 1 or not self._always_passes(nodes, next(iter(deciding))):
            # Which of several ways out is come by may depend on any choice and any failure in the circle.
            if any(self._may_fail_over(node) for node in nodes):
                return
            deciding = {node for node in nodes if any(_is_choice(edge) for edge in self._flow.out[node])}
        texts = [self._condition(state.id) for state in states if state.id in deciding]
        found = [text for text in texts if text is not None]
        if found and len(found) == len(texts):
            has_rest = any(step.else_ is not None for step in gotos)
            yield Loop(self._leading_back(gotos), found, _written(steps), has_rest)

    def _leading_back(self, gotos: list[Goto]) -> Goto:
        """The last goto whose target stands before it."""
        order = self._order
        back = [step for step in gotos if step.target and order.get(step.target.text, 0) <= order[step.name]]
        return (back or gotos)[-1]

    @cached_property
    def _order(self) -> dict[str, int]:
        return {step.name: number for number, step in reversed(list(enumerate(self._scope.walk())))}

    @cached_property
    def _rank(self) -> dict[str, int]:
        return {node: number for number, node in enumerate(self._flow.states)}

    def _may_fail_over(self, node: str) -> bool:
        return any(edge.event == "recover" and not self._is_used_up(edge) for edge in self._flow.out[node])

    def _is_used_up(self, edge: FlowEdge) -> bool:
        return edge.event == "recover" and isinstance(self._flow.step(edge.source), Goto)

    def _always_passes(self, nodes: frozenset[str], gate: str) -> bool:
        """Whether every turn comes by a node: without it, nothing goes round."""
        others = nodes - {gate}
        graph = {
            node: [edge.target for edge in self._flow.out.get(node, ()) if edge.target in others]
            for node in others
        }
        return not any(has_circle(found, graph) for found in components(sorted(graph), graph))

    def _condition(self, node: str) -> Text | None:
        """The text that decides where a node leads."""
        state = self._flow.states[node]
        step = state.step
        text = step.when if step and state.kind == "when" else step.values.get("if") if step else None
        return text if isinstance(text, Text) and text.is_text else None

    # -- what both need --------------------------------------------------------

    @cached_property
    def _nodes(self) -> dict[Step, list[str]]:
        found: dict[Step, list[str]] = {}
        for state in self._flow.states.values():
            if state.step is not None:
                found.setdefault(state.step, []).append(state.id)
        for parallel, ends in self._flow.branch_ends.items():
            step = self._flow.step(parallel)
            if step is not None:
                found[step] += ends
        return found


def _is_choice(edge: FlowEdge) -> bool:
    return edge.guard is not None and edge.guard.name == "when"


def _written(steps: list[Step]) -> frozenset[str]:
    return frozenset(name for step in steps for name in step.writes())
