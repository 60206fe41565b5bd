"""`step`: a snapshot and an event in, the next snapshot and what to do about it out. Pure and deterministic."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from statemachine.orderedset import OrderedSet

from wfc_runtime.contract import Json
from wfc_runtime.machine import schema
from wfc_runtime.machine.chart import Machine
from wfc_runtime.machine.effects import Effect
from wfc_runtime.machine.events import (
    Cancel,
    Clock,
    Event,
    Joined,
    Outcome,
    Refused,
    Start,
    StepFailed,
    Submit,
)
from wfc_runtime.machine.limits import Limits
from wfc_runtime.machine.run import Run
from wfc_runtime.machine.snapshot import Pending, Snapshot

AnyMachine = type[Machine[Any, Any]]
ENDINGS = {"completed", "failed", "cancelled"}


def step(
    machine: AnyMachine, snapshot: Snapshot | None, event: Event, limits: Limits | None = None
) -> Outcome:
    """Work one event through a machine. Raises `Refused`, changing nothing, for an event that does not fit."""
    driver = _driver(machine)
    return driver.work(snapshot.copy() if snapshot else None, event, limits or Limits())


@lru_cache(maxsize=256)
def _driver(machine: AnyMachine) -> Driver:
    return Driver(machine)


class Driver:
    """One instance of a machine, reused: building one costs far more than setting its configuration."""

    def __init__(self, machine: AnyMachine) -> None:
        self.run = Run()
        self.chart = _Dormant.of(machine)(self.run)

    def work(self, snapshot: Snapshot | None, event: Event, limits: Limits) -> Outcome:
        match event:
            case Start():
                return self._start(event, limits)
            case _ if snapshot is None:
                raise Refused("not_started", "the machine has not been started")
        if snapshot.status in ENDINGS:
            raise Refused("finished", f"the run is {snapshot.status}; nothing is pending")
        self._restore(snapshot, event, limits)
        match event:
            case Submit():
                self._submit(event)
            case Clock():
                self._clock()
            case Joined():
                self._joined(event)
            case Cancel():
                snapshot.error = {"code": "cancelled", "message": event.reason or "cancelled"}
                self.chart.send("cancel")
        return self._outcome()

    def _start(self, event: Start, limits: Limits) -> Outcome:
        initial = json.loads(json.dumps(dict(self.chart.initial)))
        snapshot = Snapshot(inputs=event.inputs, scope=event.scope, state=initial)
        self._load(None, snapshot, event, limits)
        self.chart.activate_initial_state()
        return self._outcome()

    def _restore(self, snapshot: Snapshot, event: Event, limits: Limits) -> None:
        unknown = [name for name in snapshot.configuration if name not in self.chart.states_map]
        if unknown:
            raise Refused("definition_changed", f"the module has no state {', '.join(map(repr, unknown))}")
        states: Any = OrderedSet(snapshot.configuration)
        self._load(states, snapshot, event, limits)

    def _load(self, configuration: Any, snapshot: Snapshot, event: Event, limits: Limits) -> None:
        self.run.load(self.chart, snapshot, event, limits)
        self.chart._engine.clear()
        self.chart._engine.running = True
        self.chart.current_state_value = configuration

    # -- events ----------------------------------------------------------------

    def _submit(self, event: Submit) -> None:
        pending = self._pending(event.visit)
        if pending.resume_at is not None:
            if event.at < pending.resume_at:
                left = pending.resume_at - event.at
                raise Refused("too_early", f"`{event.visit}` waits for another {left:.0f} s; ask again then")
            self._resume(event.visit, pending)
            return
        if pending.kind in ("foreach", "call"):
            raise Refused("children", f"`{event.visit}` goes on by itself when its children have ended")
        error = _reported_error(event.result)
        if error is not None:
            self._fail(event.visit, pending, "agent_error", error)
        elif isinstance(event.result, dict) and event.result.get("timed_out") is True:
            self._fail(event.visit, pending, "timeout", "the agent reported that the step timed out")
        else:
            self._accept(event, pending)

    def _accept(self, event: Submit, pending: Pending) -> None:
        size = len(json.dumps(event.result, ensure_ascii=False).encode())
        if size > self.run.limits.result_bytes:
            raise Refused(
                "result_size",
                f"the result is {size:,} bytes; the limit is {self.run.limits.result_bytes:,}. "
                "Write it to a file and submit the path, or shorten it",
            )
        problems = schema.problems(event.result, pending.result_schema)
        if problems:
            pending.misfits += 1
            if pending.misfits < self.run.limits.misfits:
                raise Misfit("; ".join(problems), self.run.snapshot)
            self._fail(event.visit, pending, "result", "no result fitted: " + "; ".join(problems))
            return
        self._complete(event.visit, pending, event.result, "submit")

    def _clock(self) -> None:
        for visit, pending in list(self.run.snapshot.pending.items()):
            if visit not in self.run.snapshot.pending:
                continue
            if pending.resume_at is not None and pending.resume_at <= self.run.event.at:
                self._resume(visit, pending)
            elif pending.deadline is not None and pending.deadline <= self.run.event.at:
                self._fail(visit, pending, "timeout", "no result came before the deadline")

    def _resume(self, visit: str, pending: Pending) -> None:
        if pending.kind == "retry":
            del self.run.snapshot.pending[visit]
            self.chart.send("due", at=pending.state)
        else:
            waited = pending.parameters.get("duration_seconds")
            self._complete(visit, pending, {"resumed": True, "duration_seconds": waited}, "due")

    def _joined(self, event: Joined) -> None:
        pending = self._pending(event.visit)
        failed = [result["error"] for result in event.results if "error" in result]
        values = [result["value"] if "value" in result else result for result in event.results]
        value = values if pending.kind == "foreach" else values[0]
        if not failed:
            self._complete(event.visit, pending, value, "joined")
            return
        try:
            self.run.put(self._effect(pending), value)
        except StepFailed as error:
            self._fail(event.visit, pending, error.code, error.message)
            return
        self._fail(event.visit, pending, "child_failed", f"{len(failed)} of {len(values)} failed: {failed[0]}")

    # -- how a visit ends ------------------------------------------------------

    def _complete(self, visit: str, pending: Pending, result: Json, event: str) -> None:
        try:
            self.run.put(self._effect(pending), result)
        except StepFailed as error:
            self._fail(visit, pending, error.code, error.message)
            return
        del self.run.snapshot.pending[visit]
        self.run.snapshot.attempts.pop(pending.state, None)
        self.chart.send(event, at=pending.state)

    def _fail(self, visit: str, pending: Pending, code: str, message: str) -> None:
        self.run.snapshot.pending.pop(visit)
        self.run.fail(pending.state, code, message)

    def _effect(self, pending: Pending) -> Effect:
        return self.chart.steps[pending.state]

    def _pending(self, visit: str) -> Pending:
        pending = self.run.snapshot.pending.get(visit)
        if pending is None:
            names = ", ".join(f"`{name}`" for name in self.run.snapshot.pending) or "nothing"
            raise Refused("not_pending", f"`{visit}` is not pending; pending: {names}")
        return pending

    def _outcome(self) -> Outcome:
        snapshot = self.run.snapshot
        snapshot.configuration = [str(value) for value in self.chart.configuration_values]
        ended = [name for name in snapshot.configuration if name in ENDINGS]
        snapshot.status = ended[0] if ended else "running"
        if snapshot.status == "completed" and not self._returned():
            snapshot.result = snapshot.state
        return self.run.outcome

    def _returned(self) -> bool:
        from wfc_runtime.machine.effects import Return

        return any(isinstance(self.chart.steps.get(name), Return) for name in self.run.outcome.left)


class Misfit(Refused):
    """A result that does not fit its schema. The refusal counts, so the snapshot is to be kept."""

    def __init__(self, message: str, snapshot: Snapshot) -> None:
        super().__init__("result", message)
        self.snapshot = snapshot


class _Dormant:
    """Machines that do not run off when they are built: the driver starts or restores them."""

    @staticmethod
    def of(machine: AnyMachine) -> Any:
        def build(run: Run) -> Machine[Any, Any]:
            run.configuration_value = machine.initial_state.value if machine.initial_state else None
            return machine(run)

        return build


def _reported_error(result: Json) -> str | None:
    if isinstance(result, dict) and set(result) == {"error"}:
        error = result["error"]
        return error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    return None
