"""Answers that change nothing: fields, lists, history."""

from __future__ import annotations

from collections.abc import Sequence

from wfc_runtime.contract import Json
from wfc_runtime.errors import NotFoundError, RequestError, guess
from wfc_runtime.machine.plain import size_of
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.service.history import shown_event, timestamp
from wfc_runtime.service.interface import Reply
from wfc_runtime.store import HistoryRow, RunRow

OPEN = ("running",)
_STATUSES = {
    "open": OPEN,
    "pending_action": OPEN,
    "running": OPEN,
    "completed": ("completed",),
    "failed": ("failed",),
    "cancelled": ("cancelled",),
    "all": ("running", "completed", "failed", "cancelled"),
}


def statuses_of(status: str | None) -> tuple[str, ...]:
    """A status as callers name it, as the store does."""
    found = _STATUSES.get(status or "open")
    if found is None:
        raise RequestError(
            "invalid_status", f"there is no status {str(status)[:40]!r}", f"One of {', '.join(_STATUSES)}."
        )
    return found


def listed_run(row: RunRow) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "workflow_id": row.id,
        "workflow": row.workflow,
        "status": "pending_action" if row.status == "running" else row.status,
        "started": timestamp(row.created),
        "updated": timestamp(row.updated),
    }
    return {**shown, "pending": row.pending.split()} if row.pending else shown


def with_progress(reply: Reply, row: RunRow, snapshot: Snapshot) -> Reply:
    """A reply with the workflow's name and how far the run is; `next` stays last."""
    following = reply.pop("next")
    progress = {
        "events": row.version,
        "steps_entered": sum(snapshot.visits.values()),
        "started": timestamp(row.created),
        "updated": timestamp(row.updated),
    }
    name = {"workflow": row.workflow, **({"task": row.task} if row.task else {})}
    return {**reply, **name, "progress": progress, "next": following}


def state_reply(row: RunRow, snapshot: Snapshot, fields: Sequence[str] | None) -> Reply:
    """The named fields, never more; without names, which there are."""
    reply: Reply = {"workflow_id": row.id, "status": listed_run(row)["status"]}
    if not fields:
        sizes = {name: size_of(value) for name, value in snapshot.state.items()}
        return {**reply, "fields": sizes, "next": f'get_workflow_state(workflow_id="{row.id}", fields=[...])'}
    if isinstance(fields, str) or not all(isinstance(name, str) for name in fields):
        raise RequestError("invalid_fields", "`fields` must be a list of field names")
    missing = [name for name in fields if name not in snapshot.state]
    if missing:
        names = ", ".join(f"`{str(name)[:100]}`" for name in missing[:10])
        there = ", ".join(snapshot.state) or "none"
        hint = f"{guess(missing[0], snapshot.state)}Written so far: {there}."
        raise NotFoundError("unknown_field", f"the state has no {names}", hint)
    shown = snapshot.shown_state
    return {**reply, "state": {name: shown[name] for name in fields}}


def history_reply(row: RunRow, events: list[HistoryRow], after: int) -> Reply:
    reply: Reply = {
        "workflow_id": row.id,
        "workflow": row.workflow,
        "events": [shown_event(event) for event in events],
    }
    last = events[-1].seq if events else after
    if last < row.version:
        reply["next"] = f'get_workflow_history(workflow_id="{row.id}", after={last})'
    return reply
