"""The path that a run has taken through its chart, from the states that each event entered.

The history has no edges. They follow from the regions: a state that is entered was reached from the one that its region
was in before, and a parallel frame is one node of the region around it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from wfc_runtime.machine.effects import Begin, Delay, Return
from wfc_runtime.machine.interpreter import Node, Structure
from wfc_runtime.service.history import RETRIED

START = ""
"""The source of the first edge of a chart."""


def aliases_of(structure: Structure) -> dict[str, str]:
    """States that are only a part of a step, each with the state that stands for it in pictures."""
    found = {}
    for state, effect in structure.steps.items():
        if isinstance(effect, Begin) and effect.loop in structure.nodes:
            found[state] = effect.loop
        elif isinstance(effect, Delay):
            found[state] = effect.step
    # A parallel step without a handler is drawn as its frame alone.
    found |= {join: frame.id for join, frame in structure.joined.items() if not structure.can_recover(join)}
    gates = [node for node in structure.nodes.values() if node.is_gate]
    # A gate is drawn as the step behind it.
    return found | {gate.id: gate.eventless[0].target.id for gate in gates if gate.eventless}


class Path:
    """Follows the events of a run, in order."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.seq = 0
        """The last event that was followed."""
        self.visited: Counter[str] = Counter()
        self.taken: Counter[tuple[str, str]] = Counter()
        self._aliases = aliases_of(structure)
        self._active: Counter[str] = Counter()
        self._where: dict[str, str] = {}
        """For each region, the state that it is in, or was in last."""

    def follow(self, events: Iterable[Mapping[str, Any]]) -> None:
        for event in events:
            self.seq = event["seq"]
            for state in event.get("entered", ()):
                # A history of an earlier version may have states that this module does not have.
                if state in self.structure.nodes:
                    self._enter(self.structure.nodes[state], event.get("event") == RETRIED)
            # A retry also continues steps that were pending when the run failed.
            # Counted, not stored as a set: an event may leave a state and enter it again.
            self._active.update([*event.get("entered", ()), *event.get("resumed", ())])
            self._active.subtract(event.get("left", ()))
            if event.get("status") == "completed":
                self._end(event.get("entered", ()))

    @property
    def current(self) -> list[str]:
        """The states that the run waits in, as the picture shows them."""
        nodes = self.structure.nodes
        waiting = (state for state, count in self._active.items() if count > 0)
        # A step whose gate is closed has not started.
        active = (state for state in waiting if state not in nodes or not nodes[state].is_gate)
        return list(dict.fromkeys(self._aliases.get(state, state) for state in active))

    def _enter(self, state: Node, is_retry: bool) -> None:
        if state.id not in self._aliases:
            self.visited[state.id] += 1
        # From the outside in, so that a frame is entered before the states inside it.
        for node in reversed(state.path):
            region = node.parent
            if region is None or region.is_parallel:
                continue
            before = self._where.get(region.id, START)
            # The frame is still the same one; only a state inside it was entered.
            if before == node.id and node is not state:
                continue
            if node.is_parallel:
                self.visited[node.id] += 1
                # A frame that is entered again begins in all branches from the start.
                for branch in node.children:
                    self._where.pop(branch.id, None)
            self._leave_frame(before)
            # A retry enters the failed state again, which is not an edge of the chart.
            if not is_retry or before != node.id:
                self._count(before, node.id)
            self._where[region.id] = node.id

    def _end(self, entered: Iterable[str]) -> None:
        """The machine has completed: in its last state, or by a return inside a branch."""
        root = self.structure.root
        returned = [state for state in entered if isinstance(self.structure.steps.get(state), Return)]
        # A return in the main sequence has its own edge to the end; one inside a branch jumps there.
        if returned and self._where.get(root.id) != returned[-1]:
            self._count(returned[-1], "finished")
        else:
            self._leave(root)

    def _leave_frame(self, state: str) -> None:
        """Branches that were joined have reached their ends."""
        frame = self.structure.nodes.get(state)
        if frame is not None and frame.is_parallel:
            for branch in frame.children:
                self._leave(branch)

    def _leave(self, region: Node) -> None:
        last = self._where.get(region.id, START)
        self._leave_frame(last)
        end = next((child.id for child in region.children if child.is_final), None)
        if end is not None and last != START:
            self._count(last, end)

    def _count(self, source: str, target: str) -> None:
        one, other = self._aliases.get(source, source), self._aliases.get(target, target)
        # Within one step, such as from its retry to itself: the picture has no such line.
        if one != other or (one, other) == (source, target):
            self.taken[one, other] += 1
