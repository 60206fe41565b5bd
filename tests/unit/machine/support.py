"""Machines compiled from small texts, and a driver that feeds them events one by one."""

from __future__ import annotations

import sys
import types
from functools import cache
from hashlib import sha256
from itertools import count
from typing import Any

from tests.support import check, file_of
from wfc.emit.module import emit_body
from wfc.findings import Severity
from wfc_runtime.machine import Workflow
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.events import Cancel, ChildEnded, Clock, Event, Outcome, Start, Submit
from wfc_runtime.machine.inputs import check_inputs
from wfc_runtime.machine.snapshot import Pending, Snapshot
from wfc_runtime.machine.step import step
from wfc_runtime.machine.values import Limits

NOON = 1_700_000_000.0
OK = {"stdout": "fine", "stderr": "", "exit_code": 0}


@cache
def compiled(text: str, *others: str) -> Workflow:
    """A workflow as the compiler makes it, in a project with others. The text must have no errors."""
    errors = [found.message for found in check(text, *others) if found.severity is Severity.ERROR]
    assert not errors, errors
    file = file_of(text)
    assert file.module is not None
    body = emit_body(file.module)
    name = f"test_machine_{sha256(body.encode()).hexdigest()[:16]}"
    if name not in sys.modules:
        sys.modules[name] = types.ModuleType(name)
        exec(compile(body, name, "exec", dont_inherit=True), vars(sys.modules[name]))
    workflow = vars(sys.modules[name])["WORKFLOW"]
    assert isinstance(workflow, Workflow)
    return workflow


def steps(*lines: str, head: str = "") -> str:
    """A workflow of these steps, each one line of flow style YAML."""
    body = "\n".join(f"  - {line}" for line in lines)
    return f"name: w\nversion: 1.0.0\n{head}\nsteps:\n{body}\n"


class Drive:
    """One run of a machine: every event is a step, and the outcomes are kept."""

    def __init__(self, machine: AnyMachine | str, inputs: Any = None, limits: Limits | None = None) -> None:
        self.machine = compiled(machine).machine if isinstance(machine, str) else machine
        self.limits = limits or Limits()
        self.now = NOON
        self.snapshot: Snapshot | None = None
        self.outcomes: list[Outcome] = []
        self._ids = count(1)
        values = check_inputs(self.machine, inputs or {}, self.limits)
        self.feed(Start(at=self.now, id=self.id(), inputs=values))

    def id(self) -> str:
        return f"run/{next(self._ids)}"

    def feed(self, event: Event) -> Outcome:
        before = self.snapshot.to_json() if self.snapshot else ""
        outcome = step(self.machine, self.snapshot, event, self.limits)
        assert before == (self.snapshot.to_json() if self.snapshot else ""), "step changed what it was given"
        self.snapshot = Snapshot.from_json(outcome.snapshot.to_json())
        assert self.snapshot.to_json() == outcome.snapshot.to_json()
        self.outcomes.append(outcome)
        return outcome

    def submit(self, visit: str, result: Any) -> Outcome:
        return self.feed(Submit(at=self.now, id=self.id(), visit=visit, result=result))

    def child(self, visit: str, index: int, **result: Any) -> Outcome:
        return self.feed(ChildEnded(at=self.now, id=self.id(), visit=visit, index=index, result=result))

    def wait(self, seconds: float) -> Outcome:
        self.now += seconds
        return self.feed(Clock(at=self.now, id=self.id()))

    def cancel(self, reason: str = "") -> Outcome:
        return self.feed(Cancel(at=self.now, id=self.id(), reason=reason))

    @property
    def at(self) -> Snapshot:
        assert self.snapshot is not None
        return self.snapshot

    @property
    def pending(self) -> list[str]:
        return list(self.at.pending)

    def one(self, visit: str) -> Pending:
        return self.at.pending[visit]

    def action(self, visit: str) -> Any:
        pending = self.one(visit)
        return self.machine.steps[pending.state].action(pending)

    @property
    def error(self) -> dict[str, Any]:
        assert self.at.error is not None
        return self.at.error
