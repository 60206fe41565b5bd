"""Lists of runs. Temporal's visibility store lags behind, so recent changes of this process are merged in."""

from __future__ import annotations

import time
from collections import OrderedDict
from datetime import datetime
from threading import Lock
from typing import Any

from temporalio.client import WorkflowExecution, WorkflowExecutionStatus

from wfc_runtime.service.history import timestamp
from wfc_runtime.service.interface import Reply, actions_of
from wfc_runtime.service.temporal import search_attributes
from wfc_runtime.service.temporal.children import NAME, OVERDUE
from wfc_runtime.service.temporal.encryption import UnreadableError

_FRESH = 10.0
"""Seconds for which recent changes of this process override Temporal's list."""
_MOST = 1_000
_STATUSES = {
    "running": "ExecutionStatus = 'Running'",
    "completed": "ExecutionStatus = 'Completed'",
    "failed": "ExecutionStatus IN ('Failed', 'TimedOut')",
    "cancelled": "ExecutionStatus IN ('Canceled', 'Terminated')",
}
_ENDED = {
    WorkflowExecutionStatus.COMPLETED: "completed",
    WorkflowExecutionStatus.FAILED: "failed",
    WorkflowExecutionStatus.TIMED_OUT: "failed",
    WorkflowExecutionStatus.CANCELED: "cancelled",
    WorkflowExecutionStatus.TERMINATED: "cancelled",
}


def feed_query(task_queue: str) -> str:
    """The project's runs, with their children."""
    return f"WorkflowType = '{NAME}' AND TaskQueue = '{task_queue}'"


def listing_query(
    task_queue: str, statuses: tuple[str, ...], workflow: str | None = None, beginning: str | None = None
) -> str:
    """The project's top-level runs with one of these statuses."""
    wanted = " OR ".join(_STATUSES[status] for status in statuses)
    query = f"{feed_query(task_queue)} AND ({wanted}) AND {search_attributes.CHILD.name} = false"
    if workflow is not None:
        query += f" AND {search_attributes.WORKFLOW.name} = '{workflow}'"
    return query if beginning is None else f"{query} AND WorkflowId STARTS_WITH '{beginning}'"


def counting_query(task_queue: str, workflow: str) -> str:
    """The number of top-level runs of a workflow, by status."""
    own = f"{search_attributes.CHILD.name} = false AND {search_attributes.WORKFLOW.name} = '{workflow}'"
    # A run that continues as new is one run, not two.
    return (
        f"{feed_query(task_queue)} AND {own} AND ExecutionStatus != 'ContinuedAsNew' GROUP BY ExecutionStatus"
    )


def stored_status(status: str) -> str:
    """A status of Temporal as a status of a run."""
    name = status.replace("_", "").upper()
    return next((ours for theirs, ours in _ENDED.items() if theirs.name.replace("_", "") == name), "running")


def beginning_query(task_queue: str, beginning: str) -> str:
    """The project's runs whose id has this prefix."""
    return f"{feed_query(task_queue)} AND WorkflowId STARTS_WITH '{beginning}'"


async def listed(execution: WorkflowExecution) -> dict[str, Any]:
    found = execution.typed_search_attributes
    try:
        memo = await execution.memo()
    except UnreadableError:
        # One run with an unknown key must not hide all others.
        memo = {"workflow": found.get(search_attributes.WORKFLOW)}
    status = _ENDED.get(execution.status or WorkflowExecutionStatus.RUNNING, "pending_action")
    row = {
        "workflow_id": execution.id,
        "workflow": memo.get("workflow", ""),
        "status": status,
        "started": timestamp(memo.get("created") or _seconds(execution.start_time)),
        "updated": timestamp(_seconds(execution.close_time or execution.start_time)),
    }
    pending = found.get(search_attributes.PENDING)
    if not pending or status != "pending_action":
        return row
    overdue_at = memo.get(OVERDUE)
    return {**row, "pending": list(pending), **({OVERDUE: overdue_at} if overdue_at is not None else {})}


def with_overdue(row: dict[str, Any], at: float) -> dict[str, Any]:
    """A row as lists show it: with how long its most overdue action has been so."""
    shown = {name: value for name, value in row.items() if name != OVERDUE}
    overdue_at = row.get(OVERDUE)
    return (
        shown
        if overdue_at is None or overdue_at >= at
        else {**shown, "overdue_seconds": int(at - overdue_at)}
    )


def _seconds(at: datetime) -> float:
    return at.timestamp()


class Recent:
    """Runs that this process has recently started or changed."""

    def __init__(self) -> None:
        self._rows: OrderedDict[str, tuple[float, dict[str, Any]]] = OrderedDict()
        self._lock = Lock()

    def note(self, reply: Reply, workflow: str | None, at: float, is_start: bool = False) -> None:
        """Record a reply for a top-level run."""
        run = reply["workflow_id"]
        with self._lock:
            known = self._rows.get(run)
            row = dict(known[1]) if known else {"workflow_id": run, "workflow": workflow}
            if known is None and not is_start:
                # A reply lacks some columns of the list.
                return
            row.update(status=reply["status"], updated=timestamp(at))
            row.setdefault("started", timestamp(at))
            row.pop("pending", None)
            if actions := actions_of(reply):
                row["pending"] = [action["step_id"] for action in actions]
            order = ("workflow_id", "workflow", "status", "started", "updated", "pending")
            self._rows[run] = (time.monotonic(), {key: row[key] for key in order if key in row})
            while len(self._rows) > _MOST:
                self._rows.popitem(last=False)

    def merged(self, rows: list[dict[str, Any]], statuses: tuple[str, ...]) -> list[dict[str, Any]]:
        """A list with newer rows merged in, newest first."""
        with self._lock:
            oldest = time.monotonic() - _FRESH
            fresh = {run: row for run, (at, row) in self._rows.items() if at >= oldest}
        order = {run: place for place, run in enumerate(fresh)}
        found = {row["workflow_id"]: row for row in rows}
        for run, row in fresh.items():
            listed_row = found.get(run, {})
            # A reply does not say when its actions become overdue.
            is_same = OVERDUE in listed_row and listed_row.get("pending") == row.get("pending")
            found[run] = {**row, OVERDUE: listed_row[OVERDUE]} if is_same else row
        wanted = [row for row in found.values() if _status_of(row) in statuses]
        return sorted(
            wanted, key=lambda row: (row["started"], order.get(row["workflow_id"], -1)), reverse=True
        )


def _status_of(row: dict[str, Any]) -> str:
    return "running" if row["status"] == "pending_action" else str(row["status"])
