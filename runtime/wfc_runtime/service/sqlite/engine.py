"""The service on SQLite. Every call works in memory, commits all of its changes, and only then replies.

Calls do not lock runs: a commit fails if another call has changed one of them, and the call starts over (`_work`).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from wfc_runtime.agents.logs import erase_logs
from wfc_runtime.contract import ENDED, Json
from wfc_runtime.errors import DefinitionError, RefusedError, RequestError, StoreError, WfcError
from wfc_runtime.machine.budget import checked_usage, is_used_up, usage_in
from wfc_runtime.machine.events import BudgetSet, FieldsUpdated, Outcome
from wfc_runtime.machine.inputs import check_inputs
from wfc_runtime.machine.updating import read_updates
from wfc_runtime.machine.values import Limits, to_text
from wfc_runtime.registry import Module, Registry
from wfc_runtime.service.answers import displayed
from wfc_runtime.service.children import definition_changed, missing_steps
from wfc_runtime.service.clock import SteadyClock, later
from wfc_runtime.service.history import RECENT, update_with_key, written_by
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
from wfc_runtime.service.interface import LEASE_SECONDS, Archive, Reply, Service
from wfc_runtime.service.journal_entries import Draft
from wfc_runtime.service.leases import busy_error, check_leasable, lowered_account
from wfc_runtime.service.replies import (
    Subject,
    cancelled_reply,
    listed_run,
    with_progress,
)
from wfc_runtime.service.server_liveness import LiveServers
from wfc_runtime.service.sqlite.accounts import accounts_for, levels_of, root_of, spend, spent_by
from wfc_runtime.service.sqlite.archive import export_run, import_run
from wfc_runtime.service.sqlite.journals import Journals
from wfc_runtime.service.sqlite.retry import retry
from wfc_runtime.service.sqlite.unit_of_work import (
    LoadedRun,
    SnapshotCache,
    UnitOfWork,
    module_row,
    pinned_module,
)
from wfc_runtime.service.sqlite.views import SqliteViews
from wfc_runtime.service.sqlite.work import Work, looked_at, nothing_served, reply_to, submit
from wfc_runtime.store import Changes, ConflictError, HistoryRow, Queries, RunRow, Store
from wfc_runtime.trust import Trust

# Moving a run, and the child runs of its workflow, to the current version.


def migrate_run(
    registry: Registry, queries: Queries, cache: SnapshotCache, row: RunRow, at: float, actor: str | None
) -> Changes:
    """The changes that migrate a run. Raises `RefusedError` with the steps that prevent it."""
    # It is cancelled already: a repeated call gets the same reply and changes nothing.
    if row.ended:
        raise RefusedError("finished", f"run {row.id} is {row.status}: there is nothing to migrate")
    current = registry.find(row.workflow)
    changes = Changes(modules={current.digest: module_row(current, at)})
    gone: Counter[str] = Counter()
    for one in _family(queries, row):
        if one.digest != current.digest:
            found, snapshot = cache.load(queries, one)
            # Collected over the whole family, so that the refusal names every step that prevents the migration.
            gone.update(missing_steps(current, found, snapshot, _was(registry, queries, cache, one)))
            found.snapshot = snapshot.to_json(with_state=False)
            _move(changes, current, found, at, actor)
    if gone:
        raise definition_changed(row, gone)
    return changes


def _family(queries: Queries, row: RunRow) -> list[RunRow]:
    """A run and the runs of its tasks, which belong to the same module."""
    found = [row]
    # The list grows while it is read. Children of other workflows have versions of their own.
    for one in found:
        children = queries.children(one.key)
        found += [child for child in children if not child.ended and child.workflow == row.workflow]
    return found


def _was(registry: Registry, queries: Queries, cache: SnapshotCache, row: RunRow) -> Module | None:
    """The version that a run is pinned to, if it can still be loaded."""
    try:
        return pinned_module(registry, queries, cache, row)
    except WfcError:
        return None


def _move(changes: Changes, current: Module, row: RunRow, at: float, actor: str | None) -> None:
    data = to_text({"from": row.digest, "to": current.digest, "version": current.workflow.version})
    # The version that was read: the commit fails if the run has moved in the meantime.
    changes.updated[row.key] = (row, row.version)
    row.version += 1
    row.digest, row.turned = current.digest, True
    row.updated = at
    changes.history.append((row, HistoryRow(row.version, at, "migrated", data, None, actor)))


# The service.

Job = Callable[[Work], Reply | WfcError]
_log = logging.getLogger(__name__)
_TRIES = 8
"""How often a call loses against concurrent ones before it takes the write lock first."""


class SqliteService(SqliteViews, Service, Archive):
    """One file and one folder of modules. Threads can share it, and other processes can open the same file."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        limits: Limits | None = None,
        clock: Callable[[], float] | None = None,
        make_id: Callable[[], str] = new_id,
    ) -> None:
        super().__init__()
        self.store = store
        self.registry = registry
        self.limits = limits or Limits()
        # A clock that is passed in is used as it is: tests control time with it.
        self._clock = SteadyClock() if clock is None else clock
        self.ahead = 0.0
        """How far the time of these runs is ahead of the clock, because of skipped waits. The history still records
        the real time, and other runs use the clock."""
        self.computes = False
        """Whether actions of the server that have no effect outside the run are executed in the call that leads to
        them. A server that executes actions anyway has threads for that, and tests answer them."""
        self._make_id = make_id
        self._cache = SnapshotCache()
        self._journals = Journals()
        self.owners = LiveServers(store.path)
        self.watch: Callable[[RunRow, Outcome], None] | None = None
        """Called with each event that a run has processed: for tests that measure coverage."""
        self._kept: dict[str, str] = {}
        """Modules known to be in the store: their text by digest."""
        # A store may be ahead of the system clock, for example if that was set back between two servers.
        if isinstance(self._clock, SteadyClock):
            self._clock.follow(self._newest())

    @classmethod
    def open(
        cls, state: Path, generated: Path, limits: Limits | None = None, trust: Trust | None = None
    ) -> SqliteService:
        return cls(Store(state), Registry(generated, trust), limits)

    def close(self) -> None:
        self.store.close()
        self.owners.close()

    # -- calls that move a run -------------------------------------------------

    def start(
        self, workflow: str, inputs: Json = None, *, actor: str | None = None, key: str | None = None
    ) -> Reply:
        return self.start_module(self.registry.find(check_name(workflow)), inputs, actor=actor, key=key)

    def start_module(
        self, module: Module, inputs: Json = None, *, actor: str | None = None, key: str | None = None
    ) -> Reply:
        # Before the run exists: invalid inputs must leave no trace in the store.
        values = check_inputs(module.workflow.machine, {} if inputs is None else inputs, self.limits)
        name = module.workflow.name

        def job(work: Work) -> Reply:
            id = self._make_id() if key is None else id_of_key(key)
            # The id is derived from the key, so a repeated start finds the run of the first one, even in another
            # process.
            started = None if key is None else work.queries.run(id)
            if started is not None:
                check_same_workflow(started.workflow, name)
                return reply_to(work, work.unit.load(started))
            return reply_to(
                work, work.start(RunRow(id=id, workflow=name, digest=module.digest), module, values)
            )

        return self._work(job, actor)

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
        run, step_id = check_run_id(run), check_step_id(step_id)
        spent = checked_usage(usage)
        more = {"usage": spent} if spent else {}
        job = partial(submit, run=run, step_id=step_id, result=result, shown=shown, usage=spent, more=more)
        # A submit usually follows another call on the same run, so its snapshot is in the cache and current.
        return self._work(job, actor, trusts=True)

    def next_step(self, run: str) -> Reply:
        return self._look(run, looked_at)

    def status(self, run: str, *, masked: bool = False) -> Reply:
        def view(work: Work, loaded: LoadedRun) -> Reply:
            reply = with_progress(looked_at(work, loaded), loaded.row, loaded.now)
            return displayed(loaded, reply) if masked else reply

        return self._look(run, view)

    def cancel(self, run: str, reason: str = "", *, actor: str | None = None) -> Reply:
        run = check_run_id(run)
        said = check_reason(reason)

        def job(work: Work) -> Reply:
            row = work.queries.require(run)
            # A cancelled run may be cancelled again: a repeated call gets the same reply.
            if row.status in ("completed", "failed"):
                raise RefusedError("finished", f"the run is already {row.status}: there is nothing to cancel")
            if row.ended:
                return reply_to(work, work.unit.load(row))
            work.cancel(run, said)
            # Built from the row: a run that was cancelled without its module can't be loaded.
            return cancelled_reply(Subject(run, row.agent, row.parent is not None), said)

        return self._work(job, actor)

    def set_budget(self, run: str, limits: Mapping[str, float], *, actor: str | None = None) -> Reply:
        run = check_run_id(run)

        def job(work: Work) -> Reply:
            loaded = work.unit.find(run)
            if loaded.row.parent is not None:
                raise RefusedError(
                    "child_run", f"run {run} is a child run", "Set the budget of its root run."
                )
            account = lowered_account(
                loaded.machine, loaded.now, loaded.row, limits, spent_by(work.queries, loaded.row)
            )
            event = BudgetSet(at=work.at, id=loaded.next_event_id, account=dict(account))
            work.apply(loaded, event)
            return reply_to(work, loaded)

        return self._work(job, actor)

    def update_state(
        self, run: str, updates: Json, *, actor: str | None = None, key: str | None = None
    ) -> Reply:
        run = check_run_id(run)

        def job(work: Work) -> Reply:
            loaded = work.unit.find(run)
            recent = work.queries.history(loaded.row.key, loaded.row.version - RECENT, RECENT)
            entry = update_with_key(recent, key)
            if entry is None:
                work.catch_up(loaded)
                for visit in loaded.now.pending:
                    if work.unit.claim_of(loaded, visit) is not None:
                        raise busy_error(visit)
                    work.unit.require_free(loaded, visit)
                changes = read_updates(loaded.machine, updates, self.limits)
                event = FieldsUpdated(at=work.at, id=loaded.next_event_id, changes=changes)
                entry = work.apply(loaded, event, more={} if key is None else {"key": key})
            return {"written": written_by(entry), **reply_to(work, loaded)}

        return self._work(job, actor)

    # -- leases ----------------------------------------------------------------
    # A claim lasts as long as its process, which holds a lock: neither time nor renewal matters.

    def lease(self, run: str, step_id: str, seconds: float = LEASE_SECONDS, *, returned: bool = True) -> bool:
        """`returned`: the visit becomes pending again if this process dies. Otherwise it is interrupted."""
        # A claim creates a file next to the store, which must not be another store by now.
        self.store.check_files()
        owner = self.owners.me()

        def job(work: Work) -> Reply:
            loaded = work.unit.find(run)
            try:
                check_leasable(loaded.machine, loaded.now, step_id)
            except RefusedError:
                return {"leased": False}
            # The commit checks again: another server may claim it at the same moment.
            is_free = not work.unit.claim_of(loaded, step_id) and not is_used_up(root_of(work, loaded).now)
            if is_free:
                work.unit.claim(loaded, step_id, owner, returned)
            return {"leased": is_free}

        return bool(self._work(job, None)["leased"])

    def renew(self, run: str, step_id: str, seconds: float = LEASE_SECONDS) -> bool:
        def job(work: Work) -> Reply:
            loaded = work.unit.find(run)
            claim = work.unit.claim_of(loaded, step_id) if step_id in loaded.now.pending else None
            return {"leased": claim is not None and claim.owner == self.owners.me()}

        return bool(self._work(job, None)["leased"])

    def release(self, run: str, step_id: str, *, call: Mapping[str, Json] | None = None) -> None:
        record = dict(call or {})

        def job(work: Work) -> Reply:
            loaded = work.unit.find(run)
            cost = usage_in(record)
            levels = list(levels_of(work, loaded, step_id)) if cost else []
            if levels:
                # A call that was stopped still has a cost. It counts in the nearest run that is still open, or in the
                # root if even that has ended before the call.
                going_on = (level for level in levels if level[0].now.status == "running")
                one, visit = next(going_on, levels[-1])
                work.unit.note(one, "agent_call", {"step_id": visit, "agent": record})
                spend(work, one, accounts_for(work, one, visit), cost)
            claim = work.unit.claim_of(loaded, step_id)
            if claim is not None and claim.owner == self.owners.me():
                work.unit.release(claim)
            return {}

        self._work(job, "server")

    def submit_leased(
        self, run: str, step_id: str, result: Json, *, actor: str, call: Mapping[str, Json]
    ) -> Reply:
        job = partial(
            submit,
            run=check_run_id(run),
            step_id=check_step_id(step_id),
            result=result,
            owner=self.owners.me(),
            more={"agent": dict(call)} if call else {},
            by_agent=True,
            usage=usage_in(call),
        )
        return self._work(job, actor)

    def retry(self, run: str, step_id: str = "", *, actor: str | None = None) -> Reply:
        visit = check_step_id(step_id) if step_id else ""
        return self._work(partial(retry, run=check_run_id(run), step_id=visit), actor)

    def migrate(self, run: str, *, actor: str | None = None) -> Reply:
        run, at = check_run_id(run), self._clock()
        for _ in range(_TRIES):
            queries = self.store.queries
            # Read again in each attempt: the one before failed because the run had changed.
            row = queries.require(run)
            # Another server's clock may be ahead, and no event is older than the one before it.
            at = later(at, row.updated)
            if self._commit(migrate_run(self.registry, queries, self._cache, row, at, check_actor(actor))):
                return self.status(run)
        raise StoreError("store_busy", f"run {run} is being changed continually", "Try again.")

    def mark(self, run: str, reason: str, *, actor: str | None = None) -> int:
        run = check_run_id(run)
        said = check_reason(reason)

        def job(work: Work) -> Reply:
            loaded = work.unit.find(run)
            # A reason may quote a secret of the run.
            shown = loaded.now.mask.message(said)
            return {"seq": work.unit.note(loaded, "checkpoint", {"reason": shown}).seq}

        return int(self._work(job, actor)["seq"])

    def log(self, draft: Draft, *, actor: str | None = None) -> Reply:
        return self._work(
            lambda work: self._journals.log(work.unit, work.unit.find(draft.run), draft, work.at), actor
        )

    # -- time ------------------------------------------------------------------

    def tick(self, run: str | None = None) -> float | None:
        """Process what is due, in all runs or in one family. Returns the seconds until the next thing is, if any.

        Any number of processes may do this: a commit that is not the first for a run changes nothing.
        """
        if run is not None:
            self.advance(self.store.queries.require(check_run_id(run)).root)
            return None
        for root in self._families_to_move():
            try:
                self.advance(root)
            except DefinitionError as error:
                # The run waits until its module is available again or it is cancelled. The others continue.
                _log.info("a run can't continue: %s", error.message)
        due = self.store.queries.next_due()
        return None if due is None else due - self._clock()

    def _families_to_move(self) -> list[int]:
        queries = self.store.queries
        # Claims of servers that died have no due time; nothing else would end them.
        interrupted = [one.root for one in queries.all_claims() if not self.owners.is_alive(one.owner)]
        return list(dict.fromkeys([*interrupted, *queries.due_families(self._clock())]))

    def advance(self, root: int) -> None:
        """Process what is due in one family of runs."""

        def job(work: Work) -> Reply:
            row = work.queries.run_of_key(root)
            if row is not None and not row.ended:
                work.catch_up(work.unit.load(row))
            return {}

        self._work(job, None)

    # -- whole runs: export, import, deletion ----------------------------------

    def ended_before(self, moment: float, statuses: Sequence[str] = ENDED) -> Reply:
        for status in statuses:
            if status not in ENDED:
                raise RequestError(
                    "invalid_status",
                    f"`{status}` is not a terminal status",
                    f"Use one of {', '.join(ENDED)}.",
                )
        rows = self.store.queries.ended_before(tuple(dict.fromkeys(statuses)), moment)
        return {"runs": [listed_run(row) for row in rows]}

    def erase(self, run: str) -> int:
        row = self.store.queries.require(check_run_id(run))
        if row.parent is not None:
            raise RefusedError("child_run", f"run {run} is a child run", "Delete its parent instead.")
        if not row.ended:
            raise RefusedError("open_run", f"run {run} is in progress", "Cancel it first.")
        erased = self.store.erase(run)
        # After the deletion is committed: a file that can't be removed must not bring the run back.
        erase_logs(self.store.path, run)
        return erased

    def export(self, run: str, *, secrets: bool = False) -> Json:
        run = check_run_id(run)
        # Under the write lock: a family that changes while it is read would be inconsistent.
        return self.store.exclusively(
            lambda queries: (Changes(), export_run(queries, queries.require(run), secrets))
        )

    def import_(self, data: Json, *, trust_modules: bool = False) -> Reply:
        def work(queries: Queries) -> tuple[Changes, str]:
            return import_run(self.registry, queries, data, trust_modules)

        return self.status(self.store.exclusively(work))

    # -- how a call is executed ------------------------------------------------

    def _look(self, run: str, view: Callable[[Work, LoadedRun], Reply]) -> Reply:
        run = check_run_id(run)

        def job(work: Work) -> Reply:
            return view(work, work.unit.find(run))

        return self._work(job, None)

    def _work(self, job: Job, actor: str | None, trusts: bool = False) -> Reply:
        """Compute in memory, commit, and start over if another call has changed a run in the meantime.

        `trusts`: the first attempt uses the cached snapshot without asking the store. If that leads to a refusal, or to
        no change that a commit would confirm, the next attempt reads it again.
        """
        at, who = self._clock(), check_actor(actor)
        reply: Reply | WfcError
        self.store.enter()
        try:
            for _ in range(_TRIES):
                work = self._begin(self.store.queries, self._cache, at, who, trusts)
                # Only the first attempt may use the cache unchecked; after a conflict it is known to be
                # stale.
                trusts = False
                try:
                    reply = job(work)
                except WfcError as error:
                    if work.unit.trusts:
                        # The refusal may be due to the stale snapshot, so it is not reported before the store
                        # has confirmed it.
                        continue
                    work, reply = _only_time(work, error)
                self._follow(work.unit.at)
                changes = work.unit.finish()
                # Without changes there is no commit that could confirm a cached snapshot.
                if (changes or not work.unit.trusts) and self._commit(changes):
                    # Only now: a cache must never have what was not committed.
                    work.unit.remember()
                    if self.watch is not None:
                        for row, outcome in work.unit.outcomes:
                            self.watch(row, outcome)
                    break
            else:
                # Other calls were faster each time. Under the write lock there is no further conflict.
                reply = self.store.exclusively(lambda queries: self._alone(queries, job, at, who))
        finally:
            self.store.leave()
        if isinstance(reply, WfcError):
            raise reply
        return reply

    def _begin(
        self, queries: Queries, cache: SnapshotCache, at: float, who: str | None, trusts: bool = False
    ) -> Work:
        unit = UnitOfWork(queries, self.registry, cache, self.owners, at, who, trusts)
        return Work(unit, self.limits, self._served, self.ahead, self.computes)

    def _newest(self) -> float:
        try:
            return self.store.queries.newest()
        except StoreError as error:
            if error.code != "store_damaged":
                raise
            # Reading a damaged run reports the damage; the other runs can be used.
            return 0.0

    def _follow(self, moment: float) -> None:
        """Make the clock at least as late as the store. A clock that the caller supplied is not changed."""
        if isinstance(self._clock, SteadyClock):
            self._clock.follow(moment)

    def _served(self, loaded: LoadedRun) -> Iterable[str]:
        """The visits that this service is about to execute itself: none."""
        return nothing_served(loaded)

    def _alone(
        self, queries: Queries, job: Job, at: float, who: str | None
    ) -> tuple[Changes, Reply | WfcError]:
        # A separate cache: what is read inside the transaction may still be rolled back.
        work = self._begin(queries, SnapshotCache(), at, who)
        reply: Reply | WfcError
        try:
            reply = job(work)
        except WfcError as error:
            work, reply = _only_time(work, error)
        self._follow(work.unit.at)
        return work.unit.finish(), reply

    def _commit(self, changes: Changes) -> bool:
        """Commit the changes. False: a run has changed since it was read."""
        kept = self._kept
        # The text is compared, since sources that differ only in comments share a digest.
        changes.modules = {key: row for key, row in changes.modules.items() if kept.get(key) != row.text}
        try:
            if changes:
                self.store.commit(changes)
        except ConflictError:
            return False
        kept.update((key, row.text) for key, row in changes.modules.items())
        return True


def _only_time(work: Work, error: WfcError) -> tuple[Work, WfcError]:
    """Changes by time alone are kept even if the call itself is refused. Raises any other error."""
    if not isinstance(error, RefusedError) or not work.caught_up:
        raise error
    return work.only_catch_up(), error
