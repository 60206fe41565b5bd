"""The work of one call on a family of runs: an event or an answer, and everything that follows from it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType

from wfc_runtime.contract import Json
from wfc_runtime.errors import DefinitionError, RefusedError, StepError, WfcError
from wfc_runtime.machine.budget import usage_of
from wfc_runtime.machine.events import (
    Cancel,
    Child,
    ChildEnded,
    Clock,
    Event,
    Interrupted,
    Reopen,
    Start,
    Submit,
)
from wfc_runtime.machine.snapshot import Kept, Snapshot
from wfc_runtime.machine.step import NO_REASON, step
from wfc_runtime.machine.values import Limits
from wfc_runtime.registry import Module
from wfc_runtime.service import answers
from wfc_runtime.service.answers import (
    check_shown,
    ends_by_asking,
    is_over_wait,
    repeat_reply,
    shown_digest,
    with_new,
    with_next_call,
)
from wfc_runtime.service.children import begin_child, start_error
from wfc_runtime.service.history import answer_digest
from wfc_runtime.service.interface import Reply
from wfc_runtime.service.journal_reports import subject_of, with_reported_blockers
from wfc_runtime.service.leases import claimed_error, not_claimed_error
from wfc_runtime.service.pure_actions import MOST_COMPUTED, compute, pure_action
from wfc_runtime.service.replies import STOPPED, held_back_reply, with_workers, worker
from wfc_runtime.service.retrying import Retrying, check_child, whole
from wfc_runtime.service.sqlite.accounts import accounts_for, is_gated, spend
from wfc_runtime.service.sqlite.journals import prepared_result
from wfc_runtime.service.sqlite.unit_of_work import LoadedRun, UnitOfWork
from wfc_runtime.store import ClaimRow, HistoryRow, RunRow

# Events and their consequences.

_NOTHING: Mapping[str, Json] = MappingProxyType({})


Served = Callable[[LoadedRun], Iterable[str]]
"""The pending visits of a run that the server itself is about to execute."""


def nothing_served(loaded: LoadedRun) -> Iterable[str]:
    return ()


class Work:
    """Drives machines in memory. All changes are in the unit of work, which is committed as a whole."""

    def __init__(
        self,
        unit: UnitOfWork,
        limits: Limits,
        served: Served = nothing_served,
        ahead: float = 0.0,
        computes: bool = False,
    ) -> None:
        """`ahead`: how far the time of the runs is ahead of the clock. `computes`: execute actions of the server that
        have no effect outside the run, in the same commit."""
        self.unit = unit
        self._computes = computes
        self._computed = 0
        self.served = served
        self.queries = unit.queries
        self.ahead = ahead
        self.limits = limits
        # Consequences in other runs of the family, in the order in which they arose.
        self._todo: deque[Callable[[], None]] = deque()
        self._settling = False
        self._asked = ""
        self.caught_up = False
        """Whether time alone has changed something."""
        self.refusal: RefusedError | None = None
        """The refusal of an invalid result: raised after its changes have been committed."""
        self.retries: dict[str, Retrying] = {}
        """The parts to restart in reopened runs; in others, everything that failed."""

    @property
    def at(self) -> float:
        """The time of the runs."""
        return self.unit.at + self.ahead

    # -- events ----------------------------------------------------------------

    def start(self, row: RunRow, module: Module, inputs: dict[str, Json]) -> LoadedRun:
        loaded = self.unit.create(row, module)
        about = {"version": module.workflow.version, "module": module.digest}
        self.apply(loaded, Start(at=self.at, id=loaded.next_event_id, inputs=inputs), more=about)
        return loaded

    def apply(
        self, loaded: LoadedRun, event: Event, visit: str | None = None, more: Mapping[str, Json] = _NOTHING
    ) -> HistoryRow:
        """Process one event, and everything that follows from it in the family."""
        outcome = step(loaded.machine, loaded.snapshot, event, self.limits)
        self.refusal = outcome.refusal
        if outcome.snapshot.status != "running":
            # Before the event is recorded: afterwards the visits are no longer pending.
            more = {**more, **self._broken_off(loaded, visit, outcome.snapshot.kept)}
        entry = self.unit.record(loaded, event, outcome, visit, more)
        why, keeps = STOPPED[loaded.now.status], loaded.now.kept is not None
        self._todo += [partial(self._stop, child_id, why, keeps) for child_id in outcome.stopped]
        self._todo += [partial(self.reopen, child_id) for child_id in outcome.reopened]
        self._todo += [partial(self._start_child, loaded, child) for child in outcome.started]
        if loaded.now.status != "running":
            ended = loaded.now.outcome
            # A result of a server may be larger than the usual limit, and the parent must be able to store it as
            # well.
            served = loaded.now.room > 0
            report = partial(self._tell_parent, loaded.row, loaded.parent, ended, outcome.secrets, served)
            self._todo.append(report)
        elif self._computes and outcome.refusal is None:
            self._todo.append(partial(self._compute, loaded))
        self._settle()
        return entry

    def _compute(self, loaded: LoadedRun) -> None:
        """Execute the first pending action that needs no grant. Its own event leads to the next one."""
        # A loop of pure actions would otherwise keep the call, and its commit, from ever ending.
        if self._computed >= MOST_COMPUTED:
            return
        found = pure_action(loaded.machine, loaded.now)
        if found is not None:
            self._computed += 1
            visit, action = found
            self._answer_as_server(loaded, visit, compute(action, loaded.row.id, self.at))

    def _answer_as_server(self, loaded: LoadedRun, visit: str, result: Json) -> None:
        event = Submit(at=self.at, id=loaded.next_event_id, visit=visit, result=result, served=True)
        # The history must show who did it: the server, not the caller.
        actor, self.unit.actor = self.unit.actor, "server"
        try:
            self.apply(loaded, event, visit, shown_digest(loaded, visit))
        except RefusedError as refused:
            # Such as a text that is larger than a result may be.
            error = {"code": "output_invalid", "message": refused.message}
            failed = Submit(
                at=self.at, id=loaded.next_event_id, visit=visit, result={"error": error}, served=True
            )
            self.apply(loaded, failed, visit)
        finally:
            self.unit.actor = actor

    def cancel(self, run_id: str, reason: str) -> None:
        self._stop(run_id, reason)
        self._settle()

    def _settle(self) -> None:
        """Process the queue in order. A nested call only appends: recursion would be as deep as the chain of events."""
        if self._settling:
            return
        self._settling = True
        try:
            while self._todo:
                self._todo.popleft()()
        finally:
            self._settling = False

    def _broken_off(self, loaded: LoadedRun, visit: str | None, kept: Kept | None) -> dict[str, Json]:
        """Actions that servers were executing for a run that ends: they are stopped, and may be done in part."""
        pending = loaded.snapshot.pending if loaded.snapshot is not None else ()
        found: list[Json] = []
        for one in pending:
            claim = None if one == visit else self.unit.claim_of(loaded, one)
            if claim is not None:
                found.append(one)
                if kept is not None and one in kept.pending:
                    kept.pending[one].interrupted_at = claim.at
        return {"broken_off": found} if found else {}

    # -- time ------------------------------------------------------------------

    def catch_up(self, asked: LoadedRun) -> None:
        """Work through what is due in a run's family: waits that are over, deadlines that have passed."""
        self._asked = asked.row.id
        self._end_dead_claims(asked)
        # The common case, a single run, needs no query.
        for loaded in [asked] if _is_alone(asked) else self._due_in_family(asked.row):
            # Looked up again: processing an earlier one may have ended or changed this run.
            due = loaded.now.due
            if due is not None and due <= self.at:
                self.apply(loaded, Clock(at=self.at, id=loaded.next_event_id))
                self.caught_up = True

    def _end_dead_claims(self, asked: LoadedRun) -> None:
        """End the claims of servers that have died. A command is never repeated without confirmation; the work of an
        agent is pending again."""
        for claim in self.unit.claims(asked.row):
            if self.unit.owners.is_alive(claim.owner):
                continue
            row = self.queries.run_of_key(claim.run)
            if row is not None and not row.ended:
                try:
                    loaded = self.unit.load(row)
                except DefinitionError:
                    continue
                # With `returned`, releasing the claim is enough: the visit is pending again.
                if claim.visit in loaded.now.pending and not claim.returned:
                    self.interrupt(loaded, claim)
                    self.caught_up = True
            # Also if the run has ended: a claim of a dead server has no other end.
            self.unit.release(claim)

    def interrupt(self, loaded: LoadedRun, claim: ClaimRow) -> None:
        """Report that the server which claimed a visit has ended, and its execution with it."""
        event = Interrupted(at=self.at, id=loaded.next_event_id, visit=claim.visit, since=claim.at)
        self.apply(loaded, event, claim.visit)

    def _due_in_family(self, row: RunRow) -> Iterator[LoadedRun]:
        for key in self.queries.due(row.root, self.at):
            found = self.queries.run_of_key(key)
            try:
                if found is not None:
                    yield self.unit.load(found)
            except DefinitionError:
                # Calls on that run report why it can't continue. The others can.
                continue

    def only_catch_up(self) -> Work:
        """The same work with nothing in it but what time alone has changed."""
        unit = self.unit
        # A new unit of work: the changes of the refused call must not be committed along with those of time.
        empty = UnitOfWork(unit.queries, unit.registry, unit.cache, unit.owners, unit.at, None)
        fresh = Work(empty, self.limits, self.served, self.ahead, self._computes)
        row = self.queries.run(self._asked)
        if row is not None:
            fresh.catch_up(fresh.unit.load(row))
        return fresh

    # -- families --------------------------------------------------------------

    def _start_child(self, parent: LoadedRun, child: Child) -> None:
        # An earlier child of the same event may have failed the step, which then no longer needs this one.
        if parent.now.place_of(child.id) is None:
            return
        try:
            module = parent.module if child.workflow is None else self.unit.registry.find(child.workflow)
            beginning = begin_child(module, child, parent.row.depth, self.limits)
        except (StepError, WfcError) as error:
            self._end_child(parent, child.visit, child.index, start_error(error, child, parent.now.mask))
            return
        row = RunRow(
            id=child.id,
            workflow=module.workflow.name,
            digest=module.digest,
            visit=child.visit,
            position=child.index,
            task=child.task,
            agent=child.agent,
        )
        loaded = self.unit.create(row, module, parent)
        start = Start(
            at=self.at,
            id=loaded.next_event_id,
            inputs=beginning.inputs,
            scope=beginning.scope,
            # A child may print a secret of its parent, which it got as part of another text.
            secrets=(*parent.now.secrets, *beginning.secrets),
        )
        self.apply(loaded, start)

    def reopen(self, run_id: str) -> None:
        """Continue a run that has ended, and the children that it then waits for."""
        loaded = self.unit.find(run_id)
        check_child(run_id, loaded.now)
        retry = self.retries.get(run_id) or self.whole_retry(loaded)
        for claim in self.unit.claims(loaded.row):
            # Its server has stopped, or is stopping, what it was executing when the run ended.
            if claim.run == loaded.row.key:
                self.unit.release(claim)
        event = Reopen(
            at=self.at,
            id=loaded.next_event_id,
            visit=retry.visit,
            reopen=retry.reopen,
            renews=retry.renews,
        )
        self.apply(loaded, event, retry.visit or None)

    def whole_retry(self, loaded: LoadedRun, visit: str = "") -> Retrying:
        """Start over a visit of a run, or all of its failed ones, with all failed children."""

        def child(run: str) -> Snapshot | None:
            row = self.queries.run(run)
            return None if row is None else self.unit.load(row).now

        return whole(loaded.now, visit, child)

    def _stop(self, run_id: str, reason: str, keeps: bool = False) -> None:
        """Cancel a run. The parent of a child is notified only if it still waits for it."""
        loaded = self.unit.known(run_id)
        if loaded is None:
            row = self.queries.run(run_id)
            if row is None or row.ended:
                return
            try:
                loaded = self.unit.load(row)
            except DefinitionError:
                self._stop_without_module(row, reason)
                return
        # It may have ended earlier in this call.
        if loaded.now.status == "running":
            event = Cancel(at=self.at, id=loaded.next_event_id, reason=reason, keeps=keeps)
            self.apply(loaded, event)

    def _stop_without_module(self, row: RunRow, reason: str) -> None:
        error, children = self.unit.close_without_module(row, reason or NO_REASON)
        self._todo += [partial(self._stop, child, STOPPED["cancelled"]) for child in children]
        self._todo.append(partial(self._tell_parent, row, None, {"error": error}))

    def _tell_parent(
        self,
        row: RunRow,
        parent: LoadedRun | None,
        result: dict[str, Json],
        secrets: tuple[str, ...] = (),
        served: bool = False,
    ) -> None:
        if row.visit is None or row.position is None:
            return
        if parent is None:
            assert row.parent is not None
            found = self.queries.run_of_key(row.parent)
            # A parent that was closed without its module can't process events.
            if found is None or found.id in self.unit.closed:
                return
            if found.ended and self.unit.known(found.id) is None:
                return
            parent = self.unit.load(found)
        # The parent may have stopped waiting for it, such as after a deadline.
        place = parent.now.place_of(row.id)
        if place is not None:
            self._end_child(parent, *place, result, secrets, served)

    def _end_child(
        self,
        parent: LoadedRun,
        visit: str,
        index: int,
        result: dict[str, Json],
        secrets: tuple[str, ...] = (),
        served: bool = False,
    ) -> None:
        event = ChildEnded(
            at=self.at,
            id=parent.next_event_id,
            visit=visit,
            index=index,
            result=result,
            secrets=secrets,
            served=served,
        )
        self.apply(parent, event, visit)


