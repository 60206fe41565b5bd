"""Drives machines to their end the way a server and its agents would, with answers made up on the way."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from tests.property.answers import answer
from wfc_runtime.errors import RefusedError, RequestError, StepError
from wfc_runtime.machine import Machine, Workflow
from wfc_runtime.machine.events import Child, ChildEnded, Clock, Event, Outcome, Start, Submit
from wfc_runtime.machine.inputs import bind_item, check_inputs
from wfc_runtime.machine.snapshot import Pending, Snapshot
from wfc_runtime.machine.step import step
from wfc_runtime.machine.values import Limits

MOST_EVENTS = 4000
LIMITS = Limits()


@dataclass
class Agent:
    """Works the runs of a few workflows, all from one random source."""

    workflows: dict[str, Workflow]
    random: Random
    events: int = 0
    now: float = 1_700_000_000.0

    def work(self, workflow: Workflow, inputs: dict[str, Any]) -> Snapshot:
        """A run from its start to its end."""
        return self._work(
            _Run(workflow, workflow.machine), check_inputs(workflow.machine, inputs, LIMITS), {}
        )

    def _work(self, run: _Run, inputs: dict[str, Any], scope: dict[str, Any]) -> Snapshot:
        children = self._send(run, Start(**self._stamp(), inputs=inputs, scope=scope)).started
        while run.snapshot.status == "running":
            assert run.snapshot.pending, "a run that goes on waits for something"
            if children and self.random.random() < 0.8:
                child = children.pop(0)
                if child.visit in run.snapshot.pending:
                    children += self._send(run, self._ended(run, child)).started
                continue
            visit = self.random.choice(list(run.snapshot.pending))
            children += self._answer(run, visit, run.snapshot.pending[visit])
        return run.replayed()

    def _answer(self, run: _Run, visit: str, pending: Pending) -> list[Child]:
        action = run.machine.steps[pending.state].action(pending)
        json.dumps(action.parameters, allow_nan=False)
        if action.type == "call" and pending.deadline is not None and self.random.random() < 0.1:
            self.now = max(self.now, pending.deadline)
            return self._send(run, Clock(**self._stamp())).started
        if action.type in ("foreach", "call"):
            self._refused(run, Submit(**self._stamp(), visit=visit, result={}))
            return []
        if pending.resume_at is not None or (pending.deadline is not None and self.random.random() < 0.03):
            self.now = max(self.now, pending.due or 0)
            return self._send(run, Clock(**self._stamp())).started
        if self.random.random() < 0.03:
            return self._submit(run, visit, {"error": "could not do it"})
        if action.result_schema and self.random.random() < 0.05:
            return self._submit(run, visit, {"nonsense": True})
        return self._submit(run, visit, answer(action.result_schema, self.random))

    def _submit(self, run: _Run, visit: str, result: Any) -> list[Child]:
        return self._send(run, Submit(**self._stamp(), visit=visit, result=result)).started

    def _ended(self, run: _Run, child: Child) -> ChildEnded:
        """The child, worked to its end."""
        workflow = self.workflows[child.workflow] if child.workflow else run.workflow
        machine = workflow.tasks[child.task] if child.task else workflow.machine
        try:
            given = bind_item(machine, child.scope.get("item")) if child.inputs is None else child.inputs
            end = self._work(_Run(workflow, machine), check_inputs(machine, given, LIMITS), child.scope)
            result = {"value": end.result} if end.status == "completed" else {"error": end.error}
        except (RequestError, StepError) as error:
            result = {"error": {"code": error.code, "message": error.message}}
        return ChildEnded(**self._stamp(), visit=child.visit, index=child.index, result=result)

    def _send(self, run: _Run, event: Event) -> Outcome:
        self.events += 1
        assert self.events < MOST_EVENTS, "it never ends"
        return run.send(event)

    def _refused(self, run: _Run, event: Event) -> None:
        with pytest.raises(RefusedError):
            run.send(event)

    def _stamp(self) -> dict[str, Any]:
        self.now += 1
        return {"at": self.now, "id": f"event-{self.now}-{self.events}"}


@dataclass
class _Run:
    """One machine, and all that has happened to it."""

    workflow: Workflow
    machine: type[Machine[Any, Any]]
    history: list[Event] = field(default_factory=list)
    snapshot: Snapshot = field(default_factory=Snapshot)

    def send(self, event: Event) -> Outcome:
        """What comes of an event, from a snapshot that was stored and read again."""
        outcome = step(self.machine, restored(self.snapshot) if self.history else None, event, LIMITS)
        self.history.append(event)
        self.snapshot = outcome.snapshot
        return outcome

    def replayed(self) -> Snapshot:
        """The end; the same events must lead there again."""
        snapshot: Snapshot | None = None
        for event in self.history:
            snapshot = step(self.machine, snapshot, event, LIMITS).snapshot
        assert snapshot is not None
        assert snapshot.to_json() == self.snapshot.to_json()
        return snapshot


def restored(snapshot: Snapshot) -> Snapshot:
    text = snapshot.to_json()
    json.loads(text, parse_constant=_no_constant)
    again = Snapshot.from_json(text)
    assert again == snapshot
    return again


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")
