"""The state of a run after one of its events, computed again from the recorded events.

The history keeps no long values that a step computed, and it keeps secrets redacted. So a replay is checked event by
event against the recorded states, and ends without a result where it differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from wfc_runtime.contract import Json
from wfc_runtime.errors import WfcError
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.events import (
    Cancel,
    ChildEnded,
    ChildRetried,
    Clock,
    FieldsUpdated,
    Interrupted,
    Reopen,
    Start,
    Submit,
)
from wfc_runtime.machine.events import Event as MachineEvent
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.step import step
from wfc_runtime.machine.values import Limits
from wfc_runtime.service.history import STILL
from wfc_runtime.service.views import Event

ChildResult = Callable[[str], dict[str, Json] | None]
"""The result of a child run that has ended, or None if it is not known."""
_ROUNDED = 0.001
"""Recorded times are cut to milliseconds, so that a timer could seem not to be due."""


def replayed(
    machine: AnyMachine, run: str, events: Iterable[Event], seq: int, limits: Limits, child: ChildResult
) -> Snapshot | None:
    """The snapshot after event `seq`, or None if the recorded events do not determine it."""
    snapshot: Snapshot | None = None
    for event in events:
        if event["seq"] > seq:
            break
        # These events moved nothing when they happened.
        if event["event"] in STILL:
            continue
        happened = _event(event, run, snapshot, child)
        if happened is None:
            return None
        try:
            outcome = step(machine, snapshot, happened, limits)
        except WfcError:
            return None
        # The recorded value was redacted or left out, and the run took another path with it: nothing after
        # this is certain.
        if outcome.refusal is not None or outcome.entered != list(event.get("entered", ())):
            return None
        snapshot = outcome.snapshot
    return snapshot


def _event(event: Event, run: str, snapshot: Snapshot | None, child: ChildResult) -> MachineEvent | None:
    at, id = datetime.fromisoformat(event["at"]).timestamp() + _ROUNDED, f"{run}/{event['seq']}"
    match event["event"]:
        case "started":
            return Start(at=at, id=id, inputs=event.get("inputs", {}), scope=event.get("scope", {}))
        case "submitted":
            served = event.get("actor") == "server"
            return Submit(
                at=at,
                id=id,
                visit=event["step_id"],
                result=event.get("result"),
                served=served,
                worktree=event.get("agent", {}).get("worktree"),
            )
        case "clock":
            return Clock(at=at, id=id)
        case "interrupted":
            since = datetime.fromisoformat(event["since"]).timestamp()
            return Interrupted(at=at, id=id, visit=event["step_id"], since=since)
        case "cancelled":
            # `keeps` only affects what is kept for a later retry, so assuming it is harmless here.
            return Cancel(at=at, id=id, reason=event.get("reason", ""), keeps=True)
        case "retried":
            reopen, renews = frozenset(event.get("reopened", ())), event.get("renews", True)
            return Reopen(at=at, id=id, visit=event.get("step_id", ""), reopen=reopen, renews=renews)
        case "updated":
            return FieldsUpdated(at=at, id=id, changes=event["changes"])
        case "child_retried":
            return ChildRetried(at=at, id=id, visit=event["step_id"], index=event["index"])
        case "child_ended" if snapshot is not None and event["step_id"] in snapshot.pending:
            place = snapshot.pending[event["step_id"]].children[event["index"]]
            # The history has no results of children; they are read from the children themselves.
            result = child(str(place["run"])) if place and "run" in place else None
            if "error" in event and (result is None or "error" not in result):
                # The child has been retried since, or is not known any more.
                result = {"error": event["error"]}
            if result is None:
                return None
            return ChildEnded(at=at, id=id, visit=event["step_id"], index=event["index"], result=result)
    return None