def _is_alone(loaded: LoadedRun) -> bool:
    """Whether only the run itself can be due, because it has no parent and no children."""
    return loaded.row.parent is None and not any(one.children for one in loaded.now.pending.values())


# Answers to pending visits: accepted once, without effect when repeated, otherwise refused with the
# next call.


def submit(
    work: Work,
    run: str,
    step_id: str,
    result: Json,
    owner: str | None = None,
    more: Mapping[str, Json] = _NOTHING,
    by_agent: bool = False,
    shown: str | None = None,
    usage: Mapping[str, Json] = _NOTHING,
) -> Reply | WfcError:
    """A reply; or a refusal that has changed something, to be raised once that is committed.

    `owner` is the process that executed the action under a claim, either itself or, with `by_agent`, through an agent.
    `more` is kept with the event. `shown` is the digest of the question that was shown to the person who answers.
    `usage` is what the action cost, as far as it was reported.
    """
    loaded = work.unit.find(run)
    before = loaded.now.pending
    try:
        # A pending visit has not been answered: only other visits have to be looked up.
        if step_id not in loaded.now.pending:
            answered = work.queries.answer(loaded.row.key, step_id)
            if answered is not None:
                return repeat_reply(loaded, answered, result, looked_at(work, loaded))
        # Otherwise the answer itself ends the wait, and catching up first would make it a late one.
        if not ends_by_asking(loaded.now.pending.get(step_id), work.at):
            work.catch_up(loaded)
        check_shown(loaded, step_id, shown)
        # Only a pending visit can be claimed; for any other the machine gives the reason for the refusal.
        claim = _checked_claim(work, loaded, step_id, owner) if step_id in loaded.now.pending else None
        served = owner is not None and not by_agent
        cost = usage_of(loaded.machine, loaded.now, step_id, result, usage)
        accounts = accounts_for(work, loaded, step_id) if cost else {}
        given = prepared_result(work.queries, loaded, step_id, result, work.at, work.limits)
        event_id = loaded.next_event_id
        if given is not result:
            # The history has the report; the digest recognises the answer if it is sent again.
            more = {**more, "answer": answer_digest(event_id, result)}
        event = Submit(
            at=work.at,
            id=event_id,
            visit=step_id,
            result=given,
            served=served,
            worktree=more.get("agent", {}).get("worktree"),
        )
        # Looked up now: after the event, the visit is no longer pending.
        state = before[step_id].state if step_id in before else ""
        entry = work.apply(loaded, event, step_id, {**shown_digest(loaded, step_id), **more})
        refusal = work.refusal
        if refusal is None:
            loaded.snapshot = with_reported_blockers(subject_of(loaded, work.at), state, given, entry.seq)
        if refusal is not None:
            # It is not answered yet, but its cost has been incurred.
            cost.pop("steps", None)
        elif claim is not None:
            # After a refusal the server still has the action: it decides what to do next.
            work.unit.release(claim)
        spend(work, loaded, accounts, cost)
    except RefusedError as refused:
        # An agent that was waiting may submit when the clock has already ended the wait.
        if refused.code == "not_pending" and is_over_wait(loaded, step_id):
            return reply_to(work, loaded)
        raise with_next_call(run, loaded.now, refused, looked_at(work, loaded)) from None
    if refusal is not None:
        # Returned, not raised: the refused attempt is counted, and that has to be committed first.
        return with_next_call(run, loaded.now, refusal, looked_at(work, loaded))
    return with_new(reply_to(work, loaded), before)


