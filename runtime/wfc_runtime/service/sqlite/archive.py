"""A run as one JSON value, for backup or to continue it in another store: with children, history and modules."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from typing import Any

from wfc_runtime.contract import ENDED, Json
from wfc_runtime.errors import RefusedError, RequestError, WfcError
from wfc_runtime.machine.interpreter import structure_of
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.step import SnapshotCheck
from wfc_runtime.machine.values import size_of, to_text
from wfc_runtime.registry import Module, Registry
from wfc_runtime.service.ids import check_run_id
from wfc_runtime.service.sqlite.unit_of_work import gates_of, module_row, pinned_machine
from wfc_runtime.store import Changes, HistoryRow, Queries, RunRow
from wfc_runtime.version import __version__

FORMAT = 1
KIND = "wfc run"
# Keys of the database are left out: they differ between stores. Parents are named by id.
_FACTS = (
    "id",
    "workflow",
    "digest",
    "visit",
    "position",
    "task",
    "agent",
    "version",
    "status",
    "due",
    "pending",
)
_TIMES = ("created", "updated")
_ALL = 2**62
_LAST_TIME = 253_402_300_799
"""The end of the year 9999, the last one that can be displayed."""


def export_run(queries: Queries, row: RunRow, secrets: bool = False) -> Json:
    """Export a run. Only a whole family can be exported: the parent of a child would wait for it."""
    if row.parent is not None:
        raise RequestError("child_run", f"run {row.id} is a child run", "Export its parent instead.")
    runs = [_run_data(queries, one) for one in _family(queries, row)]
    # Only a run in progress still has secrets; they are removed at its end.
    if not secrets and any(one["snapshot"].get("secrets") for one in runs):
        raise RefusedError(
            "secrets",
            f"run {row.id} contains secrets, which would be readable in the export",
            "`wfc runs export --with-secrets` includes them; a run that has ended no longer contains its secrets.",
        )
    digests = dict.fromkeys(one["digest"] for one in runs)
    kept = {digest: module for digest in digests if (module := queries.module(digest))}
    modules = {digest: module.text for digest, module in kept.items()}
    maps = {digest: module.line_map for digest, module in kept.items() if module.line_map}
    return {
        "format": FORMAT,
        "kind": KIND,
        "wfc": __version__,
        "runs": runs,
        "modules": modules,
        "line_maps": maps,
    }


def _family(queries: Queries, row: RunRow) -> Iterator[RunRow]:
    """A run and its descendants, parents first."""
    todo = [row]
    for one in todo:
        todo += queries.children(one.key)
        yield one


def _run_data(queries: Queries, row: RunRow) -> dict[str, Json]:
    whole = queries.whole(row.key)
    assert whole is not None
    current, state = whole
    parent = queries.run_of_key(current.parent) if current.parent is not None else None
    return {
        **{name: getattr(current, name) for name in (*_FACTS, *_TIMES)},
        "parent": parent.id if parent else None,
        "snapshot": json.loads(current.snapshot),
        "state": state,
        "history": [_event_data(event) for event in queries.history(current.key, 0, _ALL)],
    }


def _event_data(event: HistoryRow) -> dict[str, Json]:
    return {
        "seq": event.seq,
        "at": event.at,
        "kind": event.kind,
        "visit": event.visit,
        "actor": event.actor,
        "data": json.loads(event.data),
        "told": None if event.reply is None else b64encode(event.reply).decode(),
    }


# -- import ------------------------------------------------------------------------


def import_run(
    registry: Registry, queries: Queries, data: Json, trust_modules: bool = False
) -> tuple[Changes, str]:
    """The changes that import an exported run, and the run's id. None of its runs may exist in the store.

    The modules in an export are code. Modules that the project does not have are executed only with `trust_modules`.
    """
    _check_form(data)
    try:
        changes = _changes(registry, queries, data, trust_modules)
    except WfcError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, AssertionError) as error:
        # Anything may be in the file. Every error of reading it means that the export is damaged.
        raise _damaged(f"{type(error).__name__}: {error}") from error
    # Checked before writing, for a better message than that of the constraint.
    for row in changes.created:
        if queries.run(row.id) is not None:
            raise RefusedError(
                "run_exists",
                f"run {row.id} already exists in the store",
                "Delete it there first, or use another store.",
            )
    return changes, changes.created[0].id


def _check_form(data: Json) -> None:
    if not isinstance(data, dict) or data.get("kind") != KIND:
        raise RequestError(
            "not_an_export", "this is not an exported run", "Create one with `wfc runs export`."
        )
    if data.get("format") != FORMAT:
        raise RequestError(
            "export_format",
            f"the export has format {data.get('format')!r}, but this version of wfc reads format {FORMAT}",
            f"It was written by wfc {data.get('wfc')}.",
        )


def _changes(registry: Registry, queries: Queries, data: Mapping[str, Any], trust_modules: bool) -> Changes:
    changes = Changes()
    rows: dict[str, RunRow] = {}
    awaited: list[tuple[str, str]] = []
    for one in data["runs"]:
        # Parents first, so that a child finds the row of its parent.
        row = _row(one, rows)
        # Exports of earlier versions contain no line maps.
        texts = (data["modules"][row.digest], data.get("line_maps", {}).get(row.digest))
        module = (
            registry.pin(row.digest, *texts) if trust_modules else _own_module(registry, queries, row, *texts)
        )
        if module.workflow.name != row.workflow:
            raise _damaged(f"run {row.id} of `{row.workflow}` has the module of `{module.workflow.name}`")
        machine = pinned_machine(module, row)
        snapshot = _checked_snapshot(row, one, machine)
        # The inbox is a table of its own, which the export does not contain.
        changes.gates += [(row, visit, row.updated) for visit in sorted(gates_of(machine, snapshot))]
        changes.modules[row.digest] = module_row(module, row.created)
        changes.created.append(row)
        changes.history += [(row, _event(event)) for event in one["history"]]
        awaited += [(row.id, child) for child in _children(one)]
    if not changes.created or changes.created[0].parent_row is not None:
        raise _damaged("it contains no run")
    # After all rows are known: a parent comes before the children that it waits for.
    for run, child in awaited:
        if child not in rows:
            raise _damaged(f"run {run} waits for run {child}, which it does not contain")
    return changes


def _own_module(registry: Registry, queries: Queries, row: RunRow, text: str, line_map: str | None) -> Module:
    """The module of an imported run, if this project has it: in its folder, its sources or its store."""
    # A version that the store already has was trusted before; its own text is used, not the one in the file.
    kept = queries.module(row.digest)
    found = (
        registry.vouch(row.digest, text, line_map)
        if kept is None
        else registry.pin(row.digest, kept.text, kept.line_map)
    )
    if found is None:
        raise RefusedError(
            "module_untrusted",
            f"the export contains a version of `{row.workflow}` ({row.digest[:12]}) that this project does not have, "
            "and importing it would execute it",
            "Compile that version here; or review `modules` in the file, then use `wfc runs import --trust-modules`.",
        )
    return found


def _children(one: Mapping[str, Any]) -> Iterator[str]:
    """The runs that a run waits for."""
    for pending in one["snapshot"].get("pending", {}).values():
        yield from (child["run"] for child in pending.get("children", ()) if child and "run" in child)


def _check_facts(one: Mapping[str, Any]) -> None:
    """Raise if a column has a value that the store would take and that no later call could read."""
    texts = [one[name] for name in ("id", "workflow", "digest", "status", "pending")]
    texts += [one[name] for name in ("visit", "task", "agent") if one[name] is not None]
    numbers = [one["version"], *([] if one["position"] is None else [one["position"]])]
    times = [*(one[name] for name in _TIMES), *([] if one["due"] is None else [one["due"]])]
    if not all(isinstance(text, str) for text in texts):
        raise _damaged("a name is not text")
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise _damaged("a number is not a natural number")
    for at in times:
        _check_time(at)


def _check_time(at: object) -> None:
    # NaN compares as false.
    if isinstance(at, bool) or not isinstance(at, int | float) or not 0 <= at <= _LAST_TIME:
        raise _damaged(f"{at!r:.40} is not a time")


def _row(one: Mapping[str, Any], rows: dict[str, RunRow]) -> RunRow:
    _check_facts(one)
    row = RunRow(**{name: one[name] for name in (*_FACTS, *_TIMES)})
    parent = rows[one["parent"]] if one["parent"] is not None else None
    # Exactly one run without a parent, and it is the first.
    if check_run_id(row.id) in rows or (parent is None and rows):
        raise _damaged(f"run {row.id} is in the wrong place")
    row.parent_row, row.depth = parent, parent.depth + 1 if parent else 1
    # Recomputed: the export may have redacted a part of the state.
    row.snapshot = to_text({**one["snapshot"], "size": size_of(one["state"])})
    row.fields = {str(name): to_text(value) for name, value in one["state"].items()}
    rows[row.id] = row
    # The version is the number of events, so a gap or a cut history is found here.
    if row.version != len(one["history"]) or [event["seq"] for event in one["history"]] != list(
        range(1, row.version + 1)
    ):
        raise _damaged(f"the history of run {row.id} has gaps")
    return row


def _checked_snapshot(row: RunRow, one: Mapping[str, Any], machine: Any) -> Snapshot:
    snapshot = Snapshot.from_json(row.snapshot, one["state"])
    if snapshot.status != row.status or row.status not in ("running", *ENDED):
        raise _damaged(f"run {row.id} has two statuses, {row.status} and {snapshot.status}")
    # Only a run that failed, or was cancelled because its parent failed, can be retried.
    if snapshot.kept is not None and row.status in ("running", "completed"):
        raise _damaged(f"run {row.id} is {row.status} and has what only a retry needs")
    if row.status == "running":
        # A run that has ended is in a final state. A retry checks what it has kept.
        SnapshotCheck(structure_of(machine)).check(snapshot)
    return snapshot


def _event(event: Mapping[str, Any]) -> HistoryRow:
    _check_time(event["at"])
    names = [event["kind"], *(event[name] for name in ("visit", "actor") if event[name] is not None)]
    if not all(isinstance(name, str) for name in names) or not isinstance(event["data"], dict):
        raise _damaged(f"event {event['seq']} is not an event")
    reply = None if event["told"] is None else b64decode(event["told"], validate=True)
    return HistoryRow(
        int(event["seq"]),
        float(event["at"]),
        str(event["kind"]),
        to_text(event["data"]),
        event["visit"],
        event["actor"],
        reply,
    )


def _damaged(why: str) -> RequestError:
    return RequestError("export_damaged", f"the export has unexpected content: {why}", "Export it again.")
