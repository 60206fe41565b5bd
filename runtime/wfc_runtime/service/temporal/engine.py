"""The service on Temporal. Runs are workflow executions; any worker of the task queue can execute them."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError

from wfc_runtime.contract import Json
from wfc_runtime.errors import DefinitionError, RefusedError, RequestError, StoreError
from wfc_runtime.machine.budget import checked_usage, usage_in
from wfc_runtime.machine.inputs import check_inputs
from wfc_runtime.machine.redaction import secrets_in
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.values import Limits, NotPlainError, check_plain
from wfc_runtime.registry import Module, Registry
from wfc_runtime.service.children import definition_changed, missing_steps
from wfc_runtime.service.history import cost_of
from wfc_runtime.service.ids import (
    check_actor,
    check_name,
    check_reason,
    check_run_id,
    check_same_workflow,
    check_step_id,
    id_of_key,
    new_id,
)
from wfc_runtime.service.interface import LEASE_SECONDS, Reply, Service
from wfc_runtime.service.journal_entries import Draft
from wfc_runtime.service.replies import listed_inputs
from wfc_runtime.service.temporal import search_attributes
from wfc_runtime.service.temporal.archive import TemporalArchive
from wfc_runtime.service.temporal.calls import Calls, Canceller
from wfc_runtime.service.temporal.children import NAME, OVERDUE, TASK_TIMEOUT, memo_of
from wfc_runtime.service.temporal.connection import LoopThread, connect, translated
from wfc_runtime.service.temporal.host import INPUTS, JOURNAL_GREW, Host
from wfc_runtime.service.temporal.listing import Recent
from wfc_runtime.service.temporal.messages import (
    RENEW_AFTER,
    Answer,
    BudgetChange,
    Entry,
    Lease,
    Move,
    Note,
    Seed,
    StateUpdates,
)
from wfc_runtime.service.temporal.modules import Modules
from wfc_runtime.service.temporal.retry import Retrier
from wfc_runtime.service.temporal.rpc import Rpc
from wfc_runtime.service.temporal.settings import TemporalSettings
from wfc_runtime.store import RunRow

# Moving runs to the current version of their workflow.


class Versions:
    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def migrate(self, run: str, modules: Modules, actor: str | None) -> None:
        root, _ = await self._calls.whole(run)
        status = Snapshot.from_json(root.snapshot or "").status
        if status != "running":
            raise RefusedError("finished", f"run {run} is {status}: there is nothing to migrate")
        current = modules.find(root.workflow)
        family = await self._family(run, root.workflow)
        # All members are checked before any of them is migrated: a family must not end up with two versions.
        gone = [step for seed in family.values() for step in _gone(current, seed, modules)]
        if gone:
            raise definition_changed(RunRow(run, root.workflow, root.digest), dict.fromkeys(gone))
        for member, seed in family.items():
            if seed.digest != current.digest:
                await self._calls.rpc.update(
                    member, "move", Move(current.digest, actor, self._calls.simulated_time()), type(None)
                )

    async def _family(self, run: str, workflow: str) -> dict[str, Seed]:
        """A run and those of its children that use the same module."""
        found: dict[str, Seed] = {}
        waiting = [run]
        while waiting:
            member = waiting.pop(0)
            seed, children = await self._calls.whole(member)
            if seed.workflow == workflow:
                found[member] = seed
                waiting += children
        return found


def _gone(current: Module, seed: Seed, modules: Modules) -> list[str]:
    if seed.digest == current.digest or seed.snapshot is None:
        return []
    row = RunRow("", seed.workflow, seed.digest, task=seed.task, agent=seed.agent)
    was = None
    with suppress(DefinitionError):
        was = modules.of_digest(seed.digest, seed.workflow)
    return missing_steps(current, row, Snapshot.from_json(seed.snapshot), was)


# The service.

T = TypeVar("T")
_PAGE = 500
_TRIES = 20
"""How often an entry is decided again because the journal has grown meanwhile."""


class TemporalService(TemporalArchive, Service):
    """One task queue and one folder of modules. Threads can share it, and any number of processes can open it."""

    def __init__(
        self,
        settings: TemporalSettings,
        modules: Modules,
        limits: Limits | None = None,
        clock: Callable[[], float] | None = None,
        make_id: Callable[[], str] = new_id,
        renew_after: int = RENEW_AFTER,
    ) -> None:
        """With a clock, runs started here use it instead of the server's time."""
        super().__init__()
        self.settings = settings
        self.modules = modules
        self.limits = limits or Limits()
        self._clock = clock
        self._make_id = make_id
        self._renew_after = renew_after
        self._owner = new_id()
        """This service in leases."""
        self._recent = Recent()
        self._loop = LoopThread()
        try:
            self.client: Client = self._loop.run(connect(settings))
        except BaseException:
            self._loop.close()
            raise
        self._calls = Calls(Rpc(self.client, settings), clock)
        self._canceller, self._versions = Canceller(self._calls), Versions(self._calls)

    @classmethod
    def open(
        cls, settings: TemporalSettings, kept: Path, generated: Path, limits: Limits | None = None
    ) -> TemporalService:
        return cls(settings, Modules(Registry(generated), kept), limits)

    def close(self) -> None:
        self._loop.close()

    @property
    def registry(self) -> Registry:
        return self.modules.registry

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run(work)

    # -- calls that move a run -------------------------------------------------

    def start(
        self, workflow: str, inputs: Json = None, *, actor: str | None = None, key: str | None = None
    ) -> Reply:
        return self.start_module(self.modules.find(check_name(workflow)), inputs, actor=actor, key=key)

    def start_module(
        self, module: Module, inputs: Json = None, *, actor: str | None = None, key: str | None = None
    ) -> Reply:
        values = check_inputs(module.workflow.machine, {} if inputs is None else inputs, self.limits)
        self.modules.keep(module)
        at = self._clock() if self._clock else None
        seed = Seed(
            workflow=module.workflow.name,
            digest=module.digest,
            inputs=values,
            at=at,
            simulated=at is not None,
            actor=check_actor(actor),
            limits=self.differing_limits,
            keeps_overdue=True,
            lists_overdue=True,
            computes=True,
            lists_details=True,
            renew_after=self._renew_after,
        )
        secrets = secrets_in(module.workflow.machine.inputs, values)
        inputs = listed_inputs(values, list(secrets))
        run = self._make_id() if key is None else id_of_key(key)
        reply = self._run(self._start(run, seed, module.workflow.version, may_exist=key is not None))
        now = at or time.time()
        self._recent.note(reply, seed.workflow, now, {"created": now, INPUTS: inputs})
        return reply

    async def _start(self, run: str, seed: Seed, version: str, *, may_exist: bool) -> Reply:
        await self._calls.rpc.check_worker()
        try:
            await self.begin(run, seed, version)
        except WorkflowAlreadyStartedError:
            if not may_exist:
                raise
            # The same key was used before: the caller gets the run that exists, if it is of the same workflow.
            started, _ = await self._calls.whole(run)
            check_same_workflow(started.workflow, seed.workflow)
        return await self._calls.look(run, workers=False)

    async def begin(self, run: str, seed: Seed, version: str) -> None:
        """Start an execution. Raises `WorkflowAlreadyStartedError` if the id was ever used."""
        memo = {**memo_of(seed), "created": seed.created or seed.at or time.time()}
        is_child = seed.visit is not None
        attributes = search_attributes.at_first(seed.workflow, version, is_child)
        if seed.snapshot is not None:
            # The execution updates what lists show only when the run moves on.
            host = Host(run, seed, self.modules.of_digest(seed.digest, seed.workflow), seed.updated)
            shown = (host.now.status, host.pending_names)
            attributes = search_attributes.of_moved(seed.workflow, version, is_child, *shown)
            memo |= {OVERDUE: host.overdue_at, **host.listed_details}
        try:
            await self.client.start_workflow(
                NAME,
                seed,
                id=run,
                task_queue=self.settings.task_queue,
                task_timeout=TASK_TIMEOUT,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                search_attributes=attributes,
                memo=memo,
            )
        except RPCError as error:
            raise translated(error, self.settings) from error

    def begin_now(self, run: str, seed: Seed, version: str) -> None:
        self._run(self.begin(run, seed, version))

    def memo_of(self, run: str) -> Mapping[str, Any]:
        """The memo of an execution, written when it was started."""

        async def read() -> Mapping[str, Any]:
            return await (await self._calls.rpc.describe(run)).memo()

        return self._run(read())

    def end_cancelled(self, run: str) -> None:
        """Let the execution of a run that was cancelled elsewhere end."""
        self._run(self._canceller.request(run))

    @property
    def is_simulated(self) -> bool:
        """Whether runs use the caller's clock."""
        return self._clock is not None

    @property
    def differing_limits(self) -> dict[str, Any]:
        usual = Limits()
        names = [one.name for one in fields(Limits) if one.name != "expressions"]
        ours = {name: getattr(self.limits, name) for name in names}
        return {name: value for name, value in ours.items() if value != getattr(usual, name)}

    def tick(self, run: str | None = None) -> float | None:
        """The timers of the Temporal server move runs. Only a simulated clock has to be passed on."""
        if run is not None and self._clock is not None:
            self._run(self._calls.wake(check_run_id(run)))
        return None

    def submit(
        self,
        run: str,
        step_id: str,
        result: Json,
        *,
        actor: str | None = None,
        shown: str | None = None,
        usage: Json = None,
    ) -> Reply:
        answer = Answer(step_id, result, actor, shown=shown, usage=checked_usage(usage))
        return self._submit(run, answer)

    def _submit(self, run: str, answer: Answer) -> Reply:
        run, answer.step_id = check_run_id(run), check_step_id(answer.step_id)
        answer.actor = check_actor(answer.actor)
        # A result that can't be stored is not sent, only the reason: the run still checks whether the step is pending.
        try:
            check_plain(answer.result, self.limits.result_bytes, self.limits.nesting)
        except NotPlainError as error:
            answer.result, answer.unfit = None, str(error)
        reply = self._run(self._calls.submit(run, answer))
        self._note(reply)
        return reply

    # -- leases ----------------------------------------------------------------

    def lease(self, run: str, step_id: str, seconds: float = LEASE_SECONDS) -> bool:
        asked = Lease(check_step_id(step_id), self._owner, seconds)
        return self._run(self._calls.lease(check_run_id(run), asked))

    def renew(self, run: str, step_id: str, seconds: float = LEASE_SECONDS) -> bool:
        asked = Lease(check_step_id(step_id), self._owner, seconds, renews=True)
        return self._run(self._calls.lease(check_run_id(run), asked))

    def release(self, run: str, step_id: str, *, call: Mapping[str, Json] | None = None) -> None:
        run, step_id = check_run_id(run), check_step_id(step_id)
        if call and (cost := usage_in(call)):
            entry = Entry("agent_call", {"agent": dict(call)}, usage=cost, actor="server")
            self._run(self._calls.charge(run, step_id, entry))
        self._run(self._calls.lease(run, Lease(step_id, self._owner, 0)))

    def submit_leased(
        self, run: str, step_id: str, result: Json, *, actor: str, call: Mapping[str, Json]
    ) -> Reply:
        answer = Answer(step_id, result, actor, usage=usage_in(call), owner=self._owner, call=dict(call))
        return self._submit(run, answer)

    def record(self, run: str, kind: str, data: dict[str, Json]) -> None:
        """Enter something into the history of a run."""
        self._run(self._calls.record(check_run_id(run), Entry(kind, data, actor="server")))

    def family_events(self, run: str) -> Iterator[Mapping[str, Any]]:
        """The events of a run and of its children."""
        family = [run]
        for one in family:
            for event in self.events_of(one):
                family.extend(event.get("children", ()))
                yield event

    def events_of(self, run: str) -> Iterator[Mapping[str, Any]]:
        after = 0
        while events := self.history(run, after=after, limit=_PAGE)["events"]:
            after = events[-1]["seq"]
            yield from events

    def set_budget(self, run: str, limits: Mapping[str, float], *, actor: str | None = None) -> Reply:
        run = check_run_id(run)
        change = BudgetChange(dict(limits), cost_of(self.family_events(run)), check_actor(actor))
        self._run(self._calls.set_budget(run, change))
        return self.status(run)

    def next_step(self, run: str) -> Reply:
        return self._run(self._calls.look(check_run_id(run)))

    def status(self, run: str, *, masked: bool = False) -> Reply:
        reply = self._run(self._calls.look(check_run_id(run), progress=True, masked=masked))
        self._note(reply)
        return reply

    def cancel(self, run: str, reason: str = "", *, actor: str | None = None) -> Reply:
        ending = self._canceller.cancel(check_run_id(run), check_reason(reason), check_actor(actor))
        reply = self._run(ending)
        self._note(reply)
        return reply

    def update_state(
        self, run: str, updates: Json, *, actor: str | None = None, key: str | None = None
    ) -> Reply:
        try:
            check_plain(updates, self.limits.result_bytes, self.limits.nesting)
        except NotPlainError as error:
            raise RequestError("invalid_updates", f"`updates` {error}") from None
        asked = StateUpdates(updates, check_actor(actor), key)
        return self._run(self._calls.update_state(check_run_id(run), asked))

    def retry(self, run: str, step_id: str = "", *, actor: str | None = None) -> Reply:
        visit = check_step_id(step_id) if step_id else ""
        reply = self._run(Retrier(self._calls).retry(check_run_id(run), visit, check_actor(actor)))
        self._note(reply)
        return reply

    def log(self, draft: Draft, *, actor: str | None = None) -> Reply:
        who = check_actor(actor)
        for _ in range(_TRIES):
            book = self.journal(draft.run)
            decided = draft.decide(book)
            if decided.data is None:
                return dict(decided.reply)
            note = Note(dict(decided.data), book.count, decided.visit, decided.opens, decided.closes, who)
            if book.subject.now.status != "running":
                number = self._run(self._note_of_ended(draft.run, note))
                if number is None:
                    continue
                return decided.reply_for(number)
            try:
                return decided.reply_for(self._run(self._calls.note(draft.run, note)))
            except RefusedError as refused:
                if refused.code != JOURNAL_GREW:
                    raise
        raise StoreError(
            "store_busy", f"the journal of run {draft.run} is being written continually", "Try again."
        )

    async def _note_of_ended(self, run: str, note: Note) -> int | None:
        """Enter something into the journal of a run that has ended. Returns the number of its event; None if the
        journal has grown meanwhile."""
        # Its execution is closed, and Temporal accepts nothing more for it: another one follows it.
        retrier = Retrier(self._calls)
        closed = await retrier.latest(run)
        is_same = closed.seed.noted == note.after and closed.snapshot.status != "running"
        return closed.seed.version + 1 if is_same and await retrier.note(closed, note) else None

    def migrate(self, run: str, *, actor: str | None = None) -> Reply:
        run = check_run_id(run)
        self._run(self._versions.migrate(run, self.modules, check_actor(actor)))
        return self.status(run)

    def _note(self, reply: Reply) -> None:
        self._recent.note(reply, None, self._clock() if self._clock else time.time())
