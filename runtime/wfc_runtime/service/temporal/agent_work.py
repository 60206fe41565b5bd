"""`wfc worker --agent`: an agent's command line does actions of all runs of a task queue, each under a lease.

The worker looks for actions, leases one, renews the lease while the agent works, and submits the result under it. A
worker that ends gives its leases back; the leases of one that was killed run out, and its agents end with it. An
agent is stopped before its lease can run out, so that no other worker begins the same step beside it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from wfc_runtime.agents.base import Outcome
from wfc_runtime.agents.settings import Agents
from wfc_runtime.contract import Json
from wfc_runtime.errors import RefusedError, StoreError, WfcError
from wfc_runtime.machine.budget import ROOT, is_used_up, least_left, own_accounts
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.service.agent_calls import AgentCalls, collect_wishes, own_wishes
from wfc_runtime.service.children import is_briefed
from wfc_runtime.service.history import cost_of, last_call, session_in
from wfc_runtime.service.interface import LEASE_SECONDS
from wfc_runtime.service.leases import check_leasable
from wfc_runtime.service.temporal.engine import TemporalService
from wfc_runtime.service.temporal.messages import Seed
from wfc_runtime.service.workers import PASSING, Job, RunnableAction, View, Workers, runnable_action

_log = logging.getLogger(__name__)
_ALL = 0
"""The workers lead families of runs. Here all runs of the task queue are one."""
_LOOK_EVERY = 1.0
_RENEWALS = 4
"""How often a lease is renewed within its time."""
_STOP_AT = 0.7
"""The part of a lease after which the agent is stopped if no renewal succeeded: it has some seconds to end."""
_PAUSE = 60.0
"""Seconds without calls after an agent was not available, unless it said when it is."""
_LONGEST_PAUSE = 3600.0
_CLOSING = 20.0
"""Longer than the grace of an agent that is asked to end."""


@dataclass
class _Held:
    """A lease of this worker."""

    runnable: RunnableAction
    renewed: float
    """When the last successful renewal was requested, by the clock of this process."""
    stop: Event = field(default_factory=Event)
    """Stops the agent; replaced by that of the job once it begins."""
    is_over: Event = field(default_factory=Event)


@dataclass
class _Found:
    """The runnable work of a run at one moment."""

    runnables: list[RunnableAction] = field(default_factory=list)
    related: list[str] = field(default_factory=list)
    """Runs to examine too: its children, or the parent of one that has ended."""
    is_settled: bool = True
    """Whether the list of runs shows when there is more to do. It does not show the end of a lease."""


class AgentWorker:
    def __init__(
        self,
        service: TemporalService,
        agents: Agents,
        *,
        folder: Path,
        state_folder: Path,
        parallel: int,
        seconds: float = LEASE_SECONDS,
        budget: Mapping[str, float] | None = None,
    ) -> None:
        """`folder`: where agents work. `state_folder`: for logs and worktrees. `seconds`: of a lease. `budget`: what
        each run may spend, unless it has less."""
        self._service = service
        self._seconds = seconds
        self._budget = dict(budget or {})
        self._state_folder = state_folder
        self._parallel = parallel
        self._lock = Lock()
        self._held: dict[tuple[str, str], _Held] = {}
        self._idle: dict[str, tuple[str, ...]] = {}
        """Runs in which no agent can do anything, with what was pending then."""
        self._recent: dict[str, None] = {}
        """Runs that this worker has just moved: the list of runs lags behind."""
        self._roots: dict[str, str] = {}
        self._limited: set[str] = set()
        self._paused_until = 0.0
        self._closing = Event()
        self._said = ""
        self.workers = Workers(self, parallel)
        self.workers.closing_seconds = _CLOSING
        self.calls = AgentCalls(
            agents,
            service,
            self,
            folder=folder,
            state_folder=state_folder,
            command="wfc worker",
            in_progress=lambda: len(self._held),
        )

    def start(self) -> None:
        Thread(target=self._watch, name="wfc-leases", daemon=True).start()
        self.workers.lead(_ALL, 0)

    def close(self) -> None:
        """Stop the agents and give their work back."""
        self._closing.set()
        self.calls.is_closed = True
        self.workers.close()
        self._service.close()

    # -- which actions ---------------------------------------------------------

    def now(self) -> float:
        return time.time()

    def advance(self, root: int) -> None:
        """The Temporal server does that."""

    def led(self, root: int) -> None:
        """There is always more."""

    def look(self, root: int) -> View:
        with self._lock:
            view = View([one.runnable for one in self._held.values()], due=self.now() + _LOOK_EVERY)
        # With all workers busy, looking at the runs would only cost calls of the server.
        if len(view.runnables) >= self._parallel or self._is_paused():
            return view
        known = {(one.run, one.visit) for one in view.runnables}
        try:
            for runnable in self._free():
                if (runnable.run, runnable.visit) not in known:
                    view.runnables.append(runnable)
                if len(view.runnables) >= self._parallel:
                    break
            self._tell("")
        except WfcError as error:
            # The server is restarting, or no worker is there at the moment.
            self._tell(str(error))
        return view

    def _tell(self, problem: str) -> None:
        # Once per cause: the worker looks every few seconds, and an outage may last hours.
        if problem and problem != self._said:
            _log.warning("can't look for actions: %s", problem)
        self._said = problem

    def _is_paused(self) -> bool:
        outage = self.calls.outage
        if outage is not None:
            self.calls.outage = None
            self._paused_until = time.time() + _pause_after(outage)
            _log.warning("no agent is available (%s): %s", outage.kind, outage.message)
        return time.time() < self._paused_until

    def _free(self) -> Iterator[RunnableAction]:
        """Actions that an agent can do now: first those of runs that this worker has just moved, then of all runs."""
        with self._lock:
            recent, self._recent = list(self._recent), {}
        seen: set[str] = set()
        yield from self._in_runs(recent, {}, seen)
        listed = self._service.awaiting_agents()
        # A run whose pending steps have changed is examined again; one that no agent can advance is not.
        self._idle = {run: pending for run, pending in self._idle.items() if listed.get(run) == pending}
        yield from self._in_runs([run for run in listed if run not in self._idle], listed, seen)

    def _in_runs(
        self, runs: list[str], listed: Mapping[str, tuple[str, ...]], seen: set[str]
    ) -> Iterator[RunnableAction]:
        for run in runs:
            if run in seen:
                continue
            seen.add(run)
            try:
                found = self._examine(run)
            except WfcError:
                # Calls on that run report why it can't continue.
                continue
            runs += found.related
            yield from found.runnables
            if run in listed and found.is_settled and not found.runnables:
                self._idle[run] = listed[run]

    def _examine(self, run: str) -> _Found:
        seed, children = self._service.whole(run)
        _, machine, now = self._service.definition_of(seed)
        if now.status != "running":
            # The end of a child may have made an action of its parent pending, which the list does not show
            # yet.
            return _Found(related=[] if seed.parent is None else [seed.parent])
        if seed.held or is_used_up(now):
            # Nothing starts until a person has extended the budget.
            return _Found(is_settled=False)
        at, scope, is_brief = time.time(), seed.task or seed.workflow, is_briefed(seed.agent)
        leased = {visit for visit, lease in seed.leases.items() if lease["until"] > at}
        found = _Found(related=children, is_settled=not leased)
        for visit in now.pending:
            with suppress(RefusedError):
                check_leasable(machine, now, visit)
                runnable = runnable_action(run, visit, machine, now, scope=scope, is_brief=is_brief)
                if visit not in leased and not self.calls.refusal(runnable.action):
                    found.runnables.append(runnable)
        return found

    # -- leases ----------------------------------------------------------------

    def claim(self, runnable: RunnableAction) -> bool:
        began = time.monotonic()
        try:
            self._limit(runnable.run)
            if not self._service.lease(runnable.run, runnable.visit, self._seconds):
                return False
        except WfcError as error:
            self._tell(str(error))
            return False
        # Counted from before the call, so the lease never lasts longer here than on the server.
        held = _Held(runnable, began)
        with self._lock:
            self._held[(runnable.run, runnable.visit)] = held
        Thread(target=self._renew, args=[held], name="wfc-renewal", daemon=True).start()
        return True

    def _limit(self, run: str) -> None:
        """Set the budget of the run's family before its first action here. A budget that another worker has set, and
        that a person may have extended since, stays as it is."""
        root = self._root_of(run)
        if not self._budget or root in self._limited:
            return
        seed, _ = self._service.whole(root)
        given = Snapshot.from_json(seed.snapshot or "").budget.get(ROOT, {}).get("given", {})
        lower = {kind: most for kind, most in self._budget.items() if given.get(kind, inf) > most}
        if lower:
            self._service.set_budget(root, lower, actor="wfc worker --budget")
        self._limited.add(root)

    def _renew(self, held: _Held) -> None:
        one = held.runnable
        while not held.is_over.wait(self._seconds / _RENEWALS):
            began = time.monotonic()
            try:
                if self._service.renew(one.run, one.visit, self._seconds):
                    held.renewed = began
                    continue
            except WfcError as error:
                _log.warning("the lease of %s can't be renewed: %s", one.visit, error)
                continue
            # The run was cancelled, or somebody else has the step.
            held.stop.set()

    def _watch(self) -> None:
        """Stop agents whose leases are about to run out, because the server does not answer."""
        while not self._closing.wait(min(1.0, self._seconds / 10)):
            with self._lock:
                held = list(self._held.values())
            for one in held:
                if time.monotonic() - one.renewed > self._seconds * _STOP_AT:
                    one.stop.set()

    def perform(self, job: Job) -> Json:
        with self._lock:
            held = self._held[(job.runnable.run, job.runnable.visit)]
            # The lease may have been lost between the claim and this moment, when there was no job to stop
            # yet.
            lost, held.stop = held.stop.is_set(), job.stop
        if lost:
            job.stop.set()
        return self.calls.perform(job)

    def finish(self, runnable: RunnableAction, result: Json) -> bool:
        try:
            is_over = self.calls.finish(runnable, result)
        except Exception as error:
            if not (isinstance(error, StoreError) and error.code in PASSING and not self._closing.is_set()):
                # The lease runs out, and somebody else does the step.
                self._drop(runnable)
            raise
        if is_over:
            self._drop(runnable)
        return is_over

    def _drop(self, runnable: RunnableAction) -> None:
        with self._lock:
            held = self._held.pop((runnable.run, runnable.visit))
            self._recent[runnable.run] = None
        held.is_over.set()

    # -- what calls read and note ----------------------------------------------

    def _levels(self, run: str, visit: str) -> Iterator[tuple[str, Seed, str]]:
        """The run and its ancestors, each with the visit that the action is part of."""
        while True:
            seed, _ = self._service.whole(run)
            yield run, seed, visit
            if seed.parent is None:
                return
            run, visit = seed.parent, seed.visit or ""

    def _root_of(self, run: str) -> str:
        if run not in self._roots:
            *_, (root, _, _) = self._levels(run, "")
            self._roots[run] = root
        return self._roots[run]

    def wishes(self, runnable: RunnableAction) -> dict[str, Json]:
        found, position = own_wishes(runnable), None
        for run, seed, visit in self._levels(runnable.run, runnable.visit):
            _, machine, now = self._service.definition_of(seed)
            collect_wishes(found, run, machine, now, visit, position)
            position = seed.position
        return found

    def left(self, runnable: RunnableAction) -> dict[str, float]:
        levels = list(self._levels(runnable.run, runnable.visit))
        _, seed, visit = levels[0]
        root, top, _ = levels[-1]
        _, machine, now = self._service.definition_of(seed)
        at = time.time()
        own = own_accounts(
            machine,
            now,
            visit,
            run=ROOT if runnable.run == root else runnable.run,
            label=seed.workflow if seed.task is None else None,
            created=seed.created,
            at=at,
        )
        budget = Snapshot.from_json(top.snapshot or "").budget
        accounts = {key: budget.get(key, account) for key, account in {**own, **seed.accounts}.items()}
        return least_left(accounts, at)

    def find_session(self, owner: str, label: str, program: str) -> tuple[str, float] | None:
        found = session_in(self._service.events_of(owner), label, program)
        return None if found is None else (found, self._cost_of(owner, found))

    def find_call(self, runnable: RunnableAction) -> tuple[Mapping[str, Any], float] | None:
        found = last_call(self._service.events_of(runnable.run), runnable.visit)
        if found is None:
            return None
        return found, self._cost_of(runnable.run, str(found["agent"].get("session")))

    def _cost_of(self, run: str, session: str) -> float:
        events = self._service.family_events(self._root_of(run))
        return cost_of(events, session).get("usd", 0.0)

    def note_session(self, owner: str, data: dict[str, Json]) -> None:
        self._service.record(owner, "session", data)

    def log_folder(self, runnable: RunnableAction) -> Path:
        root = self._root_of(runnable.run)
        folder = self._state_folder / "agents" / root
        return folder if root == runnable.run else folder / runnable.run


def _pause_after(outage: Outcome) -> float:
    left = 0.0 if outage.resets_at is None else outage.resets_at - time.time()
    # A wrong reset time of a program must neither cause a busy loop nor stop the worker for days.
    return min(max(left, _PAUSE), _LONGEST_PAUSE)
