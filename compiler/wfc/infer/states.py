"""Which definitions of a field, and which conditions, hold at each node of a scope's flow.

Reaching definitions (what may have written a field last) and clauses that must hold, each a bit of one
integer per node, by a worklist in the order of the flow: nearly linear in the number of steps.
"""

from __future__ import annotations

from heapq import heappop, heappush

from wfc.core.types import ANY, Type
from wfc.flow import Flow, FlowEdge
from wfc.infer.conditions import Clause
from wfc.infer.definitions import Definitions
from wfc.infer.moves import Moves
from wfc.infer.terms import NOTHING, join, present
from wfc.infer.texts import Place, StepTexts
from wfc.steps.base import Step

_MOST_CLAUSES = 32


class StateFlow:
    def __init__(self, flow: Flow, definitions: Definitions, texts: dict[Step, StepTexts]) -> None:
        self.flow = flow
        self.definitions = definitions
        self.moves = Moves(flow, definitions, _at_nodes(texts))
        self.reach: dict[str, int] = {}
        """The definitions that may hold at a node; a node that is not here is never come to."""
        self.held: dict[str, int] = {}
        """The clauses that hold at a node, whatever the way to it."""
        self.rank: dict[str, int] = {}
        """The nodes that can be come to, in the order of the flow."""
        self._types: dict[str, dict[int, Type]] = {}
        self._latest: dict[str, tuple[int, Type]] = {}
        self._known_at = 0
        self._solve()

    # -- solving ---------------------------------------------------------------

    def _solve(self) -> None:
        order = _order(self.flow)
        rank = self.rank = {node: number for number, node in enumerate(order)}
        todo = [0] if order else []
        waiting = set(todo)
        while todo:
            number = heappop(todo)
            waiting.discard(number)
            node = order[number]
            found = self._before(node)
            if found is None or found == (self.reach.get(node), self.held.get(node)):
                continue
            self.reach[node], self.held[node] = found
            for edge in self.flow.out.get(node, ()):
                following = rank[edge.target]
                if following not in waiting:
                    waiting.add(following)
                    heappush(todo, following)

    def _before(self, node: str) -> tuple[int, int] | None:
        """What holds when a node is come to: what may on any way, and what must on every way."""
        ways = [(self.definitions.start, 0)] if node == self.flow.initial else []
        joined: dict[str, list[FlowEdge]] = {}
        for edge in self.flow.into.get(node, ()):
            if edge.join is not None:
                joined.setdefault(edge.join, []).append(edge)
            elif edge.source in self.reach:
                ways.append(self.after(edge))
        for edges in joined.values():
            if all(edge.source in self.reach for edge in edges):
                ways.append(self._joined(edges))
        if not ways:
            return None
        reach, held = 0, -1
        for definitions, clauses in ways:
            reach |= definitions
            held &= clauses
        return reach, held

    def after(self, edge: FlowEdge) -> tuple[int, int]:
        """What holds when an edge has been taken."""
        move = self.moves.of(edge)
        reach = self.reach[edge.source] & ~move.kill | move.gen
        return reach, self.held[edge.source] & ~move.forget | move.learn

    def _joined(self, edges: list[FlowEdge]) -> tuple[int, int]:
        """Every branch has come to its end: each has the last word on the fields that it writes."""
        regions = [self.moves.regions[edge.source] for edge in edges]
        everything = 0
        for region in regions:
            everything |= region.masks
        reach = held = 0
        for edge, region in zip(edges, regions, strict=True):
            reach |= self.reach[edge.source] & (region.masks | ~everything)
            held |= self.held[edge.source] & ~region.forgotten_beside
        return reach, held

    # -- answers ---------------------------------------------------------------

    def mask_at(self, node: str, field: str) -> int:
        return self.reach.get(node, 0) & self.definitions.masks.get(field, 0)

    def type_at(self, node: str, field: str) -> Type:
        """What a field can be when a node is come to."""
        mask = self.mask_at(node, field)
        kind = self._type(field, mask) if mask else ANY
        return present(kind) if self.held[node] & self.moves.clauses.present(field) else kind

    def _type(self, field: str, mask: int) -> Type:
        self._forget_changed()
        known = self._types.setdefault(field, {})
        if mask not in known:
            # From step to step definitions mostly add up: what was known of the others need not be joined anew.
            before, kind = self._latest.get(field, (0, NOTHING))
            if before & mask != before:
                before, kind = 0, NOTHING
            known[mask] = join(kind, self.definitions.type_of(mask ^ before))
            self._latest[field] = (mask, known[mask])
        return known[mask]

    def _forget_changed(self) -> None:
        """Drop what was joined from a definition that is known better by now."""
        for definition in self.definitions.changes[self._known_at :]:
            self._types.pop(definition.field, None)
            if self._latest.get(definition.field, (0, NOTHING))[0] & definition.bit:
                del self._latest[definition.field]
        self._known_at = self.definitions.moment

    def overall(self, field: str) -> Type:
        """What a field can be, anywhere."""
        mask = self.definitions.masks.get(field)
        return self._type(field, mask) if mask else ANY

    def clauses_at(self, node: str, names: frozenset[str]) -> list[Clause]:
        """The conditions that hold at a node and look at one of these names."""
        clauses = self.moves.clauses
        wanted = 0
        for name in names:
            wanted |= clauses.of_name.get(name, 0)
        found = list(clauses.of_mask(self.held.get(node, 0) & wanted)) if wanted else []
        return found[:_MOST_CLAUSES]


def _at_nodes(texts: dict[Step, StepTexts]) -> dict[str, list[Place]]:
    found: dict[str, list[Place]] = {}
    for places in texts.values():
        for place in places.all:
            found.setdefault(place.node, []).append(place)
    return found


def _order(flow: Flow) -> list[str]:
    """The nodes that can be come to, each after those that lead to it, loops left out."""
    found: list[str] = []
    seen = {flow.initial}
    path = [(flow.initial, iter(flow.out.get(flow.initial, ())))]
    while path:
        node, edges = path[-1]
        edge = next(edges, None)
        if edge is None:
            path.pop()
            found.append(node)
        elif edge.target not in seen:
            seen.add(edge.target)
            path.append((edge.target, iter(flow.out.get(edge.target, ()))))
    return found[::-1]
