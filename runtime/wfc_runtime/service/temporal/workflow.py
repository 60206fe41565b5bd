"""The only workflow type, which hosts every machine.

A run is a workflow execution or, after many steps, a chain of them. The machine inside is pure and gets everything as
events: answers arrive as updates, which a validator checks first, so that a refused answer leaves no trace; time comes
from durable timers; children are child workflows; cancellation is Temporal's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ApplicationError, TemporalError

from wfc_runtime.contract import Json
from wfc_runtime.errors import DefinitionError, RefusedError, WfcError
from wfc_runtime.machine.budget import ROOT
from wfc_runtime.machine.values import size_of
from wfc_runtime.service.answers import displayed, reply_to, subject_of, with_new
from wfc_runtime.service.children import definition_changed, missing_steps
from wfc_runtime.service.history import update_with_key
from wfc_runtime.service.interface import Reply
from wfc_runtime.service.replies import held_back_reply, state_reply, with_progress
from wfc_runtime.service.temporal import search_attributes
from wfc_runtime.service.temporal.children import NAME, OVERDUE, ChildRuns
from wfc_runtime.service.temporal.codec import (
    AGAIN,
    continues_with_parent,
    error_of,
    read_cancel_reason,
    to_failure,
)
from wfc_runtime.service.temporal.host import MOST_BYTES, Accepted, Host
from wfc_runtime.service.temporal.messages import (
    Answer,
    BudgetChange,
    CallResult,
    Ended,
    Entry,
    Lease,
    Move,
    Note,
    RetriedChild,
    Seed,
    SharedAccounts,
    Spending,
    StateUpdates,
)
from wfc_runtime.service.temporal.modules import worker_context

MOST_REPLY = 1_800_000
"""Size limit of a reply to an update: above 2 MB the run would be stuck. Queries may return more."""
_SHORTEST = 0.001


# Not sandboxed: the machine does nothing that the sandbox would prevent, and the sandbox costs time in every run.
@workflow.defn(name=NAME, sandboxed=False)
class RunWorkflow:
    @workflow.init
    def __init__(self, seed: Seed) -> None:
        info = workflow.info()
        home = worker_context(info.task_queue)
        self._modules, self._keyring = home.modules, home.keyring
        self._simulated_at = seed.at or 0.0
        self._simulated = seed.simulated
        self._tells = seed.tells
        self._wants_renewal = False
        self._stopped_by_parent = False
        self._telling = False
        self._tried: tuple[str, Host, Accepted] | None = None
        self._published: tuple[str, list[str]] | None = None
        self._missing: DefinitionError | None = None
        self._was_cancelled = self._awaits_cancel = False
        """Whether the run was cancelled elsewhere. The execution can end as cancelled only when it is cancelled too."""
        self._in_memo: dict[str, Any] = {OVERDUE: None} if seed.lists_overdue else {}
        try:
            module = self._modules.of_digest(seed.digest, seed.workflow)
        except DefinitionError as error:
            self._missing = error
            return
        at = self._now() if seed.at is None else seed.at
        self._host = Host(info.workflow_id, seed, module, at)
        self._children = ChildRuns(self._host, self._modules, self._now, self._publish)
        self._children.plan = (seed.retry or {}).get("plan", {})
        self._children.follow(self._host.begin(at))
        self._was_cancelled = seed.moved is not None and self._host.now.status == "cancelled"
        self._awaits_cancel = self._was_cancelled
        self._told = self._host.holds_back
        """The last notification to the children: whether they are held back."""

    # -- the run from start to end ---------------------------------------------

    @workflow.run
    async def run(self, seed: Seed) -> Json:
        if self._missing is not None:
            # This fails the task, not the run: Temporal retries, here or on a worker that has the module.
            raise self._missing
        # The SDK's event loop is deterministic: tasks are resumed in the same order in each replay.
        helpers = [
            asyncio.create_task(self._children.tend()),
            asyncio.create_task(self._keep_time()),
            asyncio.create_task(self._hold_back()),
        ]
        try:
            await workflow.wait_condition(lambda: self._host.is_over or self._may_renew())
            # Handing over takes time, and new children may be started meanwhile: repeat until all are handed over.
            while not (self._host.is_over or (self._children.is_handed_over and self._is_idle())):
                await self._children.hand_over()
                await workflow.wait_condition(lambda: self._host.is_over or self._is_idle())
        except asyncio.CancelledError:
            self._cancel()
        if not self._host.is_over:
            workflow.continue_as_new(self._host.to_seed())
        try:
            await workflow.wait_condition(lambda: self._is_idle() and not self._awaits_cancel)
        except asyncio.CancelledError:
            # The run has already ended and only waits for its children to stop, or for this.
            await workflow.wait_condition(self._is_idle)
        for helper in helpers:
            helper.cancel()
        return await self._end()

    def _is_idle(self) -> bool:
        is_told = self._told == self._host.holds_back or self._host.is_over
        return self._children.is_quiet and workflow.all_handlers_finished() and is_told and not self._telling

    def _may_renew(self) -> bool:
        """Whether to continue as new: before Temporal's limits are reached, and only while nothing is in progress."""
        info = workflow.info()
        wanted = (
            self._wants_renewal
            or info.is_continue_as_new_suggested()
            or info.get_current_history_length() >= self._host.seed.renew_after
        )
        # A run that is too heavy continues in this execution: Temporal would refuse it as the input of a new one.
        return wanted and self._is_idle() and self._host.carried <= MOST_BYTES

    def _cancel(self) -> None:
        self._awaits_cancel = False
        if not self._host.is_over:
            said, run = workflow.cancellation_reason(), self._host.row.id
            reason, actor, self._stopped_by_parent = read_cancel_reason(said, run, self._keyring)
            keeps = continues_with_parent(said, run, self._keyring)
            self._children.follow(self._host.cancel(reason, actor, self._now(), keeps))

    async def _end(self) -> Json:
        host, now, parent = self._host, self._host.now, self._host.seed.parent
        # The parent must be able to redact the secrets of the child, whose snapshot has forgotten them.
        ended = Ended(host.row.id, now.outcome, list(host.secrets))
        if self._tells and parent is not None:
            await self._tell(parent, ended)
        if now.status == "completed" or (host.seed.note is not None and now.status == "cancelled"):
            return now.result if parent is None else ended
        # A cancelled execution can't return a reason; a waiting parent needs one, so it gets a failure instead.
        if now.status == "cancelled" and (
            parent is None or self._tells or self._stopped_by_parent or self._was_cancelled
        ):
            raise asyncio.CancelledError
        error = now.error or {}
        message, code = str(error.get("message")), str(error.get("code"))
        raise ApplicationError(message, ended, type=code, non_retryable=True)

    async def _tell(self, parent: str, ended: Ended) -> None:
        try:
            await workflow.get_external_workflow_handle(parent).signal("child_ended", ended)
        except ApplicationError as error:
            workflow.logger.info("%s could not signal its parent: %s", ended.child, error)

    # -- budgets ---------------------------------------------------------------

    async def _hold_back(self) -> None:
        """Tell the children when a used-up budget holds them back, and when it no longer does."""
        while True:
            await workflow.wait_condition(lambda: self._told != self._host.holds_back)
            self._told, self._telling = self._host.holds_back, True
            try:
                for child in self._host.at_work:
                    await self._signal(child, "hold", self._told)
            finally:
                self._telling = False

    async def _signal(self, run: str, name: str, argument: Any) -> None:
        try:
            await workflow.get_external_workflow_handle(run).signal(name, argument)
        except TemporalError as error:
            # It has ended.
            workflow.logger.info("%s could not be told %s: %s", run, name, error)

    @workflow.signal
    def spent(self, spending: Spending) -> None:
        self._children.follow(self._host.spend(spending, self._now()))

    @workflow.signal
    def hold(self, held: bool) -> None:
        self._host.held = held

    @workflow.update
    async def set_budget(self, change: BudgetChange) -> None:
        await workflow.wait_condition(lambda: self._children.is_quiet)
        host = self._host
        self._children.follow(host.set_budget(change, self._at(change.at)))
        shared = SharedAccounts(host.row.id, {ROOT: host.accounts_of("", self._now())[ROOT]})
        for child in host.at_work:
            await self._signal(child, "share_accounts", shared)

    @set_budget.validator
    def check_set_budget(self, change: BudgetChange) -> None:
        if self._host.seed.parent is not None:
            run = self._host.row.id
            refused = RefusedError(
                "child_run", f"run {run} is a child run", "Set the budget of its root run."
            )
            raise to_failure(refused)

    @workflow.signal
    async def share_accounts(self, shared: SharedAccounts) -> None:
        self._host.join_accounts(shared)
        for child in self._host.at_work:
            await self._signal(child, "share_accounts", shared)

    @workflow.update
    async def record(self, entry: Entry) -> None:
        outcomes, spending = self._host.record(entry, self._at(entry.at))
        for outcome in outcomes:
            self._children.follow(outcome)
        if spending is not None and self._host.seed.root is not None:
            await self._signal(self._host.seed.root, "spent", spending)

    @record.validator
    def check_record(self, entry: Entry) -> None:
        if self._host.is_over:
            raise to_failure(RefusedError("finished", f"the run is {self._host.now.status}"))

    # -- leases ----------------------------------------------------------------

    @workflow.update
    async def lease(self, asked: Lease) -> bool:
        """Whether it was granted: another one may have been accepted since the validator looked."""
        at = self._at(asked.at)
        try:
            self._host.lease(asked, at)
        except RefusedError:
            return False
        return True

    @lease.validator
    def check_lease(self, asked: Lease) -> None:
        try:
            self._host.trial().lease(asked, self._moment(asked.at))
        except RefusedError as refused:
            raise to_failure(refused) from None

    def _reply(self, at: float) -> Reply:
        if self._host.held and not self._host.is_over:
            return held_back_reply(subject_of(self._host))
        return reply_to(self._host, at, self._host.leased(at))

    # -- time ------------------------------------------------------------------

    def _now(self) -> float:
        return self._simulated_at if self._simulated else workflow.time()

    def _moment(self, given: float | None) -> float:
        """The time of a call. With a simulated clock, callers supply it."""
        return self._now() if given is None or not self._simulated else max(self._simulated_at, given)

    def _at(self, given: float | None) -> float:
        """The time of an accepted call."""
        self._simulated_at = self._moment(given)
        return self._simulated_at

    async def _keep_time(self) -> None:
        """Keep one timer, for the earliest due time. A later one does not replace it: that would cost two events."""
        host = self._host
        while True:
            await workflow.wait_condition(lambda: host.now.due is not None)
            due = host.now.due
            assert due is not None
            # The due time may have passed while the worker was down.
            left = max(due - self._now(), _SHORTEST)
            try:
                await workflow.wait_condition(_earlier(host, due), timeout=left)
            except TimeoutError:
                self._at(due)
                self._children.follow(host.clock(self._now()))

    # -- search attributes -------------------------------------------------------

    def _publish(self) -> None:
        shown = (self._host.now.status, self._host.pending_names)
        # Each upsert is an event in the history, which counts towards Temporal's limits.
        if shown != self._published:
            self._published = shown
            workflow.upsert_search_attributes(search_attributes.since(*shown))
        listed = self._listed()
        if listed != self._in_memo:
            self._in_memo = listed
            workflow.upsert_memo(listed)

    def _listed(self) -> dict[str, Any]:
        """The data of the run for lists, apart from its search attributes."""
        host, seed = self._host, self._host.seed
        # Histories of before lack these events, and a replay must not add them.
        listed: dict[str, Any] = {OVERDUE: host.overdue_at} if seed.lists_overdue else {}
        return {**listed, **host.listed_details} if seed.lists_details else listed

    # -- updates and signals -----------------------------------------------------

    @workflow.update
    async def submit(self, answer: Answer) -> CallResult:
        at, before = self._at(answer.at), self._host.now.pending
        accepted = self._accept(answer, at)
        for outcome in accepted.outcomes:
            self._children.follow(outcome)
        if accepted.spending is not None and self._host.seed.root is not None:
            await self._signal(self._host.seed.root, "spent", accepted.spending)
        if accepted.refusal is not None:
            return CallResult(error=error_of(accepted.refusal))
        reply = with_new(self._reply(at), before)
        if not self._children.is_quiet:
            # The reply is computed before the wait, but returned only when all children that it names exist.
            await workflow.wait_condition(lambda: self._children.is_quiet)
        # The client then asks with a query, whose answer is not stored in the history.
        return self._said(reply) if size_of(reply) <= MOST_REPLY else self._said({})

    @submit.validator
    def check_submit(self, answer: Answer) -> None:
        try:
            # Nothing may change here: validators do not run in a replay.
            trial = self._host.trial()
            accepted = trial.submit(answer, self._moment(answer.at))
        except RefusedError as refused:
            raise to_failure(refused) from None
        self._tried = (_update_id(), trial, accepted)
        if accepted.reply is not None:
            # A rejected update writes no history, so repeating an answer costs nothing.
            raise ApplicationError("the same answer was accepted before", type=AGAIN)

    def _accept(self, answer: Answer, at: float) -> Accepted:
        """Reuse the validator's result if nothing has changed since: the machine is pure."""
        tried, self._tried = self._tried, None
        if tried is not None and tried[0] == _update_id() and self._host.adopt(tried[1]):
            return tried[2]
        return self._host.submit(answer, at)

    @workflow.update
    async def note(self, note: Note) -> int:
        return self._host.note(note, self._at(note.at))

    @note.validator
    def check_note(self, note: Note) -> None:
        try:
            self._host.check_note(note)
        except RefusedError as refused:
            raise to_failure(refused) from None

    @workflow.update
    async def update_state(self, asked: StateUpdates) -> dict[str, Any]:
        outcomes, written = self._host.update_state(asked, self._at(asked.at))
        for outcome in outcomes:
            self._children.follow(outcome)
        return written

    @update_state.validator
    def check_update_state(self, asked: StateUpdates) -> None:
        if update_with_key(self._host.entries, asked.key) is not None:
            return
        try:
            self._host.trial().update_state(asked, self._moment(asked.at))
        except WfcError as refused:
            raise to_failure(refused) from None

    @workflow.update
    async def wake(self, at: float | None) -> None:
        """Process what is due now."""
        self._children.follow(self._host.clock(self._at(at)))
        await workflow.wait_condition(lambda: self._children.is_quiet)

    @workflow.update
    async def move(self, to: Move) -> None:
        module = self._modules.of_digest(to.digest, self._host.row.workflow)
        self._host.move(module, to.actor, self._at(to.at))
        # Continue as new: the next execution does not need the old module for its replay.
        self._wants_renewal = True

    @move.validator
    def check_move(self, to: Move) -> None:
        host = self._host
        try:
            module = self._modules.of_digest(to.digest, host.row.workflow)
            gone = missing_steps(module, host.row, host.now, host.module)
            if gone:
                raise definition_changed(host.row, gone)
        except WfcError as error:
            raise to_failure(error) from None

    @workflow.update
    async def retry_child(self, asked: RetriedChild) -> None:
        self._children.plan = asked.plan
        self._children.follow(self._host.retry_child(asked.child, asked.actor, self._at(asked.at)))
        await workflow.wait_condition(lambda: self._children.is_quiet)

    @retry_child.validator
    def check_retry_child(self, asked: RetriedChild) -> None:
        if self._host.now.place_of(asked.child) is not None:
            raise ApplicationError("the child was retried before", type=AGAIN)
        try:
            self._host.trial().retry_child(asked.child, asked.actor, self._moment(asked.at))
        except RefusedError as refused:
            raise to_failure(refused) from None

    @workflow.signal
    def child_ended(self, ended: Ended) -> None:
        self._children.hear(ended.child, ended.result, ended.secrets)

    @workflow.signal
    def tell_parent(self) -> None:
        self._tells = True

    # -- queries -------------------------------------------------------------------

    @workflow.query
    def look(self, at: float, progress: bool = False, masked: bool = False) -> CallResult:
        reply = self._reply(at)
        if progress:
            reply = with_progress(reply, self._host.row, self._host.now)
        return self._said(displayed(self._host, reply) if masked else reply)

    @workflow.query
    def judge(self, answer: Answer) -> CallResult:
        """The reply to a submit that can't be accepted: for ended runs and for repeated answers."""
        try:
            accepted = self._host.trial().submit(answer, self._moment(answer.at))
        except RefusedError as refused:
            return CallResult(error=error_of(refused))
        return self._said(accepted.reply or {})

    @workflow.query
    def state(self, fields: Sequence[str] | None = None) -> CallResult:
        try:
            return CallResult(reply=state_reply(self._host.row, self._host.now, fields))
        except WfcError as error:
            return CallResult(error=error_of(error))

    @workflow.query
    def history(self, after: int, limit: int) -> dict[str, Any]:
        host = self._host
        return {
            "workflow": host.row.workflow,
            "events": host.shown_entries(after, limit),
            "first": host.first,
            "version": host.row.version,
            "previous": self._previous,
        }

    @property
    def _previous(self) -> str | None:
        """The execution with the events before those of this one."""
        seed = self._host.seed
        return seed.previous or (workflow.info().continued_run_id if seed.moved is None else None)

    @workflow.query
    def entries(self, after: int, limit: int) -> dict[str, Any]:
        """The events of this execution as they are stored."""
        return {"entries": self._host.stored_entries(after, limit), "previous": self._previous}

    @workflow.query
    def was_retried(self, visit: str) -> dict[str, Any]:
        return {"was": self._host.was_retried(visit), "previous": self._previous}

    @workflow.query
    def whole(self) -> dict[str, Any]:
        host = self._host
        return {"seed": host.to_seed(), "children": host.at_work}

    @workflow.query
    def waits_for(self, child: str) -> bool:
        return self._host.now.place_of(child) is not None or not self._children.is_quiet

    def _said(self, reply: Reply) -> CallResult:
        host = self._host
        by_agents = [one for one in host.answers.values() if one.actor != "server"]
        last = max(by_agents, key=lambda answer: answer.seq, default=None)
        return CallResult(
            answered_by=last.actor if last else None,
            answered_at=last.at if last else None,
            reply=reply,
            parent=host.seed.parent if host.is_over else None,
            unsettled=sorted(self._children.unsettled),
            is_quiet=self._children.is_quiet,
            due=host.now.due,
            version=host.row.version,
        )


def _update_id() -> str:
    found = workflow.current_update_info()
    assert found is not None
    return found.id


def _earlier(host: Host, due: float) -> Callable[[], bool]:
    def is_earlier() -> bool:
        found = host.now.due
        return found is not None and found < due

    return is_earlier
