"""Whether a snapshot is one that its machine can have left behind."""

from __future__ import annotations

from wfc_runtime.errors import SnapshotError
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.structure import Structure


class Legality:
    """The rules of one machine: every active frame has one active child, every active group of branches all
    of them, and every step that is active waits for something."""

    def __init__(self, structure: Structure) -> None:
        self._states = structure.nodes
        self._known: set[tuple[str, ...]] = set()

    def check(self, snapshot: Snapshot) -> None:
        states = [pending.state for pending in snapshot.pending.values()]
        key = (*snapshot.configuration, "", *states)
        if key in self._known:
            return
        self._check_known([*snapshot.configuration, *states])
        wrong = self._first_problem(set(snapshot.configuration), states)
        if wrong:
            raise SnapshotError(
                "snapshot_illegal", f"the snapshot is in states that don't go together: {wrong}"
            )
        if len(self._known) < 10_000:
            self._known.add(key)

    def _check_known(self, names: list[str]) -> None:
        gone = [name for name in dict.fromkeys(names) if name not in self._states]
        if gone:
            raise SnapshotError(
                "definition_changed", f"the module has no state {', '.join(f'`{name}`' for name in gone)}"
            )

    def _first_problem(self, active: set[str], waiting: list[str]) -> str:
        if sum(self._states[name].parent is None for name in active) != 1:
            return "it is not in exactly one of running, completed, failed and cancelled"
        for name in sorted(active):
            state = self._states[name]
            if state.parent is not None and state.parent.id not in active:
                return f"`{name}` is active, the state around it is not"
            inside = [child.id for child in state.children if child.id in active]
            if state.is_parallel and len(inside) != len(state.children):
                return f"not every branch of `{name}` is active"
            if state.children and not state.is_parallel and len(inside) != 1:
                return f"{len(inside)} states inside `{name}` are active"
            if state.is_step and waiting.count(name) != 1:
                return f"`{name}` is active and does not wait for anything"
        idle = [name for name in waiting if name not in active]
        return f"`{idle[0]}` waits for something and is not active" if idle else ""
