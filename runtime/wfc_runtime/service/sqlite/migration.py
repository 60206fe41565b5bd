"""Moving a run, and the tasks that work for it, to the current version of their workflow."""

from __future__ import annotations

from collections import Counter

from wfc_runtime.errors import RefusedError, WfcError
from wfc_runtime.machine.plain import to_text
from wfc_runtime.registry import Module, Registry
from wfc_runtime.service.moving import definition_changed, steps_gone
from wfc_runtime.service.sqlite.cache import SnapshotCache
from wfc_runtime.service.sqlite.definitions import pinned_module
from wfc_runtime.store import Changes, HistoryRow, Queries, RunRow


def migrate_run(
    registry: Registry, queries: Queries, cache: SnapshotCache, row: RunRow, at: float, actor: str | None
) -> Changes:
    """Raises `RefusedError` with the steps that are in the way."""
    if row.ended:
        raise RefusedError("finished", f"run {row.id} is {row.status}: there is nothing to move")
    current = registry.find(row.workflow)
    changes = Changes(modules={current.digest: (current.workflow.name, current.text, at)})
    gone: Counter[str] = Counter()
    for one in _family(queries, row):
        if one.digest != current.digest:
            found, snapshot = cache.load(queries, one)
            gone.update(steps_gone(current, found, snapshot, _was(registry, queries, cache, one)))
            found.snapshot = snapshot.to_json(with_state=False)
            _move(changes, current, found, at, actor)
    if gone:
        raise definition_changed(row, gone)
    return changes


def _family(queries: Queries, row: RunRow) -> list[RunRow]:
    """A run and the tasks that work for it: they are of the same module."""
    found = [row]
    for one in found:
        children = queries.children(one.key)
        found += [child for child in children if not child.ended and child.workflow == row.workflow]
    return found


def _was(registry: Registry, queries: Queries, cache: SnapshotCache, row: RunRow) -> Module | None:
    """The version that a run is on, if it is still there to be looked at."""
    try:
        return pinned_module(registry, queries, cache, row)
    except WfcError:
        return None


def _move(changes: Changes, current: Module, row: RunRow, at: float, actor: str | None) -> None:
    data = to_text({"from": row.digest, "to": current.digest, "version": current.workflow.version})
    changes.updated[row.key] = (row, row.version)
    row.version += 1
    row.digest, row.migrated = current.digest, True
    row.updated = at
    changes.history.append((row, HistoryRow(row.version, at, "migrated", data, None, actor)))
