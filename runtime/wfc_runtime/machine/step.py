"""`step`: a snapshot and an event in, the next snapshot and what to do about it out. Pure and deterministic."""

from __future__ import annotations

import json
from functools import lru_cache
from threading import Lock
from typing import Any

from statemachine.exceptions import TransitionNotAllowed
from statemachine.orderedset import OrderedSet

from wfc_runtime.errors import Refused, SnapshotError
from wfc_runtime.machine.chart import Machine
from wfc_runtime.machine.events import Cancel, ChildEnded, Clock, Event, Outcome, Start, Submit
from wfc_runtime.machine.legality import Legality
from wfc_runtime.machine.limits import Limits
from wfc_runtime.machine.plain import size_of
from wfc_runtime.machine.run import Run
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.spawn import Spawn

AnyMachine = type[Machine[Any, Any]]
ENDINGS = ("completed", "failed", "cancelled")
_DEFAULTS = Limits()


def step(machine: AnyMachine, snapshot: Snapshot | None, event: Event, limits: Limits = _DEFAULTS) -> Outcome:
    """Work one event through a machine.

    The snapshot given is left as it is. Raises `Refused` for an event that does not fit what the machine waits for,
    and `SnapshotError` for a snapshot that is not one of this machine.
    """
    return _driver(machine).work(snapshot.copy() if snapshot else None, event, limits)


@lru_cache(maxsize=256)
def _driver(machine: AnyMachine) -> Driver:
    return Driver(machine)


class Driver:
    """One instance of a machine, reused: building one costs far more than setting its configuration."""

    def __init__(self, machine: AnyMachine) -> None:
        self._run = Run()
        self._chart = machine(self._run)
        self._legality = Legality(machine)
        self._lock = Lock()

    def work(self, snapshot: Snapshot | None, event: Event, limits: Limits) -> Outcome:
        with self._lock:
            try:
                if snapshot is None:
                    self._start(event, limits)
                else:
                    self._go_on(snapshot, event, limits)
            except TransitionNotAllowed as error:
                raise SnapshotError("snapshot_illegal", f"the machine has no way on: {error}") from None
            return self._outcome()

    def _start(self, event: Event, limits: Limits) -> None:
        if not isinstance(event, Start):
            raise Refused("not_started", "the run has not been started")
        initial = json.loads(json.dumps(dict(self._chart.initial)))
        snapshot = Snapshot(inputs=event.inputs, scope=event.scope, state=initial, size=size_of(initial))
        self._load(None, snapshot, event, limits)
        self._chart.activate_initial_state()

    def _go_on(self, snapshot: Snapshot, event: Event, limits: Limits) -> None:
        if isinstance(event, Start):
            raise Refused("started", "the run has been started already")
        if snapshot.status in ENDINGS:
            raise Refused("finished", f"the run is {snapshot.status}", "Nothing is pending: start a new run.")
        self._legality.check(snapshot)
        self._load(OrderedSet(snapshot.configuration), snapshot, event, limits)
        match event:
            case Submit():
                self._check_pending(event.visit)
                pending = snapshot.pending[event.visit]
                self._chart.steps[pending.state].answer(self._run, event.visit, event.result)
            case ChildEnded():
                self._child_ended(event)
            case Clock():
                self._clock(event.at)
            case Cancel():
                snapshot.error = {"code": "cancelled", "message": event.reason or "no reason given"}
                self._chart.raise_("cancel")

    def _load(self, configuration: Any, snapshot: Snapshot, event: Event, limits: Limits) -> None:
        self._run.load(self._chart, snapshot, event, limits)
        self._chart._engine.clear()
        self._chart._engine.running = True
        self._chart.current_state_value = configuration

    def _check_pending(self, visit: str) -> None:
        pending = self._run.snapshot.pending
        if visit not in pending:
            names = ", ".join(f"`{name}`" for name in pending)
            raise Refused("not_pending", f"`{visit}` is not pending", f"Pending: {names}.")

    def _child_ended(self, event: ChildEnded) -> None:
        self._check_pending(event.visit)
        pending = self._run.snapshot.pending
        self._spawn(event.visit).ended(self._run, event.visit, event.index, event.result)
        # The room that it leaves may be what another visit's queue waits for.
        for visit in [visit for visit, one in pending.items() if None in one.children]:
            if visit in pending:
                self._spawn(visit).start_more(self._run, visit)

    def _spawn(self, visit: str) -> Spawn:
        effect = self._chart.steps[self._run.snapshot.pending[visit].state]
        if not isinstance(effect, Spawn):
            raise Refused("not_pending", f"`{visit}` has no children")
        return effect

    def _clock(self, now: float) -> None:
        pending = self._run.snapshot.pending
        due = sorted((one.due, visit) for visit, one in pending.items() if one.due is not None and one.due <= now)
        for _, visit in due:
            if visit in pending:
                self._chart.steps[pending[visit].state].due(self._run, visit)

    def _outcome(self) -> Outcome:
        snapshot, outcome = self._run.snapshot, self._run.outcome
        snapshot.configuration = [str(value) for value in self._chart.configuration_values]
        snapshot.status = next((name for name in snapshot.configuration if name in ENDINGS), "running")
        if snapshot.status != "running":
            if snapshot.status == "completed":
                snapshot.error = None
                snapshot.result = snapshot.result if self._run.returned else snapshot.state
            else:
                snapshot.result = None
            # Results of earlier items, which the parent has too.
            snapshot.scope = {name: value for name, value in snapshot.scope.items() if name != "previous"}
        return outcome
