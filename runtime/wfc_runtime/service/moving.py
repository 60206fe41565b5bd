"""Whether a run can go on with another version of its workflow."""

from __future__ import annotations

from collections.abc import Iterable

from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.moving import steps_in_the_way
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.registry import Module
from wfc_runtime.service.children import machine_of
from wfc_runtime.store import RunRow


def steps_gone(current: Module, row: RunRow, snapshot: Snapshot, was: Module | None = None) -> list[str]:
    """The steps that a run waits in and that the current version does not have, or has as something else."""
    if row.task is not None and row.task not in current.workflow.tasks:
        return [visit.partition("@")[0] for visit in snapshot.pending]
    old = machine_of(was, row.task, row.agent) if was is not None else None
    return steps_in_the_way(machine_of(current, row.task, row.agent), snapshot, old)


def definition_changed(row: RunRow, gone: Iterable[str]) -> RefusedError:
    return RefusedError(
        "definition_changed",
        f"run {row.id} waits in {', '.join(f'`{name}`' for name in gone)}, which the current version of "
        f"`{row.workflow}` does not have, or has as something else",
        "Let the run end with its own version, or cancel it.",
    )
