"""A run in memory, without a server or a store."""

from __future__ import annotations

from collections.abc import Mapping

from wfc_runtime.contract import Json
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.effects import Action
from wfc_runtime.machine.events import Cancel, Child, ChildEnded, Clock, Event, Start, Submit
from wfc_runtime.machine.inputs import check_inputs
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.step import step
from wfc_runtime.machine.values import Limits


class Simulation:
    """One run in memory, with its own clock. Nothing is stored and nothing is executed.

    `submit` answers what `pending` shows. A foreach or a call waits until `end_child` has been called for each of its
    `children`.
    """

    def __init__(self, machine: AnyMachine, inputs: Mapping[str, Json], at: float = 0.0) -> None:
        self.machine = machine
        self.now = at
        self.path: list[str] = []
        """The states entered so far, in order."""
        self.children: list[Child] = []
        """Children that have been started and not ended."""
        self._events = 0
        self._snapshot: Snapshot | None = None
        checked = check_inputs(machine, dict(inputs), Limits())
        self._apply(Start(at=at, id=self._next_id(), inputs=checked))

    @property
    def status(self) -> str:
        """`running`, `completed`, `failed` or `cancelled`."""
        return self.snapshot.status

    @property
    def state(self) -> dict[str, Json]:
        """The state fields that have been written."""
        return self.snapshot.state

    @property
    def result(self) -> Json:
        return self.snapshot.result

    @property
    def error(self) -> Json:
        return self.snapshot.error

    @property
    def pending(self) -> dict[str, Action]:
        """The actions that the run waits for, by step id."""
        # Computed on each access: the action depends on the module and the pending visit only.
        steps = self.machine.steps
        return {visit: steps[one.state].action(one) for visit, one in self.snapshot.pending.items()}

    @property
    def snapshot(self) -> Snapshot:
        assert self._snapshot is not None
        return self._snapshot

    def submit(self, step_id: str, result: Json) -> None:
        """Answer a pending action. Raises `RefusedError` if the result is invalid."""
        self._apply(Submit(at=self.now, id=self._next_id(), visit=step_id, result=result))

    def end_child(self, child: Child, value: Json = None, *, error: Json = None) -> None:
        """Report that a child has returned a value, or failed."""
        # Before the event: ending this child may start others, which `_apply` adds.
        self.children.remove(child)
        result = {"value": value} if error is None else {"error": error}
        event = ChildEnded(
            at=self.now, id=self._next_id(), visit=child.visit, index=child.index, result=result
        )
        self._apply(event)

    def pass_time(self, seconds: float) -> None:
        """Advance the clock: waits end, and deadlines pass."""
        self.now += seconds
        self._apply(Clock(at=self.now, id=self._next_id()))

    def cancel(self, reason: str = "") -> None:
        self._apply(Cancel(at=self.now, id=self._next_id(), reason=reason))

    def _apply(self, event: Event) -> None:
        outcome = step(self.machine, self._snapshot, event)
        self._snapshot = outcome.snapshot
        self.path += outcome.entered
        self.children = [one for one in self.children if one.id not in outcome.stopped] + outcome.started
        # Raised only now, since the snapshot counts refused results and has to be kept.
        if outcome.refusal is not None:
            raise outcome.refusal

    def _next_id(self) -> str:
        # Derived from a counter, so that uuid() and the ids of children are the same in every simulation.
        self._events += 1
        return f"simulation/{self._events}"
