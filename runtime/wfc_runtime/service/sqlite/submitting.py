"""Answers to pending visits: taken once, told again when sent again, else refused with the way on."""

from __future__ import annotations

from wfc_runtime.contract import Json
from wfc_runtime.errors import RefusedError, WfcError
from wfc_runtime.machine.events import Submit
from wfc_runtime.service import answers
from wfc_runtime.service.answers import (
    ends_by_asking,
    is_over_wait,
    shown_digest,
    told_again,
    told_now,
    with_way_on,
)
from wfc_runtime.service.interface import Reply
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
                return told_again(active, answered, result) or reply_to(work, active)
        entry = _answer(work, active, step_id, result, owner)
    except RefusedError as refused:
        if refused.code == "not_pending" and is_over_wait(active, step_id):
            return reply_to(work, active)
        raise with_way_on(active, refused, reply_to(work, active)) from None
    if work.refusal is not None:
        return with_way_on(active, work.refusal, reply_to(work, active))
    reply = reply_to(work, active)
    # What the server is about to do itself, nobody is told to do: by the next time it may be done.
    if "running" not in reply:
        entry.told = told_now(active)
    return reply


def _answer(work: Work, active: Active, step_id: str, result: Json, owner: str | None) -> HistoryRow:
    if not ends_by_asking(active.now.pending.get(step_id), work.at):
        work.catch_up(active)
    if step_id in active.now.pending:
        _check_claim(work, active, step_id, owner)
    event = Submit(
        at=work.at, id=active.next_event_id, visit=step_id, result=result, served=owner is not None
    )
    return work.apply(active, event, step_id, shown_digest(active, step_id))


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


def reply_to(work: Work, active: Active) -> Reply:
    key = active.row.key
    claimed = dict.fromkeys(work.served(active), work.at) if active.now.status == "running" else {}
    claimed |= {one.visit: one.at + work.ahead for one in work.ledger.claims(active.row) if one.run == key}
    return answers.reply_to(active, work.at, claimed)
