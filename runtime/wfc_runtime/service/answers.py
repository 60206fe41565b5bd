"""Replies about a loaded run and about answers to it, with the same texts on every engine."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Protocol

from wfc_runtime.contract import BOOKKEEPING, HUMAN_KINDS, Json
from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.effects import Ask, Delay
from wfc_runtime.machine.interpreter import structure_of
from wfc_runtime.machine.snapshot import Pending, Snapshot
from wfc_runtime.registry import Module
from wfc_runtime.service.history import action_digest, same_result
from wfc_runtime.service.interface import Reply, actions_of
from wfc_runtime.service.replies import Subject, reply_of
from wfc_runtime.store import HistoryRow, RunRow

# No claims, no blockers. A default argument must not be a mutable dict.
_NOBODY: Mapping[str, float] = MappingProxyType({})
_NONE: Mapping[str, str] = MappingProxyType({})


_BLOCKERS_SHOWN = 10
"""Of more of them, the next ones are shown when these are resolved; the journal has all."""


class RunInMemory(Protocol):
    """A run in memory, whichever engine holds it."""

    @property
    def row(self) -> RunRow: ...
    @property
    def module(self) -> Module: ...
    @property
    def machine(self) -> AnyMachine: ...
    @property
    def now(self) -> Snapshot: ...


def reply_to(
    run: RunInMemory,
    at: float,
    claimed: Mapping[str, float] = _NOBODY,
    below: Mapping[str, str] = _NONE,
) -> Reply:
    """The current state of the run as a reply. `claimed`: visits that a server is executing, with the start time.
    `below`: the blockers of its children."""
    reply = reply_of(subject_of(run), run.machine, run.now, at, claimed)
    if run.now.status != "running":
        return reply
    return with_blockers(reply, {**run.now.blockers, **below}, is_for_agent=run.row.agent is not None)


def with_blockers(reply: Reply, blockers: Mapping[str, str], is_for_agent: bool) -> Reply:
    """A reply with the issues in the journals of the run and its children that wait for a person."""
    if not blockers:
        return reply
    id = reply["workflow_id"]
    listed = [(issue, issue.rpartition(":")[0], text) for issue, text in blockers.items()][:_BLOCKERS_SHOWN]
    shown = [
        {"issue_id": issue, **({} if owner == id else {"workflow_id": owner}), "description": text}
        for issue, owner, text in listed
    ]
    if "blockers" in reply:
        return {**reply, "blockers": [*reply["blockers"], *shown][:_BLOCKERS_SHOWN]}
    # `next` stays the last key of a reply.
    following = reply.pop("next")
    how = "ask the person about `blockers` first, and record the answer with "
    if is_for_agent:
        # A sub-agent can't ask. The agent that started it can.
        how = "stop, and answer with `blockers`: the person has to decide. The answer is recorded with "
    first, owner, _ = listed[0]
    call = f'log_issue(task_id="{owner}", issue_id="{first}", resolution=<the answer>)'
    return {**reply, "blockers": shown, "next": f"{how}{call}; then {following}"}


def subject_of(run: RunInMemory) -> Subject:
    row = run.row
    advice = run.module.workflow.on_failure
    place = _place_of_failure(run)
    reads = _bookkeeping_in(run.module.text)
    return Subject(row.id, row.agent, row.visit is not None, place, advice, reads, row.workflow)


@lru_cache(maxsize=64)
def _bookkeeping_in(module: str) -> frozenset[str]:
    """The parts of results that are only bookkeeping, and that some expression of the module names."""
    # As a whole word anywhere in the module, comments included: too many is harmless, since more is shown.
    return frozenset(name for name in BOOKKEEPING if re.search(rf"\b{name}\b", module))


def _place_of_failure(run: RunInMemory) -> str:
    """The line of the YAML where a run failed."""
    error = run.now.error
    if run.now.status != "failed" or not error:
        return ""
    chart = run.row.task or run.row.workflow
    if "field" in error:
        return run.module.place_of(chart, f"derived.{error['field']}")
    name = str(error.get("step_id", "")).partition("@")[0]
    states = (state.id for state in run.machine.states_map.values() if state.name == name)
    return run.module.place_of(chart, next(states, ""))


def displayed(run: RunInMemory, reply: Reply) -> Reply:
    """A reply for people: redacted, with the digest of each action and the place of a failure as data."""
    shown: Reply = dict(run.now.mask.value(reply))
    # Digests are for people: an agent that submits need not prove what it saw.
    actions = [{**one, **shown_digest(run, one["step_id"])} for one in actions_of(shown)]
    if actions:
        shown |= {"action": actions[0]} if "action" in shown else {"actions": actions}
    # Paths may contain colons themselves, so the line is taken from the end.
    file, _, line = _place_of_failure(run).rpartition(":")
    if file and line.isdecimal():
        shown["error"] = {**shown["error"], "place": {"file": file, "line": int(line)}}
    return shown


def check_shown(run: RunInMemory, step_id: str, shown: str | None) -> None:
    """Refuse an answer to something else than what was shown to the person who gave it."""
    # A visit that is no longer pending is refused later, with the reason why.
    if shown is not None and step_id in run.now.pending and shown_digest(run, step_id)["shown"] != shown:
        raise RefusedError(
            "not_shown", f"`{step_id}` now asks something else than what was shown", "Look at it again."
        )


def shown_digest(run: RunInMemory, step_id: str) -> dict[str, Json]:
    """The digest of a pending action, to which the answer is bound."""
    pending = run.now.pending.get(step_id)
    if pending is None:
        return {}
    return {"shown": action_digest(run.machine.steps[pending.state].action(pending), run.now.mask)}


def asks_person(machine: AnyMachine, pending: Pending) -> bool:
    """Whether a visit asks a person, not the agent or a server."""
    effect = machine.steps.get(pending.state)
    return isinstance(effect, Ask) and effect.kind in HUMAN_KINDS


def ends_by_asking(pending: Pending | None, at: float) -> bool:
    """Whether it is a wait that is over: a status call or a submit ends it."""
    return pending is not None and pending.resume_at is not None and pending.resume_at <= at


def is_over_wait(run: RunInMemory, step_id: str) -> bool:
    """Whether a visit was a wait that has ended. It expects no answer, so a late submit is not an error."""
    # `build@2@retry` is the pause before a further attempt of the second visit of `build`.
    name, _, number = step_id.removesuffix("@retry").partition("@")
    visit = int(number) if number.isdecimal() else 1
    for node in structure_of(run.machine).nodes.values():
        effect = run.machine.steps.get(node.id)
        is_pause = step_id.endswith("@retry") and any(
            isinstance(other, Delay) and other.step == node.id for other in run.machine.steps.values()
        )
        is_wait = isinstance(effect, Ask) and effect.wait_seconds is not None
        if node.name == name and (is_pause or is_wait) and visit <= run.now.visits.get(node.id, 0):
            return step_id not in run.now.pending
    return False


def repeat_reply(run: RunInMemory, answered: HistoryRow, result: Json, reply: Reply) -> Reply:
    """The reply to a repeated answer: `reply`, what the run waits for now. A different answer is refused.

    The first reply is not repeated: an agent would execute an action in it a second time.
    """
    if not same_result(json.loads(answered.data), f"{run.row.id}/{answered.seq}", result):
        raise RefusedError(
            "answered", f"`{answered.visit}` has already been answered with a different result, which is kept"
        )
    return as_repeated(reply)


def as_repeated(reply: Reply) -> Reply:
    """The reply of now to a call that was done before."""
    following = reply.pop("next")
    return {**reply, "repeated": True, "next": following}


def with_next_call(run: str, now: Snapshot, refused: RefusedError, reply: Reply) -> RefusedError:
    """A refusal with the pending steps and the call that answers them, as in the reply."""
    following = reply["next"]
    pending = ", ".join(f"`{visit}`" for visit in now.pending)
    if pending:
        waiting = "" if refused.hint.startswith("Pending") else f"Pending: {pending}."
    else:
        waiting = "" if refused.code == "finished" else f"The run is {now.status}."
        # "nothing" does not help a caller whose request was just refused.
        if following.startswith("nothing: the run is"):
            following = f'get_workflow_status(workflow_id="{run}"), which shows how it ended'
    hint = f"{refused.hint} {waiting}".strip()
    return RefusedError(refused.code, refused.message, hint, following)


def with_new(reply: Reply, before: Collection[str]) -> Reply:
    """The reply to a submit, with the visits that it made pending as `new`, if others were pending already."""
    actions = [action["step_id"] for action in actions_of(reply)]
    new = [visit for visit in actions if visit not in before]
    if len(new) == len(actions):
        return reply
    following = reply.pop("next")
    return {**reply, "new": new, "next": following}
