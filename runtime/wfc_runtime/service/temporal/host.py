"""One run in the memory of a worker. It is deterministic: the same calls always produce the same run."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from types import MappingProxyType
from typing import Any

from wfc_runtime.contract import Json
from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.budget import ROOT, is_used_up, own_accounts, usage_of
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.effects import unfit
from wfc_runtime.machine.events import (
    BudgetSet,
    Cancel,
    ChildEnded,
    ChildRetried,
    Clock,
    Event,
    FieldsUpdated,
    Outcome,
    Reopen,
    Spent,
    Start,
    Submit,
)
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.step import step
from wfc_runtime.machine.updating import read_updates
from wfc_runtime.machine.values import Limits, size_of, to_text
from wfc_runtime.registry import Module
from wfc_runtime.service.answers import (
    check_shown,
    ends_by_asking,
    is_over_wait,
    repeat_reply,
    reply_to,
    shown_digest,
    with_next_call,
)
from wfc_runtime.service.children import machine_of
from wfc_runtime.service.history import (
    RETRIED,
    EventRedaction,
    answer_digest,
    event_data,
    event_kind,
    kept_fields,
    shown_event,
    update_with_key,
    written_by,
)
from wfc_runtime.service.interface import Reply
from wfc_runtime.service.journal_reports import (
    KIND,
    logged_for,
    prepared,
    stored,
    subject_of,
    takes_report,
    with_blockers,
    with_reported_blockers,
)
from wfc_runtime.service.leases import (
    busy_error,
    check_leasable,
    claimed_error,
    lowered_account,
    not_claimed_error,
)
from wfc_runtime.service.pure_actions import MOST_COMPUTED, compute, pure_action
from wfc_runtime.service.replies import awaited, listed_inputs
from wfc_runtime.service.retrying import awaited_again
from wfc_runtime.service.temporal.messages import (
    Answer,
    BudgetChange,
    Entry,
    Lease,
    Note,
    Seed,
    SharedAccounts,
    Spending,
    StateUpdates,
)
from wfc_runtime.store import HistoryRow, RunRow

_NOTHING: Mapping[str, Json] = MappingProxyType({})
_PENDING_SHOWN = 10
WAITS_FOR = "waits_for"
"""The entry of the memo with whom the pending actions wait for."""
INPUTS = "inputs"
"""The entry of the memo with the inputs of the run, shortened and redacted."""
JOURNAL_GREW = "journal_grew"
MOST_BYTES = 1_500_000
"""Size limit of a whole run when it continues as new: Temporal refuses payloads above 2 MB."""


@dataclass(slots=True)
class Accepted:
    """The result of a submit."""

    reply: Reply | None
    refusal: RefusedError | None
    outcomes: list[Outcome]
    spending: Spending | None = None
    """The messages for the root run."""


class Host:
    """A machine, its current snapshot, and its events since this execution began."""

    def __init__(self, run_id: str, seed: Seed, module: Module, at: float) -> None:
        self.seed = seed
        self.limits = deterministic(seed.run_limits)
        self.module = module
        self.row = RunRow(
            id=run_id,
            workflow=seed.workflow,
            digest=module.digest,
            depth=seed.depth,
            visit=seed.visit,
            position=seed.position,
            task=seed.task,
            agent=seed.agent,
            version=seed.version,
            created=seed.created or at,
            updated=seed.updated or at,
        )
        self.machine: AnyMachine = machine_of(module, seed.task, seed.agent)
        self.snapshot = None if seed.snapshot is None else Snapshot.from_json(seed.snapshot)
        self.secrets: tuple[str, ...] = tuple(self.snapshot.secrets) if self.snapshot else ()
        """The run's secrets after its last event; the snapshot of an ended run no longer contains them."""
        # A run that was moved from a file brings its history along, unless that was too long.
        self.first = 0 if seed.earlier else seed.version
        """The number of events stored elsewhere: in earlier executions, or in the engine the run came from."""
        self.unborn: set[str] = set()
        """Children that needed no answer and therefore have no workflow of their own."""
        self.held = seed.held
        """Whether a used-up budget of the root run holds this run back."""
        self.leases = seed.leases
        """Never changed in place: a trial shares it."""
        self.noted = seed.noted
        """The number of journal events so far."""
        self._logged = {visit: list(found) for visit, found in seed.logged.items()}
        """The entries logged for each visit, including earlier executions."""
        self.entries: list[HistoryRow] = []
        self.answers: dict[str, HistoryRow] = {}
        for one in seed.earlier:
            reply = None if one["told"] is None else b64decode(one["told"])
            data = to_text(one["data"])
            self._keep(
                HistoryRow(one["seq"], one["at"], one["kind"], data, one["visit"], one["actor"], reply)
            )

    @property
    def now(self) -> Snapshot:
        assert self.snapshot is not None
        return self.snapshot

    @property
    def next_event_id(self) -> str:
        return f"{self.row.id}/{self.row.version + 1}"

    @property
    def is_over(self) -> bool:
        return self.now.status != "running"

    @property
    def pending_names(self) -> list[str]:
        return list(self.now.pending)[:_PENDING_SHOWN]

    # -- events ----------------------------------------------------------------

    def begin(self, at: float) -> Outcome | None:
        """Start a new run; a run that was handed over keeps its state."""
        if self.snapshot is None:
            more = {"version": self.module.workflow.version, "module": self.module.digest}
            event = Start(
                at=at,
                id=self.next_event_id,
                inputs=self.seed.inputs,
                scope=self.seed.scope,
                secrets=tuple(self.seed.secrets),
            )
            return self.apply(event, more=_NOTHING if self.row.visit else more, actor=self.seed.actor)
        if self.seed.retry is not None:
            return self._retry(self.seed.retry["plan"].get(self.row.id, {}), at)
        if self.seed.note is not None:
            self.note(Note(**self.seed.note), at)
        if self.seed.moved is not None:
            self._enter(at, "moved", to_text(self.seed.moved), None, self.seed.actor)
        return None

    def _retry(self, plan: Mapping[str, Any], at: float) -> Outcome:
        visit = str(plan.get("visit", ""))
        event = Reopen(
            at=at,
            id=self.next_event_id,
            visit=visit,
            reopen=frozenset(plan.get("reopen", ())),
            renews=bool(plan.get("renews", True)),
        )
        return self.apply(event, visit or None, actor=self.seed.actor)

    def retry_child(self, child: str, actor: str | None, at: float) -> Outcome:
        """Wait again for a failed child while others are at work."""
        visit, index = awaited_again(self.now, self.row.id, child)
        event = ChildRetried(at=at, id=self.next_event_id, visit=visit, index=index)
        return self.apply(event, visit, actor=actor)

    def was_retried(self, visit: str) -> bool:
        """Whether this execution began with a retry of a visit; without a visit, with any retry."""
        return any(one.kind == RETRIED and visit in ("", one.visit) for one in self.entries)

    def _step(
        self,
        event: Event,
        visit: str | None = None,
        more: Mapping[str, Json] = _NOTHING,
        actor: str | None = None,
    ) -> Outcome:
        outcome = step(self.machine, self.snapshot, event, self.limits)
        redaction = EventRedaction(self.machine, self.snapshot, outcome)
        self.snapshot, self.secrets = outcome.snapshot, outcome.secrets
        # Time has no actor, even if a call has reported it.
        said = None if isinstance(event, Clock) else actor
        data = event_data(event, outcome, more, redaction, kept_fields(event, outcome, redaction))
        self._enter(event.at, event_kind(event, outcome), data, visit, said)
        return outcome

    def apply(
        self,
        event: Event,
        visit: str | None = None,
        more: Mapping[str, Json] = _NOTHING,
        actor: str | None = None,
    ) -> Outcome:
        """Process an event, and execute the pure actions that it leads to. The outcome is that of all together."""
        outcome = self._step(event, visit, more, actor)
        # Histories of before lack these events, and a replay must not add them.
        if not self.seed.computes or outcome.refusal is not None:
            return outcome
        for _ in range(MOST_COMPUTED):
            found = None if self.is_over else pure_action(self.machine, self.now)
            if found is None:
                break
            outcome = _joined(outcome, self._compute(*found, event.at))
        return outcome

    def _compute(self, visit: str, action: dict[str, Json], at: float) -> Outcome:
        shown, result = shown_digest(self, visit), compute(action, self.row.id, at)
        try:
            return self._step(self._served(visit, result, at), visit, shown, "server")
        except RefusedError as refused:
            # Such as a text that is larger than a result may be.
            failed: Json = {"error": {"code": "output_invalid", "message": refused.message}}
            return self._step(self._served(visit, failed, at), visit, shown, "server")

    def _served(self, visit: str, result: Json, at: float) -> Submit:
        return Submit(at=at, id=self.next_event_id, visit=visit, result=result, served=True)

    def clock(self, at: float) -> Outcome | None:
        """Process what is due."""
        due = self.now.due
        if self.is_over or due is None or due > at:
            return None
        return self.apply(Clock(at=at, id=self.next_event_id))

    def cancel(self, reason: str, actor: str | None, at: float, keeps: bool) -> Outcome:
        event = Cancel(at=at, id=self.next_event_id, reason=reason, keeps=keeps)
        return self.apply(event, actor=actor)

    def child_ended(
        self, child: str, result: dict[str, Json], secrets: Iterable[str], at: float
    ) -> Outcome | None:
        """Process the end of a child; None if no step waits for it."""
        place = self.now.place_of(child)
        if self.is_over or place is None:
            return None
        visit, index = place
        event = ChildEnded(
            at=at,
            id=self.next_event_id,
            visit=visit,
            index=index,
            result=result,
            secrets=tuple(secrets),
        )
        return self.apply(event, visit)

    def update_state(self, asked: StateUpdates, at: float) -> tuple[list[Outcome], dict[str, Json]]:
        """Change state fields. Returns what follows from it, and what was written. Raises `WfcError`."""
        outcomes = []
        entry = update_with_key(self.entries, asked.key)
        if entry is None:
            due = self.clock(at)
            outcomes += [due] if due is not None else []
            # A process computes with the state that it was given: changed fields would invalidate its result
            # unseen.
            for visit in self.leased(at):
                raise busy_error(visit)
            changes = read_updates(self.machine, asked.updates, self.limits)
            event = FieldsUpdated(at=at, id=self.next_event_id, changes=changes)
            more = _NOTHING if asked.key is None else {"key": asked.key}
            # Pure actions may add further events, so the update is not necessarily the last one.
            number = len(self.entries)
            outcomes.append(self.apply(event, more=more, actor=asked.actor))
            entry = self.entries[number]
            self._check_weight()
        return outcomes, written_by(entry)

    @property
    def at_work(self) -> list[str]:
        """The children that the run waits for."""
        found = [one for pending in self.now.pending.values() for one in pending.children]
        return [str(one["run"]) for one in found if one is not None and "run" in one]

    def move(self, module: Module, actor: str | None, at: float) -> None:
        """Continue with another version."""
        data = {"from": self.row.digest, "to": module.digest, "version": module.workflow.version}
        self.module = module
        self.machine = machine_of(module, self.row.task, self.row.agent)
        self.row.digest = module.digest
        self._enter(at, "migrated", to_text(data), None, actor)

    # -- the journal -----------------------------------------------------------

    def check_note(self, note: Note) -> None:
        """Raise `RefusedError` if the run has ended, or if the journal has grown since the caller read it."""
        if self.is_over:
            raise RefusedError("finished", f"the run is {self.now.status}, so its journal is closed")
        # The caller decided against the journal as it read it. It repeats the call with the new one.
        if note.after != self.noted:
            raise RefusedError(JOURNAL_GREW, "the journal has grown meanwhile")

    def note(self, note: Note, at: float) -> int:
        """Enter something into the journal; returns the number of its event."""
        number = self.row.version + 1
        # Blockers are part of the snapshot, so that replies show them without reading the history.
        opened = {f"{self.row.id}:{number}": note.opens} if note.opens else {}
        self.snapshot = with_blockers(self.now, opened, () if note.closes is None else (note.closes,))
        self._enter(at, KIND, to_text(stored(note.data)), note.visit, note.actor)
        return number

    def _still_logged(self) -> dict[str, list[dict[str, Json]]]:
        """The data that the next execution needs to complete the reports of pending visits."""
        wanted = [visit for visit, one in self.now.pending.items() if takes_report(self.machine, one.state)]
        return {visit: self._logged[visit] for visit in wanted if visit in self._logged}

    # -- answers ---------------------------------------------------------------

    def submit(self, answer: Answer, at: float) -> Accepted:
        """Apply an answer. After a `RefusedError` this copy of the run must not be used."""
        step_id = answer.step_id
        known = self.answers.get(step_id)
        try:
            # A pending visit has not been answered yet, even if an earlier visit of the same name has.
            if known is not None and step_id not in self.now.pending and not answer.unfit:
                return Accepted(repeat_reply(self, known, answer.result, reply_to(self, at)), None, [])
            return self._take(answer, at)
        except RefusedError as refused:
            if refused.code == "not_pending" and is_over_wait(self, step_id):
                return Accepted(reply_to(self, at), None, [])
            raise with_next_call(self.row.id, self.now, refused, reply_to(self, at)) from None

    def _take(self, answer: Answer, at: float) -> Accepted:
        step_id, outcomes = answer.step_id, []
        if not ends_by_asking(self.now.pending.get(step_id), at):
            due = self.clock(at)
            outcomes += [due] if due is not None else []
        # Before the owner: a person who answers an outdated form must learn that first.
        check_shown(self, step_id, answer.shown)
        self._check_owner(answer, at)
        subject, event_id = subject_of(self, at), self.next_event_id
        given = prepared(subject, step_id, answer.result, lambda: self._logged.get(step_id, ()), self.limits)
        more = shown_digest(self, step_id)
        # The stored result differs from the submitted one, so a repeated call is recognised by this digest.
        if given is not answer.result:
            more["answer"] = answer_digest(event_id, answer.result)
        state = subject.now.pending[step_id].state if step_id in subject.now.pending else ""
        # Computed before the event, which ends the visit and with it the accounts that the cost belongs to.
        cost = usage_of(self.machine, self.now, step_id, answer.result, answer.usage)
        accounts = self.accounts_of(step_id, at) if cost else {}
        if answer.usage and not answer.call:
            more["usage"] = answer.usage
        if answer.call:
            more["agent"] = answer.call
        worktree = answer.call.get("worktree") if answer.call else None
        event = Submit(at=at, id=event_id, visit=step_id, result=given, worktree=worktree)
        seq = self.row.version + 1
        outcome = self.apply(event, step_id, more, answer.actor)
        if outcome.refusal is None:
            self.snapshot = with_reported_blockers(subject_of(self, at), state, given, seq)
        # The client replaced a result that is too large or not JSON; the step is checked first, since a refusal
        # because of the step is the more useful one.
        if answer.unfit:
            raise unfit(answer.unfit)
        if outcome.refusal is not None:
            # It is not answered yet, but its cost has been incurred.
            cost.pop("steps", None)
        else:
            self._forget_lease(step_id)
        outcomes.append(outcome)
        spent, spending = self._charge(cost, accounts, at)
        outcomes += spent
        if outcome.refusal is not None:
            refusal = with_next_call(self.row.id, self.now, outcome.refusal, reply_to(self, at))
            return Accepted(None, refusal, outcomes, spending)
        self._check_weight()
        return Accepted(None, None, outcomes, spending)

    # -- leases ----------------------------------------------------------------

    def leased(self, at: float) -> dict[str, float]:
        """The visits that processes are working on, with the time since when."""
        pending = self.now.pending
        return {
            visit: lease["since"]
            for visit, lease in self.leases.items()
            if visit in pending and lease["until"] > at
        }

    def lease(self, asked: Lease, at: float) -> None:
        """Take, renew or give back a lease. Raises `RefusedError` if somebody else has it."""
        visit, known = asked.step_id, self.leases.get(asked.step_id)
        is_ours = known is not None and known["owner"] == asked.owner
        if asked.seconds <= 0 or asked.renews:
            if not is_ours:
                raise not_claimed_error(visit)
        elif visit in self.leased(at):
            raise claimed_error(visit)
        if asked.seconds <= 0:
            self._forget_lease(visit)
            return
        check_leasable(self.machine, self.now, visit)
        # A renewal is accepted: the call is already running, and its cost counts anyway.
        if not asked.renews and (self.held or is_used_up(self.now)):
            raise RefusedError("held_back", "a used-up budget holds the run back")
        since = known["since"] if known is not None and asked.renews else at
        lease = {"owner": asked.owner, "since": since, "until": at + asked.seconds}
        self.leases = {**self.leases, visit: lease}

    def _check_owner(self, answer: Answer, at: float) -> None:
        """Refuse the answer of a process that has lost its lease, and any answer to what another process works on."""
        visit = answer.step_id
        owner = self.leases.get(visit, {}).get("owner")
        if visit not in self.now.pending:
            return
        # An expired lease that nobody else took is still valid.
        if answer.owner is not None and owner != answer.owner:
            raise not_claimed_error(visit)
        if answer.owner is None and visit in self.leased(at):
            raise claimed_error(visit)

    def _forget_lease(self, visit: str) -> None:
        self.leases = {one: lease for one, lease in self.leases.items() if one != visit}

    # -- budgets ---------------------------------------------------------------

    def record(self, entry: Entry, at: float) -> tuple[list[Outcome], Spending | None]:
        """Enter something into the history, and charge what it cost."""
        self._enter(at, entry.kind, to_text(entry.data), None, entry.actor)
        accounts = self.accounts_of(entry.visit, at) if entry.visit is not None else {}
        return self._charge(entry.usage, accounts, at)

    def _charge(
        self, cost: dict[str, float], accounts: dict[str, Any], at: float
    ) -> tuple[list[Outcome], Spending | None]:
        """Charge a cost here if this is the root run; otherwise return the message for the root run."""
        if not (cost and accounts):
            return [], None
        spending = Spending(cost, accounts)
        # Only the root run keeps accounts, so that children on different workers can't overspend together.
        if self.seed.root is not None:
            return [], spending
        spent = self.spend(spending, at)
        return [spent] if spent is not None else [], None

    def set_budget(self, change: BudgetChange, at: float) -> Outcome:
        """Lower the budget of this root run, or set one."""
        account = lowered_account(self.machine, self.now, self.row, change.limits, change.spent)
        event = BudgetSet(at=at, id=self.next_event_id, account=dict(account))
        return self.apply(event, actor=change.actor)

    def join_accounts(self, shared: SharedAccounts) -> None:
        """From now on report spending to the root run, including for accounts that were added after this run."""
        accounts = {**shared.accounts, **self.seed.accounts}
        self.seed = replace(self.seed, root=shared.root, accounts=accounts)

    def accounts_of(self, visit: str, at: float) -> dict[str, Any]:
        """The accounts that a visit belongs to, including those of the enclosing runs."""
        own = own_accounts(
            self.machine,
            self.now,
            visit,
            run=ROOT if self.seed.parent is None else self.row.id,
            label=self.row.workflow if self.row.task is None else None,
            created=self.row.created,
            at=at,
        )
        return {**own, **self.seed.accounts}

    def spend(self, spending: Spending, at: float) -> Outcome | None:
        """Charge the accounts of the family. A run that has ended owes nothing."""
        if self.is_over:
            return None
        event = Spent(at=at, id=self.next_event_id, usage=spending.usage, accounts=spending.accounts)
        return self.apply(event)

    @property
    def holds_back(self) -> bool:
        """Whether the children show no action until a person has extended a budget."""
        return not self.is_over and (self.held or is_used_up(self.now))

    @property
    def carried(self) -> int:
        """The approximate size of what the next execution gets."""
        return self.weight + size_of(self._still_logged())

    @property
    def weight(self) -> int:
        """The approximate size of the run in bytes."""
        return self.now.size + sum(size_of(one.to_data()) for one in self.now.pending.values())

    def _check_weight(self) -> None:
        if self.weight > MOST_BYTES:
            raise RefusedError(
                "run_size",
                f"the run would hold {self.weight:,} bytes; on Temporal the limit is {MOST_BYTES:,}",
                "Pass large texts by reference: the path of a file instead of its content.",
            )

    def trial(self) -> Host:
        """A copy on which an answer can be tried."""
        # Without `__init__`, which would decode the whole snapshot again for each answer.
        other = object.__new__(Host)
        # Snapshots and modules are immutable and shared; row, entries and answers are what a submit changes.
        other.__dict__.update(self.__dict__)
        other.row = replace(self.row)
        other.entries, other.answers = [], dict(self.answers)
        return other

    def shown_entries(self, after: int, limit: int) -> list[dict[str, Any]]:
        """The history for readers, without children that have no workflow."""
        found = [shown_event(entry) for entry in self.entries if entry.seq > after][:limit]
        for event in found:
            children = [child for child in event.pop("children", []) if child not in self.unborn]
            if children:
                event["children"] = children
        return found

    def stored_entries(self, after: int, limit: int) -> list[dict[str, Any]]:
        """The history as it is stored, in the form of an export, without children that have no workflow."""
        found = []
        for entry in [one for one in self.entries if one.seq > after][:limit]:
            data = json.loads(entry.data)
            children = [child for child in data.pop("children", []) if child not in self.unborn]
            if children:
                data["children"] = children
            told = None if entry.reply is None else b64encode(entry.reply).decode()
            facts = {"seq": entry.seq, "at": entry.at, "kind": entry.kind, "visit": entry.visit}
            found.append({**facts, "actor": entry.actor, "data": data, "told": told})
        return found

    @property
    def overdue_at(self) -> float | None:
        """When the first pending action becomes, or became, overdue."""
        times = [one.overdue_at for one in self.now.pending.values() if one.overdue_at is not None]
        return min(times, default=None)

    @property
    def listed_details(self) -> dict[str, Json]:
        """Whom the run waits for, its inputs as lists show them, and the version that it is pinned to."""
        pending = [awaited(one.to_data()) for one in self.now.pending.values()]
        # Lists show root runs only, so children save the bytes in their memo.
        inputs = self._listed_inputs if self.row.visit is None else {}
        return {WAITS_FOR: list(dict.fromkeys(pending)), INPUTS: inputs, "digest": self.row.digest}

    @cached_property
    def _listed_inputs(self) -> dict[str, Json]:
        return listed_inputs(self.now.inputs, self.now.secrets)

    def adopt(self, trial: Host) -> bool:
        """Take over the state of a trial, unless the run has changed since."""
        # The trial started from the version before its own entries.
        if trial.row.version - len(trial.entries) != self.row.version:
            return False
        self.row, self.snapshot, self.secrets = trial.row, trial.snapshot, trial.secrets
        self.leases = trial.leases
        for entry in trial.entries:
            self._keep(entry)
        return True

    # -- continuing in another execution ---------------------------------------

    def to_seed(self) -> Seed:
        """The current run, for the execution that continues it."""
        return replace(
            self.seed,
            digest=self.row.digest,
            # The snapshot already contains the inputs, the scope and the secrets.
            inputs={},
            scope={},
            secrets=[],
            at=self.row.updated,
            snapshot=self.now.to_json(),
            version=self.row.version,
            created=self.row.created,
            updated=self.row.updated,
            moved=None,
            earlier=[],
            retry=None,
            note=None,
            noted=self.noted,
            logged=self._still_logged(),
            previous=None,
            held=self.held,
            leases={} if self.is_over else self.leases,
            keeps_overdue=True,
            lists_overdue=True,
            computes=True,
            lists_details=True,
            # An execution that began under an earlier version keeps its limit for replays; its successor is a new
            # history.
            limits={name: value for name, value in self.seed.limits.items() if name != "grace_seconds"},
        )

    def _enter(self, at: float, kind: str, data: str, visit: str | None, actor: str | None) -> None:
        row, now = self.row, self.now
        row.version += 1
        row.status, row.due, row.updated = now.status, now.due, at
        row.pending = " ".join(self.pending_names)
        self._keep(HistoryRow(row.version, at, kind, data, visit, actor))

    def _keep(self, entry: HistoryRow) -> None:
        self.entries.append(entry)
        if entry.kind == KIND:
            self.noted += 1
            for data in logged_for(self.row.id, [entry]):
                self._logged.setdefault(str(data["task"]), []).append(data)
        elif entry.kind == "submitted" and entry.visit is not None:
            self.answers[entry.visit] = entry


def deterministic(limits: Limits) -> Limits:
    """Without the CPU limit for expressions: a replay on a slower machine must give the same result."""
    return replace(limits, expressions=replace(limits.expressions, cpu_seconds=inf))


def _joined(first: Outcome, then: Outcome) -> Outcome:
    """The combined requests of two events."""
    return replace(
        then,
        started=[*first.started, *then.started],
        stopped=[*first.stopped, *then.stopped],
        reopened=[*first.reopened, *then.reopened],
    )
