"""Events as the history stores them: input, changes and reply, with secrets redacted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from wfc_runtime.contract import Json
from wfc_runtime.machine.budget import amount
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.effects import Action
from wfc_runtime.machine.events import (
    BudgetSet,
    Cancel,
    ChildEnded,
    ChildRetried,
    Clock,
    Event,
    FieldsUpdated,
    Interrupted,
    Outcome,
    Reopen,
    Spent,
    Start,
    Submit,
)
from wfc_runtime.machine.redaction import HIDDEN, NO_MASK, Mask, hide_inputs, mask_of
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.values import size_of, to_text
from wfc_runtime.store.records import HistoryRow

# Redaction.


class EventRedaction:
    """Redacts the secrets that a run had before an event, and those that arrived with it."""

    def __init__(self, machine: AnyMachine, before: Snapshot | None, outcome: Outcome) -> None:
        self._machine = machine
        self._before = before
        self._mask = mask_of(outcome.secrets)

    def value(self, value: Json) -> Json:
        """The redacted value; the same object if nothing in it was redacted."""
        return self._mask.value(value)

    def inputs(self, event: Start) -> dict[str, Json]:
        return dict(self.value(hide_inputs(self._machine.inputs, event.inputs)))

    def field(self, name: str, value: Json) -> Json:
        return HIDDEN if name in self._machine.secrets else self.value(value)

    def result(self, event: Submit) -> Json:
        pending = self._before.pending.get(event.visit) if self._before else None
        writes = self._machine.steps[pending.state].writes if pending else None
        # A secret field hides the result as a whole: its parts may be too short to be redacted.
        return HIDDEN if writes in self._machine.secrets else self.value(event.result)


# Events.

RETRIED = "retried"
STILL = ("agent_call", "checkpoint", "journal", "moved", "refused", "session")
"""Events after which a run waits for the same as before."""
_KINDS: dict[type[Event], str] = {
    Start: "started",
    Submit: "submitted",
    Interrupted: "interrupted",
    Clock: "clock",
    ChildEnded: "child_ended",
    ChildRetried: "child_retried",
    Cancel: "cancelled",
    Spent: "spent",
    BudgetSet: "budget",
    FieldsUpdated: "updated",
    Reopen: RETRIED,
}
_WHOLE = 256
"""Values up to this many bytes are stored with the event that wrote them. Longer ones are in the state, or can be
computed by a replay: a list that grows with every iteration must not be stored completely each time."""


# A refused result is an event, too: it counts as an attempt.
def event_kind(event: Event, outcome: Outcome) -> str:
    return "refused" if outcome.refusal is not None else _KINDS[type(event)]


def event_data(
    event: Event, outcome: Outcome, more: Mapping[str, Json], redaction: EventRedaction, kept: list[str]
) -> str:
    """An event and its outcome as JSON for the history, with secrets redacted. `kept`: see `kept_fields`."""
    written = {
        name: _short(redaction.field(name, value))
        # Fields that repeat the result are listed by name in `kept_as`.
        for name, value in outcome.written.items()
        if name not in kept
    }
    submitted = event.result if isinstance(event, Submit) else None
    data: dict[str, Json] = {**_given(event, outcome, redaction), **more}
    for name, value in (
        ("kept_as", kept),
        ("written", written),
        ("left", outcome.left),
        ("entered", outcome.entered),
        ("notes", outcome.notes),
        ("messages", redaction.value(outcome.said)),
        ("children", [child.id for child in outcome.started]),
        ("resumed", outcome.resumed),
        ("reopened", outcome.reopened),
    ):
        if value:
            data[name] = value
    if outcome.snapshot.status != "running":
        data["status"] = outcome.snapshot.status
        if outcome.snapshot.status == "failed":
            data["error"] = outcome.snapshot.error
    # Tested by identity: a redacted result must not be stored through the prepared text.
    if outcome.result_text is None or "result" not in data or data["result"] is not submitted:
        return to_text(data)
    # `result` comes first, and its text has already been computed.
    del data["result"]
    return f'{{"result":{outcome.result_text}{"," if data else ""}{to_text(data)[1:]}'


def kept_fields(event: Event, outcome: Outcome, redaction: EventRedaction) -> list[str]:
    """The fields that got the submitted result unchanged, if the history contains it unchanged too."""
    if not isinstance(event, Submit) or redaction.result(event) is not event.result:
        return []
    return [name for name, value in outcome.written.items() if value is event.result]


def _given(event: Event, outcome: Outcome, redaction: EventRedaction) -> dict[str, Json]:
    if outcome.refusal is not None:
        return {"refusal": outcome.refusal.message}
    match event:
        case Start():
            # The results of earlier items are in the parent's history already.
            scope = {name: value for name, value in event.scope.items() if name != "previous"}
            return {"inputs": redaction.inputs(event), **({"scope": redaction.value(scope)} if scope else {})}
        case Submit():
            shown = redaction.result(event)
            if shown is event.result:
                return {"result": shown}
            # The result itself must not be stored, but a repeated answer still has to be recognised.
            return {"result": shown, "answer": answer_digest(event.id, event.result)}
        case ChildEnded():
            return {
                "index": event.index,
                **({"error": redaction.value(event.result["error"])} if "error" in event.result else {}),
            }
        case Reopen():
            return {} if event.renews else {"renews": False}
        case ChildRetried():
            return {"index": event.index}
        case Interrupted():
            return {"since": timestamp(event.since)}
        case Cancel():
            return {"reason": redaction.value(event.reason)}
        case Spent():
            return {"usage": event.usage}
        case BudgetSet():
            return {"limit": event.account["limit"]}
        case FieldsUpdated():
            changes = [
                [name, keys, operation, redaction.field(name, value)]
                for name, keys, operation, value in event.changes
            ]
            return {"changes": changes}
    return {}


RECENT = 50
"""How many events are searched for a call that was made before: it is repeated at once or not at all."""


def update_with_key(rows: Iterable[HistoryRow], key: str | None) -> HistoryRow | None:
    """The update of the state by a call with this key, if it is among these events."""
    updates = [] if key is None else [row for row in rows if row.kind == _KINDS[FieldsUpdated]]
    return next((row for row in updates if json.loads(row.data).get("key") == key), None)


def written_by(row: HistoryRow) -> dict[str, Json]:
    """The fields that an event wrote, redacted; of a long value, only its size."""
    found: dict[str, Json] = json.loads(row.data).get("written", {})
    return found


def _short(value: Json) -> Json:
    size = size_of(value)
    return value if size <= _WHOLE else {"bytes": size}


def action_digest(action: Action, mask: Mask = NO_MASK) -> str:
    """Identifies what was shown, to bind an answer to it. Computed after redaction, so it reveals no secret."""
    # With the kind: two steps may have equal parameters.
    shown = to_text([action.type, mask.value(action.parameters)])
    return sha256(shown.encode()).hexdigest()[:32]


def same_result(data: Mapping[str, Json], event_id: str, result: Json) -> bool:
    """Whether a result equals the recorded one, regardless of the order of keys. 1, 1.0 and true are different."""
    try:
        if "answer" in data:
            return bool(data["answer"] == answer_digest(event_id, result))
        # As sorted text, since `==` would consider 1, 1.0 and true to be equal.
        return json.dumps(data.get("result"), sort_keys=True) == json.dumps(result, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return False


def answer_digest(event_id: str, result: Json) -> str:
    """Recognises a result that must not be stored. The event id acts as salt: equal results have different digests."""
    return sha256(f"{event_id}\0{json.dumps(result, sort_keys=True)}".encode()).hexdigest()[:32]


def timestamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def shown_event(row: HistoryRow) -> dict[str, Any]:
    """An event in the form in which the history is read."""
    data = json.loads(row.data)
    # Of no use to a reader, and only there to recognise a repeated answer.
    data.pop("answer", None)
    data.pop("key", None)
    event: dict[str, Any] = {"seq": row.seq, "at": timestamp(row.at), "event": row.kind}
    if row.visit is not None:
        event["step_id"] = row.visit
    if row.actor is not None:
        event["actor"] = row.actor
    # Fields that got the result unchanged are shown with it, as if they had been stored.
    written = {**{name: data.get("result") for name in data.pop("kept_as", [])}, **data.pop("written", {})}
    event.update(data)
    if written:
        event["written"] = written
    return event


def cost_of(events: Iterable[Mapping[str, Any]], session: str | None = None) -> dict[str, float]:
    """What events of a family, as they are read, have cost: all of them, or those of one session of an agent."""
    found: dict[str, float] = {}
    for event in events:
        # Calls of agents and reported usage are stored under different keys.
        call = event.get("agent") or event.get("usage") or {}
        if session is not None and call.get("session") != session:
            continue
        if event["event"] == "submitted" and "agent" in event:
            found["steps"] = found.get("steps", 0) + 1
        # A `spent` event repeats the costs of another event.
        for kind in ("usd", "tokens") if event["event"] != "spent" else ():
            found[kind] = found.get(kind, 0) + amount(call.get(kind))
    return {kind: value for kind, value in found.items() if value}


def last_call(events: Iterable[Mapping[str, Any]], visit: str) -> Mapping[str, Any] | None:
    """The last event of a visit that a call of an agent caused. The call is its `agent`."""
    found = None
    for event in events:
        if event.get("step_id") == visit and "agent" in event:
            found = event
    return found


def session_in(events: Iterable[Mapping[str, Any]], label: str, program: str) -> str | None:
    """The latest session of a label with an agent's program."""
    found = None
    for event in events:
        if event["event"] == "session" and (event["label"], event["program"]) == (label, program):
            found = str(event["session"])
    return found
