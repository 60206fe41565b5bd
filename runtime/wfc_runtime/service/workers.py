"""The threads of a process that does the actions of runs itself: which actions there are, and who does them."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from threading import Condition, Event, Thread
from typing import Protocol

from wfc_runtime.contract import Json
from wfc_runtime.errors import StoreError, WfcError, without_words
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.effects import Ask
from wfc_runtime.machine.redaction import NO_MASK, Mask
from wfc_runtime.machine.snapshot import Pending, Snapshot

# Actions that a family of runs waits for and that this process may do.


@dataclass(frozen=True)
class RunnableAction:
    """A pending visit that the server may execute."""

    run: str
    visit: str
    action: dict[str, Json]
    owner: str | None = None
    """The server that is executing it."""
    scope: str = ""
    """The name of the task or workflow that the step belongs to."""
    mask: Mask = NO_MASK
    """Redacts the secrets of its run for display."""
    is_secret: bool = False
    """Whether its result is a secret."""
    is_brief: bool = False
    """Whether it is a whole task, given to a named agent as one brief."""


def shown(effect: Ask, pending: Pending) -> dict[str, Json]:
    """An action in the form that executors take."""
    action = effect.action(pending)
    return {"type": action.type, "parameters": action.parameters, "result_schema": action.result_schema}


def runnable_action(
    run: str,
    visit: str,
    machine: AnyMachine,
    now: Snapshot,
    *,
    scope: str,
    is_brief: bool,
    owner: str | None = None,
) -> RunnableAction:
    """A pending visit of an `Ask`, with what its execution needs."""
    pending = now.pending[visit]
    effect = machine.steps[pending.state]
    assert isinstance(effect, Ask)
    is_secret = effect.writes in machine.secrets
    return RunnableAction(run, visit, shown(effect, pending), owner, scope, now.mask, is_secret, is_brief)


@dataclass
class View:
    """A family of runs at one moment."""

    runnables: list[RunnableAction] = field(default_factory=list)
    needs_agent: bool = False
    due: float | None = None
    """When the first failed step of the server is due for a retry."""
    deadline: float | None = None
    """The first deadline of a call that has not ended."""


# The threads: one leads each family of runs, and one executes each action. They keep no durable state. A visit is
# claimed in the store before its action starts and answered in the store when it is done. If the process is killed at
# any moment, a later call on the run finds the claim of a dead server.

_log = logging.getLogger(__name__)
_LOOK_EVERY = 1.0
"""Another process may have cancelled the run, or be executing a part of it."""
_LONGEST_WAIT = 3600.0
PASSING = ("store_busy", "store_full", "temporal_unreachable", "temporal_slow", "no_worker")
"""Errors after which a result is kept and sent again: the work has been paid."""
_CLOSING = 5.0


class WorkSource(Protocol):
    """Where actions come from and results go to."""

    def advance(self, root: int) -> None: ...

    def look(self, root: int) -> View: ...

    def claim(self, runnable: RunnableAction) -> bool: ...

    def perform(self, job: Job) -> Json:
        """Do a claimed action, and return its result."""

    def finish(self, runnable: RunnableAction, result: Json) -> bool:
        """Store the result. Returns False if it was refused; the action must be repeated under the same claim."""

    def now(self) -> float: ...

    def led(self, root: int) -> None:
        """A family has been processed as far as possible."""


class WorkObserver(Protocol):
    """Observes actions, such as the display of `wfc run`."""

    def began(self, runnable: RunnableAction) -> None: ...

    def ended(self, runnable: RunnableAction, result: Json) -> None: ...


@dataclass
class Job:
    """An action in progress in this process."""

    runnable: RunnableAction
    root: int
    since: float
    stop: Event = field(default_factory=Event)


@dataclass
class Lead:
    """A family of runs that is being processed."""

    asked: int = 0
    """The number of calls that have asked for it."""
    seen: int = -1
    """The number of those calls whose changes the leader has seen."""
    needs_agent: bool = False
    over: bool = False


class Workers:
    def __init__(self, source: WorkSource, parallel: int) -> None:
        """`parallel`: the number of actions at the same time, over all runs."""
        self._source = source
        self._parallel = parallel
        self._changed = Condition()
        self._ticks = 0
        self._jobs: dict[tuple[str, str], Job] = {}
        self._leads: dict[int, Lead] = {}
        self.closed = False
        self.closing_seconds = _CLOSING
        """How long the actions in progress have to stop."""
        self.keeps_failures = False
        """Whether an error of wfc itself is kept in `failure` for the caller, instead of failing the step."""
        self.failure: Exception | None = None
        self.watch: WorkObserver | None = None

    def lead(self, root: int, seconds: float) -> Lead:
        """Process a family until the agent is needed, nothing is left to do, or the time is up."""
        end = time.monotonic() + seconds
        with self._changed:
            lead = self._leads.get(root)
            if lead is None:
                lead = self._leads[root] = Lead()
                # Daemon threads: a process that is shutting down must not wait for them. Claims in the store
                # show what was left.
                Thread(target=self._work, args=(root, lead), name=f"wfc-lead-{root}", daemon=True).start()
            lead.asked += 1
            mine = lead.asked
            self._tick()
            # `seen` tells whether the leader has looked since this call asked; only then is `needs_agent`
            # about its changes.
            while not (lead.over or self.closed or (lead.seen >= mine and lead.needs_agent)):
                left = end - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            return lead

    def wake(self) -> None:
        """Notify the leaders of a change."""
        with self._changed:
            self._tick()

    def at_work(self) -> list[str]:
        """The actions in progress with their duration, for progress notifications."""
        now = time.monotonic()
        with self._changed:
            return [f"{job.runnable.visit}: {now - job.since:.0f} s" for job in self._jobs.values()]

    def close(self) -> None:
        """Stop the actions in progress; they are reported as interrupted."""
        end = time.monotonic() + self.closing_seconds
        with self._changed:
            self.closed = True
            for job in self._jobs.values():
                job.stop.set()
            self._tick()
            while (self._jobs or self._leads) and (left := end - time.monotonic()) > 0:
                self._changed.wait(left)

    def _tick(self) -> None:
        self._ticks += 1
        self._changed.notify_all()

    # -- leading ---------------------------------------------------------------

    def _work(self, root: int, lead: Lead) -> None:
        try:
            # A round that has nothing to do is repeated if a call has asked for more meanwhile.
            while self._round(root, lead) or not self._is_over(root, lead):
                pass
        except WfcError as error:
            _log.warning("a run can't be continued: %s", error)
        except Exception as error:
            _log.error("a run can't be continued: %s", without_words(error))
            self.failure = error
        finally:
            with self._changed:
                lead.over = True
                if self._leads.get(root) is lead:
                    del self._leads[root]
                self._tick()

    def _is_over(self, root: int, lead: Lead) -> bool:
        """Whether no call has asked for more in the meantime."""
        self._source.led(root)
        with self._changed:
            lead.over = self.closed or lead.asked == lead.seen
            if lead.over:
                del self._leads[root]
            return lead.over

    def _round(self, root: int, lead: Lead) -> bool:
        """Start the actions that can be started, and wait for a change. Returns False if there is nothing left to
        do."""
        with self._changed:
            # Read before looking: a change during the look must lead to another one.
            asked, ticks = lead.asked, self._ticks
        self._source.advance(root)
        view = self._source.look(root)
        self._stop_unwanted(root, view)
        waiting = self._begin(root, view)
        with self._changed:
            lead.seen, lead.needs_agent = asked, view.needs_agent
            self._changed.notify_all()
            mine = any(job.root == root for job in self._jobs.values())
            # A pause that ends much later is left to the ticker.
            wait = None if view.due is None else view.due - self._source.now()
            soon = wait is not None and wait < _LONGEST_WAIT
            if self.closed:
                return False
            # An action that ended after the look may have made others runnable.
            stale = lead.asked != asked or ticks != self._ticks
            if not (mine or waiting or soon or stale):
                return False
            if ticks == self._ticks:
                late = None if view.deadline is None else view.deadline - self._source.now()
                soonest = min(one for one in (wait, late, _LOOK_EVERY) if one is not None)
                # Not zero, so that a clock that lags behind does not lead to a busy loop.
                self._changed.wait(max(soonest, 0.01))
        return True

    def _stop_unwanted(self, root: int, view: View) -> None:
        """Stop actions whose result is no longer needed: the run was cancelled, or another part of it failed."""
        wanted = {(one.run, one.visit) for one in view.runnables}
        with self._changed:
            for key, job in self._jobs.items():
                if job.root == root and key not in wanted:
                    job.stop.set()

    def _begin(self, root: int, view: View) -> bool:
        """Start free actions; returns whether some are left that others execute, or that exceed the parallel limit."""
        left = False
        for runnable in view.runnables:
            key = (runnable.run, runnable.visit)
            with self._changed:
                # It is being executed by this process already.
                if key in self._jobs:
                    continue
                if runnable.owner is not None or len(self._jobs) >= self._parallel or self.closed:
                    left = True
                    continue
                # Registered before it is claimed, so that a second round does not claim it too.
                job = self._jobs[key] = Job(runnable, root, time.monotonic())
            try:
                claimed = self._source.claim(runnable)
            except BaseException:
                self._forget(job)
                raise
            if not claimed:
                self._forget(job)
                left = True
                continue
            Thread(target=self._do, args=(job,), name=f"wfc-{runnable.visit}", daemon=True).start()
        return left

    # -- doing -----------------------------------------------------------------

    def _do(self, job: Job) -> None:
        try:
            while not self._bring_back(job, self._perform(job)):
                pass
        except Exception as error:
            # The claim stays, and is found when this process has ended.
            _log.error("%s can't be completed: %s", job.runnable.visit, without_words(error))
            self.failure = error
        finally:
            self._forget(job)

    def _perform(self, job: Job) -> Json:
        if self.watch is not None:
            self.watch.began(job.runnable)
        try:
            result = self._source.perform(job)
        except Exception as error:
            if self.keeps_failures:
                raise
            # An error in an executor fails the step and must not end the thread, which would leave the claim
            # behind.
            _log.error("%s failed: %s", job.runnable.visit, without_words(error))
            message = f"internal error of wfc: {type(error).__name__}"
            result = {"error": {"code": "execution", "message": message}}
        if self.watch is not None:
            self.watch.ended(job.runnable, result)
        return result

    def _bring_back(self, job: Job, result: Json) -> bool:
        """Store a result. Returns False if it was refused and the action must be repeated."""
        while True:
            try:
                return self._source.finish(job.runnable, result)
            except StoreError as error:
                if error.code not in PASSING or self.closed:
                    raise
                _log.warning("the result of %s can't be stored yet: %s", job.runnable.visit, error)
                time.sleep(_LOOK_EVERY)

    def _forget(self, job: Job) -> None:
        with self._changed:
            self._jobs.pop((job.runnable.run, job.runnable.visit), None)
            self._tick()
