"""The path on which a definition reaches a node: whether one exists, and which branch explains it.

Reaching definitions unite all paths, including those that no run can take: a field that is written if `a` and read if
`a` would be reported as maybe unset. Before such a finding is reported, a backward search looks for a path on which no
two conditions contradict each other. The search is bounded; if the budget runs out, nothing is reported.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from wfc.analysis.control_flow import Flow, FlowEdge
from wfc.analysis.types.constants import Range, Values, decide
from wfc.analysis.types.environment import Held
from wfc.analysis.types.reaching import StateFlow
from wfc.caching import cached_property
from wfc.language.steps.base import Step
from wfc.language.types import ANY
from wfc.struct import struct
from wfc.yaml import Span

_VISITS = 3
"""How often a node is visited with different sets of clauses."""
_LONGEST = 60


@struct(frozen=True)
class Turning:
    """The decisive branch of a path in words, such as "where `gate` is false"."""

    words: str
    span: Span | None = None


@struct(frozen=True)
class _Place:
    node: str
    clauses: int
    edge: FlowEdge | None = None
    after: _Place | None = None


class Paths:
    """Searches backward, one field at a time. All searches of a scope share a budget, which keeps them linear."""

    def __init__(self, states: StateFlow, inputs: Callable[[str, bool], Range]) -> None:
        self._states = states
        self._inputs = inputs
        self._flow: Flow = states.flow
        # The constant lets a small scope be searched fully; the factor bounds the work of a large one.
        self._budget = 2_000 + 40 * len(states.flow.edges)
        self._telling = 0

    def find(self, node: str, field: str, mask: int, held: tuple[Held, ...] = ()) -> list[FlowEdge] | None:
        """The edges on which one of these definitions reaches a node; None if the conditions of every path contradict.

        `held` are conditions inside the template, which hold where the field is read.
        """
        self._telling = self._what_writers_ask(field)
        # These clauses hold on every path to the node, so a path on which one of them is false can be cut at once.
        clauses = self._states.held[node]
        for condition in held:
            clauses |= self._states.moves.clauses.known(condition)
        # Breadth-first, so that the path which is found, and explained in the finding, is a shortest one.
        todo = deque([_Place(node, clauses)])
        seen: dict[str, list[int]] = {node: [todo[0].clauses]}
        while todo:
            place = todo.popleft()
            if self._is_beginning(place.node, field, mask):
                return list(_edges(place))
            for edge in self._flow.into.get(place.node, ()):
                self._budget -= 1
                if self._budget < 0:
                    return None
                before = self._step_back(place, edge, field, mask)
                if before is None:
                    continue
                # The edge itself makes one of the definitions: the path begins here.
                if self._states.moves.of(edge).gen & mask:
                    return list(_edges(before))
                visits = seen.setdefault(before.node, [])
                # A node is visited again only with other clauses, since these decide which edges contradict; without
                # a limit the number of clause sets could be exponential.
                if before.clauses not in visits and len(visits) < _VISITS:
                    visits.append(before.clauses)
                    todo.append(before)
        return None

    def _is_beginning(self, node: str, field: str, mask: int) -> bool:
        """Whether only these definitions reach a node, so that the path before it makes no difference."""
        if node == self._flow.initial and mask & self._states.definitions.start:
            return True
        return self._states.mask_at(node, field) | mask == mask

    def _step_back(self, place: _Place, edge: FlowEdge, field: str, mask: int) -> _Place | None:
        states = self._states
        move = states.moves.of(edge)
        if not states.reach.get(edge.source, 0) & mask and not move.gen & mask:
            return None
        # Going backward, a write between the definition and the node means that the definition does not arrive here.
        if move.kill & mask and not move.gen & mask:
            return None
        if edge.join is not None and not self._goes_through(edge, field):
            return None
        # An edge whose condition contradicts a later one on this path can't be part of it.
        for clause in states.moves.learned.get(id(edge), ()):
            if place.clauses & states.moves.clauses.opposite(clause):
                return None
        clauses = place.clauses
        # Only clauses on the conditions of writers are remembered. Others can't distinguish paths for this field, and
        # each would multiply the sets of clauses per node.
        for clause in states.moves.learned.get(id(edge), ()):
            clauses |= states.moves.clauses.bit(clause) & self._telling
        if place.edge is not None and edge.join is None and self._is_decided(place.edge, edge):
            return None
        # A clause about a field that the edge writes says nothing about the value before the edge.
        return _Place(edge.source, clauses & ~move.forget, edge, place)

    @cached_property
    def _nodes_of(self) -> dict[Step, list[str]]:
        found: dict[Step, list[str]] = {}
        for state in self._flow.states.values():
            if state.step is not None:
                found.setdefault(state.step, []).append(state.id)
        return found

    def _writers(self, field: str) -> Iterator[str]:
        """The nodes of the steps that write a field."""
        steps = {found.step for found in self._states.definitions.by_field[field]}
        return (node for step in steps if step is not None for node in self._nodes_of.get(step, ()))

    def _what_writers_ask(self, field: str) -> int:
        """The clauses on the conditions under which the field is written. The search ignores all others."""
        clauses = self._states.moves.clauses
        found = 0
        for node in self._writers(field):
            for clause in clauses.of_mask(self._states.held.get(node, 0)):
                found |= clauses.bit(clause) | clauses.opposite(clause)
        return found

    def _is_decided(self, taken: FlowEdge, before: FlowEdge) -> bool:
        """Whether the condition of an edge contradicts the values that reach it over the edge before."""
        clauses = self._states.moves.learned.get(id(taken), ())
        if not clauses:
            return False
        reach, _ = self._states.after(before)
        masks = self._states.definitions.masks
        values = Values(
            lambda field: (
                self._states.definitions.type_of(reach & masks.get(field, 0)) if field in masks else ANY
            ),
            self._inputs,
        )
        return any(decide(clause.node, values) is (not clause.outcome) for clause in clauses)

    def _goes_through(self, edge: FlowEdge, field: str) -> bool:
        """Whether the value of a field after a join comes from the branch that this edge leaves."""
        branches = self._states.moves.regions
        ends = self._flow.branch_ends[edge.join or ""]
        return field in branches[edge.source].fields or not any(field in branches[end].fields for end in ends)

    # -- what explains it ------------------------------------------------------

    def explain(self, node: str, field: str, way: list[FlowEdge]) -> Turning | None:
        """The last branch of a path after which no step could write the field any more."""
        if not way:
            return None
        # Nodes before the beginning of the path can't explain it, so the search is limited to ranks from there on.
        writing = self._can_still_write(node, field, self._states.rank.get(way[0].source, 0))
        # From the end, since the last such branch is the decisive one: after it no step can write the field any more.
        for edge in reversed(way):
            if edge.target not in writing and edge.source in writing:
                turning = self._describe(edge)
                if turning is not None:
                    return turning
        return next((jump for edge in reversed(way) if (jump := self._jump(edge)) is not None), None)

    def _jump(self, edge: FlowEdge) -> Turning | None:
        """A jump past the step that writes the field. The path may begin there if nothing was written before."""
        step, target = self._flow.step(edge.source), self._flow.step(edge.target)
        if step is None or target is None or step.jump() is None:
            return None
        return Turning(f"where `{step.name}` goes to `{target.name}`", step.span)

    def beside(self, node: str, step: Step) -> Step | None:
        """The parallel step that has a node in one branch and a step in another."""
        for parallel in self._flow.branch_ends:
            branches = [
                {state.id: state.step for state in region.walk()}
                for region in self._flow.states[parallel].regions
            ]
            own = [branch for branch in branches if node in branch]
            if own and step not in own[0].values() and any(step in branch.values() for branch in branches):
                return self._flow.step(parallel)
        return None

    def _can_still_write(self, node: str, field: str, first: int) -> set[str]:
        """The nodes from which a step that writes the field is reachable without passing this node.

        Only nodes whose rank is at least `first` are visited.
        """
        rank = self._states.rank
        found = set(self._writers(field)) - {node}
        todo = list(found)
        while todo and self._budget > 0:
            for edge in self._flow.into.get(todo.pop(), ()):
                self._budget -= 1
                if edge.source not in found and edge.source != node and rank.get(edge.source, -1) >= first:
                    found.add(edge.source)
                    todo.append(edge.source)
        return found

    def _describe(self, edge: FlowEdge) -> Turning | None:
        step = self._flow.step(edge.source)
        if step is None:
            return None
        if edge.event == "recover":
            return Turning(f"where `{step.name}` fails", step.span)
        guard = edge.guard
        if guard is None or guard.name not in ("when", "otherwise"):
            return None
        texts = [
            other.guard.text
            for other in self._flow.out[edge.source]
            if other.guard and other.guard.name == "when"
        ]
        outcome = "true" if guard.name == "when" else "false"
        return _condition(step, texts[0] if texts else None, outcome)


def _condition(step: Step, text: object, outcome: str) -> Turning | None:
    """A condition as it is written, or by the name of its step if it is long."""
    decision = step.decision()
    for name in ("when", decision.field if decision is not None else "if"):
        value = step.values.get(name)
        if value is not None and value.data == text and isinstance(text, str):
            inner = " ".join(text.strip().removeprefix("{{").removesuffix("}}").split())
            shown = f"`{inner}`" if len(inner) <= _LONGEST else f"the `{name}` of `{step.name}`"
            return Turning(f"where {shown} is {outcome}", value.span)
    return Turning(f"where the condition of `{step.name}` is {outcome}", step.span)


def _edges(place: _Place) -> Iterator[FlowEdge]:
    at: _Place | None = place
    while at is not None and at.edge is not None:
        yield at.edge
        at = at.after
