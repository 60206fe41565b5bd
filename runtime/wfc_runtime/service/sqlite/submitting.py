"""Answers to pending visits: taken once, told again when sent again, else refused with the way on."""

from __future__ import annotations

import json

from wfc_runtime.contract import Json
from wfc_runtime.errors import RefusedError, WfcError
from wfc_runtime.machine.ask import Ask
from wfc_runtime.machine.effects import Action, Effect
from wfc_runtime.machine.events import Submit
from wfc_runtime.machine.snapshot import Pending, Snapshot
from wfc_runtime.service.history import action_digest, pack_told, same_result, unpack_told
from wfc_runtime.service.interface import Reply
from wfc_runtime.service.replies import Subject, ended_reply, pending_reply, reply_of, shown_pending
from wfc_runtime.service.sqlite.ledger import Active
from wfc_runtime.service.sqlite.work import Work
from wfc_runtime.store import HistoryRow


def submit(
    work: Work, active: Active, step_id: str, result: Json, owner: str | None = None
) -> Reply | WfcError:
    """A reply; or a refusal that has changed something, to be raised once that is committed.

    `owner` is the server that has done it, where it was not the agent.
    """
    try:
        # What is pending has not been answered: only other visits have to be looked up.
        if step_id not in active.now.pending:
            answered = work.queries.answer(active.row.key, step_id)
            if answered is not None:
                return _again(work, active, answered, result)
        entry = _answer(work, active, step_id, result, owner)
    except RefusedError as refused:
        raise _with_way_on(work, active, refused) from None
    if work.refusal is not None:
        return _with_way_on(work, active, work.refusal)
    entry.told = pack_told(active.now.mask.value(shown_pending(active.now.pending)))
    return reply_to(work, active)


def _answer(work: Work, active: Active, step_id: str, result: Json, owner: str | None) -> HistoryRow:
    pending = active.now.pending.get(step_id)
    # A wait that is over is ended by whoever asks, and so by this submit.
    if pending is None or pending.resume_at is None or pending.resume_at > work.at:
        work.catch_up(active)
        pending = active.now.pending.get(step_id)
    if pending is not None:
        _check_claim(work, active, step_id, owner)
    shown = {} if pending is None else {"shown": action_digest(_action(active, pending), active.now.mask)}
    event = Submit(at=work.at, id=active.next_event_id, visit=step_id, result=result)
    return work.apply(active, event, step_id, shown)


def _check_claim(work: Work, active: Active, step_id: str, owner: str | None) -> None:
    claim = work.ledger.claim_of(active, step_id)
    if claim is None:
        if owner is not None:
            raise RefusedError("not_claimed", f"`{step_id}` is not this server's any more")
        work.ledger.require_free(active, step_id)
    elif claim.owner != owner:
        raise RefusedError("claimed", f"`{step_id}` is being done by the server; nobody else has to")
    else:
        work.ledger.release(claim)


def _action(active: Active, pending: Pending) -> Action:
    return active.machine.steps[pending.state].action(pending)


def _again(work: Work, active: Active, answered: HistoryRow, result: Json) -> Reply:
    """The same answer gets the same reply. Another one comes too late."""
    if not same_result(json.loads(answered.data), f"{active.row.id}/{answered.seq}", result):
        raise RefusedError(
            "answered", f"`{answered.visit}` has been answered, with another result; that one stands"
        )
    told = _with_secrets(unpack_told(answered.told or b""), active.now)
    if any(_is_served(active.machine.steps[one.state]) for one in told.values()):
        # Nobody was told to do that: a server may have done it since.
        return reply_to(work, active)
    subject = subject_of(active)
    return (
        pending_reply(subject, active.machine, told, answered.at)
        if told
        else ended_reply(subject, active.now)
    )


def _is_served(effect: Effect) -> bool:
    return isinstance(effect, Ask) and effect.runner == "server"


def _with_secrets(told: dict[str, Pending], now: Snapshot) -> dict[str, Pending]:
    """The history keeps no secrets; the action that is still pending has them."""
    if not now.secrets:
        return told
    return {visit: one if one.children else now.pending.get(visit, one) for visit, one in told.items()}


def _with_way_on(work: Work, active: Active, refused: RefusedError) -> RefusedError:
    """A refusal that says what is pending and which call answers it."""
    way = reply_to(work, active)["next"]
    pending = ", ".join(f"`{visit}`" for visit in active.now.pending)
    waiting = f"Pending: {pending}." if pending else f"The run is {active.now.status}."
    hint = refused.hint if refused.hint.startswith("Pending") else f"{refused.hint} {waiting}".strip()
    return RefusedError(refused.code, refused.message, f"{hint} Next: {way}")


def reply_to(work: Work, active: Active) -> Reply:
    key = active.row.key
    claimed = {one.visit: one.at for one in work.ledger.claims(active.row) if one.run == key}
    return reply_of(subject_of(active), active.machine, active.now, work.at, claimed)


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