def _checked_claim(work: Work, loaded: LoadedRun, step_id: str, owner: str | None) -> ClaimRow | None:
    """The claim of the server that submits the result. Raises `RefusedError` if it is another one's."""
    claim = work.unit.claim_of(loaded, step_id)
    if claim is None:
        if owner is not None:
            raise not_claimed_error(step_id)
        # An agent answers a step that no server has claimed. The commit fails if one claims it at the same moment.
        work.unit.require_free(loaded, step_id)
    elif claim.owner != owner:
        raise claimed_error(step_id)
    return claim


def reply_to(work: Work, loaded: LoadedRun) -> Reply:
    key = loaded.row.key
    # Actions that the server is about to claim are shown as running at once, so that no agent begins them.
    claimed = dict.fromkeys(work.served(loaded), work.at) if loaded.now.status == "running" else {}
    claimed |= {one.visit: one.at + work.ahead for one in work.unit.claims(loaded.row) if one.run == key}
    if loaded.now.status == "running" and is_gated(work, loaded):
        return held_back_reply(answers.subject_of(loaded))
    return answers.reply_to(loaded, work.at, claimed, _blockers_below(work, loaded))


def _blockers_below(work: Work, loaded: LoadedRun) -> dict[str, str]:
    """The open blockers of the runs that the run waits for."""
    waits = any(one.children for one in loaded.now.pending.values())
    return work.queries.blockers_below(loaded.row.key) if waits else {}


def looked_at(work: Work, loaded: LoadedRun) -> Reply:
    """The reply to a caller that looks, repeats a call or was refused: it also shows who works on the children."""
    reply = reply_to(work, loaded)
    if not any(one.children for one in loaded.now.pending.values()):
        return reply
    found = work.queries.last_answers(loaded.row.key)
    workers = {run: worker(actor, at) for run, actor, at in found}
    for claim in work.unit.claims(loaded.row):
        row = work.queries.run_of_key(claim.run)
        if row is not None and row.parent == loaded.row.key:
            # A claim is current, whereas the last answer may be from a worker that has exited.
            workers[row.id] = worker("server", claim.at)
    return with_workers(reply, workers.get)
