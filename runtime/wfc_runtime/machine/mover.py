"""Moving through a statechart: SCXML's algorithm for the part of it that generated machines use.

The state machine library could drive a machine too, and tests hold the two against each other. This one keeps
nothing between two events, so that threads can share it, and takes a tenth of the time.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from wfc_runtime.errors import SnapshotError
from wfc_runtime.machine.structure import Edge, Node, Structure, in_order

if TYPE_CHECKING:
    from wfc_runtime.machine.run import Run


class Mover:
    """The active states, and how events change them."""

    def __init__(self, structure: Structure, run: Run, active: list[str]) -> None:
        self._run = run
        self._first = structure.first
        self._active: dict[str, Node] = {name: structure.nodes[name] for name in active}
        self._raised: deque[tuple[str, str]] = deque()
        self._busy = False
        self._has_ended = False

    @property
    def configuration(self) -> list[str]:
        return [node.id for node in in_order(self._active)]

    def start(self) -> None:
        self._busy = True
        self._enter(self._first)
        self._settle()
        self._busy = False

    def raise_(self, event: str, at: str = "") -> None:
        """An event for the state `at`, or for whoever listens. Raised on the way, it waits for its turn."""
        if self._busy:
            self._raised.append((event, at))
            return
        edges = self._enabled(event, at)
        if not edges:
            where = ", ".join(self.configuration)
            raise SnapshotError("snapshot_illegal", f"nothing leads on from {where} when `{event}` happens")
        self._busy = True
        self._take(edges)
        self._settle()
        self._busy = False

    def _settle(self) -> None:
        """Move until nothing moves any more without an event from outside."""
        while not self._has_ended:
            edges = self._enabled(None, "")
            if not edges:
                if not self._raised:
                    return
                edges = self._enabled(*self._raised.popleft())
            if edges:
                self._take(edges)

    # -- which edges -----------------------------------------------------------

    def _enabled(self, event: str | None, at: str) -> list[Edge]:
        atomic = [node for node in self._active.values() if not node.children]
        if len(atomic) > 1:
            atomic.sort(key=lambda node: node.order)
        found: list[Edge] = []
        for node in atomic:
            edge = self._first_edge(node, event, at)
            if edge is not None and edge not in found:
                found.append(edge)
        return found if len(found) < 2 else self._without_conflicts(found)

    def _first_edge(self, node: Node, event: str | None, at: str) -> Edge | None:
        for state in node.path:
            for edge in state.eventless if event is None else state.on.get(event, ()):
                if (not edge.is_addressed or state.id == at) and self._is_open(edge, state.id):
                    return edge
        return None

    def _is_open(self, edge: Edge, state: str) -> bool:
        return not edge.guards or all(guard.allows(self._run, state) for guard in edge.guards)

    def _without_conflicts(self, edges: list[Edge]) -> list[Edge]:
        """Of two edges that leave the same state, the one from further inside; else the earlier one."""
        kept: list[Edge] = []
        for edge in edges:
            leaves = self._left_by(edge)
            rivals = [other for other in kept if not leaves.keys().isdisjoint(self._left_by(other))]
            if all(other.source in edge.source.ancestors for other in rivals):
                kept = [*(other for other in kept if other not in rivals), edge]
        return kept

    def _left_by(self, edge: Edge) -> dict[str, Node]:
        domain = edge.domain
        return {
            name: node for name, node in self._active.items() if domain is None or domain in node.ancestors
        }

    # -- moving ----------------------------------------------------------------

    def _take(self, edges: list[Edge]) -> None:
        self._run.outcome.taken += edges
        leaving = {name: node for edge in edges for name, node in self._left_by(edge).items()}
        for node in reversed(in_order(leaving)):
            if node.is_step:
                self._run.left(node.id)
            del self._active[node.id]
        if len(edges) == 1:
            self._enter(edges[0].entering)
        else:
            self._enter(in_order({node.id: node for edge in edges for node in edge.entering}))

    def _enter(self, nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            self._active[node.id] = node
            if node.is_final:
                self._reach_end(node)
            elif not node.children:
                self._run.entered(node.id)

    def _reach_end(self, node: Node) -> None:
        if node.parent is None:
            self._has_ended = True
            return
        self._raised.append((f"done.state.{node.parent.id}", ""))
        around = node.parent.parent
        if around is not None and around.is_parallel and all(map(self._is_done, around.children)):
            self._raised.append((f"done.state.{around.id}", ""))

    def _is_done(self, branch: Node) -> bool:
        return any(child.is_final and child.id in self._active for child in branch.children)
