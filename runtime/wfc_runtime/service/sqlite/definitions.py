"""Which machine a stored run is. A run goes on with the version that it started with."""

from __future__ import annotations

from wfc_runtime.errors import DefinitionError, WfcError
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.registry import Module, Registry
from wfc_runtime.service.children import machine_of
from wfc_runtime.service.moving import steps_gone
from wfc_runtime.service.sqlite.cache import SnapshotCache
from wfc_runtime.store import Queries, RunRow


def pinned_module(registry: Registry, queries: Queries, cache: SnapshotCache, row: RunRow) -> Module:
    """The version that a run is pinned to. A `DefinitionError` says the way out where it can't be had."""
    known = registry.of_digest(row.digest) or _current(registry, row)
    if known is not None:
        return known
    text = queries.module(row.digest)
    if text is None:
        raise _stranded(registry, cache.load(queries, row)[1], row, "it is not in the store")
    try:
        return registry.pin(row.digest, text)
    except DefinitionError as error:
        raise _stranded(registry, cache.load(queries, row)[1], row, error.message) from error


def _current(registry: Registry, row: RunRow) -> Module | None:
    """The version in the folder, as long as that is still the one."""
    try:
        module = registry.find(row.workflow)
    except WfcError:
        return None
    return module if module.digest == row.digest else None


def pinned_machine(module: Module, row: RunRow) -> AnyMachine:
    return machine_of(module, row.task, row.agent)


def _stranded(registry: Registry, snapshot: Snapshot, row: RunRow, why: str) -> DefinitionError:
    move = f"`wfc runs migrate {row.id}` moves it to the current version"
    end = f'cancel_workflow(workflow_id="{row.id}") ends it'
    try:
        gone = steps_gone(registry.find(row.workflow), row, snapshot)
        hint = f"{move}; {end}."
        if gone:
            names = ", ".join(f"`{name}`" for name in gone)
            hint = f"It can't move to the current version, which has no step {names}; {end}."
    except WfcError as error:
        hint = f"The current version can't be used either: {error.message}; {end}."
    return DefinitionError(
        "definition_missing",
        f"the version of `{row.workflow}` that run {row.id} started with ({row.digest[:12]}) "
        f"can't be used: {why}",
        hint,
    )
