"""Moving runs to the current version of their workflow: all of a family that started together, or none."""

from __future__ import annotations

from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.plain import to_text
from wfc_runtime.registry import Module, Registry
from wfc_runtime.service.sqlite.definitions import steps_gone
from wfc_runtime.store import Changes, HistoryRow, Queries, RunRow


def migrate_run(registry: Registry, queries: Queries, row: RunRow, at: float, actor: str | None) -> Changes:
    """Raises `RefusedError` with the steps that are in the way."""
    current = registry.find(row.workflow)
    changes = Changes(modules={current.digest: (current.workflow.name, current.text)})
    if row.ended:
        raise RefusedError("finished", f"run {row.id} is {row.status}: there is nothing to move")
    gone = [name for one in _family(queries, row) for name in _move(changes, current, one, at, actor)]
    if gone:
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(gone))
        raise RefusedError(
            "definition_changed",
            f"run {row.id} waits in {names}, which the current version of `{row.workflow}` does not have or has as "
            "something else",
            "Let the run end with its own version, or cancel it.",
        )
    return changes


def _family(queries: Queries, row: RunRow) -> list[RunRow]:
    """A run and the tasks that work for it: they are of the same module."""
    found = [row]
    for one in found:
        found += [
            child for child in queries.children(one.key) if not child.ended and child.workflow == row.workflow
        ]
    return found


def _move(changes: Changes, current: Module, row: RunRow, at: float, actor: str | None) -> list[str]:
    if row.digest == current.digest:
        return []
    gone = steps_gone(current, row)
    data = to_text({"from": row.digest, "to": current.digest, "version": current.workflow.version})
    read_version, row.digest = row.version, current.digest
    row.version += 1
    row.updated = at
    changes.updated[row.key] = (row, read_version)
    changes.history.append((row, HistoryRow(row.version, at, "migrated", data, None, actor)))
    return gone


def stranded_runs(registry: Registry, queries: Queries, workflow: str) -> dict[str, list[str]]:
    """Runs under way that could not move to the current version: their ids, and the steps in the way."""
    current = registry.find(workflow)
    rows = [row for row in queries.open_runs_of(workflow) if row.digest != current.digest]
    found = {row.id: steps_gone(current, row) for row in rows}
    return {run: steps for run, steps in found.items() if steps}
