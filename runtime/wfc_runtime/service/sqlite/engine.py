"""The service on SQLite. Every call works in memory, commits all that it changed, and only then replies."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from wfc_runtime.contract import Json
from wfc_runtime.errors import NotFoundError, RefusedError, WfcError
from wfc_runtime.machine.events import Start
from wfc_runtime.machine.inputs import check_inputs
from wfc_runtime.machine.limits import Limits
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.registry import Registry
from wfc_runtime.service.ids import check_actor, check_name, check_run_id, check_step_id, new_id
from wfc_runtime.service.interface import Reply
from wfc_runtime.service.reading import history_reply, listed_run, state_reply, statuses_of, with_progress
from wfc_runtime.service.replies import Subject, ended_reply
from wfc_runtime.service.sqlite.migration import migrate_run
from wfc_runtime.service.sqlite.submitting import reply_to, submit
from wfc_runtime.service.sqlite.work import Active, Work
from wfc_runtime.store import Changes, ConflictError, Queries, RunRow, Store

T = TypeVar("T")
_TRIES = 8
"""How often a call gives way to quicker ones before it takes the file for itself."""
_MOST_LISTED = 500


class SqliteService:
    """One file and one folder of modules. Threads may share it; other processes may have the same file."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.time,
        make_id: Callable[[], str] = new_id,
    ) -> None:
        self.store = store
        self.registry = registry
        self.limits = limits or Limits()
        self._clock = clock
        self._make_id = make_id
        self._kept: set[str] = set()
        """Digests of modules that are known to be in the store."""

    @classmethod
    def open(cls, state: Path, generated: Path, limits: Limits | None = None) -> SqliteService:
        return cls(Store(state), Registry(generated), limits)

    def close(self) -> None:
        self.store.close()

    # -- calls that move a run -------------------------------------------------

    def start(self, workflow: str, inputs: Json = None, *, actor: str | None = None) -> Reply:
        module = self.registry.find(check_name(workflow))
        values = check_inputs(module.workflow.machine, {} if inputs is None else inputs, self.limits)

        def work(job: Work) -> Reply:
            row = RunRow(id=self._make_id(), workflow=module.workflow.name, digest=module.digest)
            active = job.create(row, module)
            event = Start(at=job.at, id=job.event_id(active), inputs=values)
            job.apply(active, event, more={"version": module.workflow.version, "module": module.digest})
            return reply_to(active, job.at)

        return self._work(work, actor)

    def submit(self, run: str, step_id: str, result: Json, *, actor: str | None = None) -> Reply:
        run, step_id = check_run_id(run), check_step_id(step_id)

        def work(job: Work) -> Reply | WfcError:
            return submit(job, job.load(_row(job.queries, run)), step_id, result, self.limits)

        return self._work(work, actor)

    def next_step(self, run: str) -> Reply:
        return self._look(run, reply_to)

    def status(self, run: str) -> Reply:
        return self._look(run, lambda active, at: with_progress(reply_to(active, at), active.row, active.now))

    def cancel(self, run: str, reason: str = "", *, actor: str | None = None) -> Reply:
        run = check_run_id(run)
        said = "".join(char if char.isprintable() else " " for char in str(reason))[:500]

        def work(job: Work) -> Reply:
            row = _row(job.queries, run)
            if row.status in ("completed", "failed"):
                raise RefusedError("finished", f"the run is {row.status} already", "Nothing is left to cancel.")
            job.stop(run, said)
            job.settle()
            ended = job.now(run) or Snapshot.from_json(row.snapshot)
            return ended_reply(Subject(run, row.agent, row.parent is not None), ended)

        return self._work(work, actor)

    def migrate(self, run: str, *, actor: str | None = None) -> Reply:
        run, at = check_run_id(run), self._clock()

        def work(queries: Queries) -> tuple[Changes, None]:
            return migrate_run(self.registry, queries, _row(queries, run), at, check_actor(actor)), None

        self._commit(work)
        return self.status(run)

    # -- calls that only read --------------------------------------------------

    def state(self, run: str, fields: Sequence[str] | None = None) -> Reply:
        row = _row(self.store.queries, check_run_id(run))
        return state_reply(row, Snapshot.from_json(row.snapshot), fields)

    def runs(self, status: str | None = None, *, limit: int = 50, before: str | None = None) -> Reply:
        statuses = statuses_of(status)
        count = min(max(int(limit), 1), _MOST_LISTED)
        earlier = None if before is None else _row(self.store.queries, check_run_id(before)).key
        rows = self.store.queries.listed(statuses, count + 1, earlier)
        reply: Reply = {"runs": [listed_run(row) for row in rows[:count]]}
        if len(rows) > count:
            reply["next"] = f'list_runs(status="{status or "open"}", before="{rows[count - 1].id}")'
        return reply

    def history(self, run: str, *, after: int = 0, limit: int = 200) -> Reply:
        row = _row(self.store.queries, check_run_id(run))
        count = min(max(int(limit), 1), _MOST_LISTED)
        return history_reply(row, self.store.queries.history(row.key, int(after), count), int(after))

    # -- how a call is worked --------------------------------------------------

    def _look(self, run: str, view: Callable[[Active, float], Reply]) -> Reply:
        run = check_run_id(run)

        def work(job: Work) -> Reply:
            row = _row(job.queries, run)
            job.catch_up(row.root)
            return view(job.load(row), job.at)

        return self._work(work, None)

    def _work(self, work: Callable[[Work], Reply | WfcError], actor: str | None) -> Reply:
        """Work in memory and commit. What time alone has changed is kept even if the call itself is refused."""
        at, who = self._clock(), check_actor(actor)

        def attempt(queries: Queries) -> tuple[Changes, Reply | WfcError]:
            job = Work(queries, self.registry, self.limits, at, who)
            try:
                reply: Reply | WfcError = work(job)
            except RefusedError as refused:
                if not job.caught_up:
                    raise
                job, reply = self._only_catch_up(job), refused
            return job.finish(), reply

        outcome = self._commit(attempt)
        if isinstance(outcome, WfcError):
            raise outcome
        return outcome

    def _only_catch_up(self, job: Work) -> Work:
        fresh = Work(job.queries, self.registry, self.limits, job.at, None)
        fresh.catch_up(job.root)
        return fresh

    def _commit(self, work: Callable[[Queries], tuple[Changes, T]]) -> T:
        for _ in range(_TRIES):
            changes, outcome = work(self.store.queries)
            if not changes:
                return outcome
            changes.modules = {key: value for key, value in changes.modules.items() if key not in self._kept}
            try:
                self.store.commit(changes)
            except ConflictError:
                continue
            self._kept.update(changes.modules)
            return outcome
        return self.store.exclusively(work)


def _row(queries: Queries, run: str) -> RunRow:
    row = queries.run(run)
    if row is None:
        raise NotFoundError("unknown_run", f"there is no run `{run}`", "list_runs() shows the runs that are open.")
    return row
