"""Lists of runs. Temporal's visibility store lags behind, so recent changes of this process are merged in."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime
from threading import Lock
from typing import Any

from temporalio.client import WorkflowExecution, WorkflowExecutionStatus

from wfc_runtime.contract import HUMAN_KINDS
from wfc_runtime.service.history import timestamp
from wfc_runtime.service.interface import Reply, actions_of
from wfc_runtime.service.temporal import search_attributes
from wfc_runtime.service.temporal.children import NAME, OVERDUE
from wfc_runtime.service.temporal.encryption import UnreadableError
from wfc_runtime.service.temporal.host import INPUTS, WAITS_FOR

_FRESH = 10.0
"""Seconds for which recent changes of this process override Temporal's list."""
_MOST = 1_000
DETAILS = "details"
"""The key of a row with the facts that `with_details` turns into columns."""
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


_OWN = f"({search_attributes.STATUS.name} IS NULL OR {search_attributes.STATUS.name} != '{search_attributes.NOTED}')"
"""Without executions that only add to the journal of a run that has ended."""
ORIGIN = "origin"
"""The entry of the memo of such an execution with the one that ended the run."""


def feed_query(task_queue: str) -> str:
    """The project's runs, with their children."""
    return f"WorkflowType = '{NAME}' AND TaskQueue = '{task_queue}'"


def listing_query(
    task_queue: str, statuses: tuple[str, ...], workflow: str | None = None, beginning: str | None = None
) -> str:
    """The project's top-level runs with one of these statuses."""
    wanted = " OR ".join(_STATUSES[status] for status in statuses)
    query = f"{feed_query(task_queue)} AND {_OWN} AND ({wanted}) AND {search_attributes.CHILD.name} = false"
    if workflow is not None:
        query += f" AND {search_attributes.WORKFLOW.name} = '{workflow}'"
    return query if beginning is None else f"{query} AND WorkflowId STARTS_WITH '{beginning}'"


def counting_query(task_queue: str, workflow: str) -> str:
    """The number of top-level runs of a workflow, by status."""
    own = f"{search_attributes.CHILD.name} = false AND {search_attributes.WORKFLOW.name} = '{workflow}'"
    # A run that continues as new is one run, not two.
    whole = f"{feed_query(task_queue)} AND {_OWN} AND {own}"
    return f"{whole} AND ExecutionStatus != 'ContinuedAsNew' GROUP BY ExecutionStatus"


def executions_query(task_queue: str, runs: Iterable[str]) -> str:
    """The executions of these runs, without those that continued as new."""
    ids = ", ".join(f"'{run}'" for run in runs)
    own = f"{feed_query(task_queue)} AND {_OWN}"
    return f"{own} AND WorkflowId IN ({ids}) AND ExecutionStatus != 'ContinuedAsNew'"


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
    details = {"created": memo.get("created") or _seconds(execution.start_time), INPUTS: memo.get(INPUTS)}
    pending = found.get(search_attributes.PENDING)
    if pending and status == "pending_action":
        row["pending"] = list(pending)
        details |= {WAITS_FOR: memo.get(WAITS_FOR), OVERDUE: memo.get(OVERDUE)}
    return {**row, DETAILS: details}


def with_details(row: dict[str, Any], at: float) -> dict[str, Any]:
    """A row as lists show it: with its age, whom it waits for, how long it is overdue, and its inputs."""
    shown = {name: value for name, value in row.items() if name != DETAILS}
    details = row.get(DETAILS, {})
    if (created := details.get("created")) is not None:
        shown["age_seconds"] = int(max(0.0, at - created))
    if waits_for := details.get(WAITS_FOR):
        shown[WAITS_FOR] = waits_for
    overdue_at = details.get(OVERDUE)
    if overdue_at is not None and overdue_at < at:
        shown["overdue_seconds"] = int(at - overdue_at)
    return {**shown, INPUTS: details[INPUTS]} if details.get(INPUTS) else shown


def _seconds(at: datetime) -> float:
    return at.timestamp()


class Recent:
    """Runs that this process has recently started or changed."""

    def __init__(self) -> None:
        self._rows: OrderedDict[str, tuple[float, dict[str, Any]]] = OrderedDict()
        self._lock = Lock()

    def note(
        self, reply: Reply, workflow: str | None, at: float, started: dict[str, Any] | None = None
    ) -> None:
        """Record a reply for a top-level run. `started`: the run is new, and these are its details."""
        run = reply["workflow_id"]
        with self._lock:
            known = self._rows.get(run)
            row = dict(known[1]) if known else {"workflow_id": run, "workflow": workflow}
            if known is None and started is None:
                # A reply lacks some columns of the list.
                return
            if started is not None:
                row[DETAILS] = started
            row.update(status=reply["status"], updated=timestamp(at))
            row.setdefault("started", timestamp(at))
            row.pop("pending", None)
            actions = actions_of(reply)
            row[DETAILS] = {
                **row[DETAILS],
                WAITS_FOR: list(dict.fromkeys(map(_awaited, actions))),
                OVERDUE: None,
            }
            if actions:
                row["pending"] = [action["step_id"] for action in actions]
            order = ("workflow_id", "workflow", "status", "started", "updated", "pending", DETAILS)
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
            is_same = "pending" in row and listed_row.get("pending") == row["pending"]
            found[run] = {**row, DETAILS: listed_row[DETAILS]} if is_same else row
        wanted = [row for row in found.values() if _status_of(row) in statuses]
        return sorted(
            wanted, key=lambda row: (row["started"], order.get(row["workflow_id"], -1)), reverse=True
        )


def _awaited(action: dict[str, Any]) -> str:
    """Whom a displayed action waits for."""
    if "children" in action["parameters"]:
        return "children"
    if action["type"] == "wait":
        return "time"
    return "person" if action["type"] in HUMAN_KINDS else "agent"


def _status_of(row: dict[str, Any]) -> str:
    return "running" if row["status"] == "pending_action" else str(row["status"])
