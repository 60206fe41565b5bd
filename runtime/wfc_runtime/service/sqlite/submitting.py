"""Answers to pending visits: taken once, told again when sent again, else refused with the way on."""

from __future__ import annotations

import json

from wfc_runtime.contract import Json
from wfc_runtime.errors import RefusedError, WfcError
from wfc_runtime.machine.effects import Action
from wfc_runtime.machine.events import Submit
from wfc_runtime.machine.snapshot import Pending, Snapshot
from wfc_runtime.service.history import action_digest, pack_told, same_result, unpack_told
from wfc_runtime.service.interface import Reply
from wfc_runtime.service.replies import Subject, ended_reply, pending_reply, reply_of, shown_pending
from wfc_runtime.service.sqlite.ledger import Active
from wfc_runtime.service.sqlite.work import Work
from wfc_runtime.store import HistoryRow


def submit(work: Work, active: Active, step_id: str, result: Json) -> Reply | WfcError:
    """A reply; or a refusal that has changed something, to be raised once that is committed."""
    try:
        # What is pending has not been answered: only other visits have to be looked up.
        if step_id not in active.now.pending:
            answered = work.queries.answer(active.row.key, step_id)
            if answered is not None:
                return _again(active, answered, result)
        entry = _answer(work, active, step_id, result)
    except RefusedError as refused:
        raise _with_way_on(active, refused, work.at) from None
    if work.refusal is not None:
        return _with_way_on(active, work.refusal, work.at)
    entry.told = pack_told(active.now.mask.value(shown_pending(active.now.pending)))
    return reply_to(active, work.at)


def _answer(work: Work, active: Active, step_id: str, result: Json) -> HistoryRow:
    pending = active.now.pending.get(step_id)
    # A wait that is over is ended by whoever asks, and so by this submit.
    if pending is None or pending.resume_at is None or pending.resume_at > work.at:
        work.catch_up(active)
        pending = active.now.pending.get(step_id)
    shown = {} if pending is None else {"shown": action_digest(_action(active, pending), active.now.mask)}
    event = Submit(at=work.at, id=active.next_event_id, visit=step_id, result=result)
    return work.apply(active, event, step_id, shown)


def _action(active: Active, pending: Pending) -> Action:
    return active.machine.steps[pending.state].action(pending)


def _again(active: Active, answered: HistoryRow, result: Json) -> Reply:
    """The same answer gets the same reply. Another one comes too late."""
    if not same_result(json.loads(answered.data), f"{active.row.id}/{answered.seq}", result):
        raise RefusedError(
            "answered", f"`{answered.visit}` has been answered, with another result; that one stands"
        )
    told = _with_secrets(unpack_told(answered.told or b""), active.now)
    subject = subject_of(active)
    return (
        pending_reply(subject, active.machine, told, answered.at)
        if told
        else ended_reply(subject, active.now)
    )


def _with_secrets(told: dict[str, Pending], now: Snapshot) -> dict[str, Pending]:
    """The history keeps no secrets; the action that is still pending has them."""
    if not now.secrets:
        return told
    return {visit: one if one.children else now.pending.get(visit, one) for visit, one in told.items()}


def _with_way_on(active: Active, refused: RefusedError, at: float) -> RefusedError:
    """A refusal that says what is pending and which call answers it."""
    way = reply_to(active, at)["next"]
    pending = ", ".join(f"`{visit}`" for visit in active.now.pending)
    waiting = f"Pending: {pending}." if pending else f"The run is {active.now.status}."
    hint = refused.hint if refused.hint.startswith("Pending") else f"{refused.hint} {waiting}".strip()
    return RefusedError(refused.code, refused.message, f"{hint} Next: {way}")


def reply_to(active: Active, at: float) -> Reply:
    return reply_of(subject_of(active), active.machine, active.now, at)


def subject_of(active: Active) -> Subject:
    row = active.row
    is_child = row.parent is not None or row.parent_row is not None
    return Subject(row.id, row.agent, is_child, _place_of_failure(active))


def _place_of_failure(active: Active) -> str:
    """The line of the YAML where a run failed."""
    error = active.now.error
    if active.now.status != "failed" or not error:
        return ""
    name = str(error.get("step_id", "")).partition("@")[0]
    chart = active.row.task or active.row.workflow
    states = (state.id for state in active.machine.states_map.values() if state.name == name)
    return active.module.place_of(chart, next(states, ""))
