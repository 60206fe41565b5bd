"""One run from start to end on the pure machine: generated answers, simulated time, nothing stored.

Work is done in the order of `wfc run --answers`, so that recorded answers reproduce the run: the first pending action
first, the children of a foreach one after the other; time passes only when everything else waits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from wfc_runtime.errors import StepError, WfcError
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.effects import Ask
from wfc_runtime.machine.events import Child, ChildEnded, Clock, Event, Start, Submit
from wfc_runtime.machine.inputs import check_inputs
from wfc_runtime.machine.interpreter import Edge, structure_of
from wfc_runtime.machine.snapshot import Pending, Snapshot
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.machine.step import step
from wfc_runtime.machine.values import Limits, to_text
from wfc_runtime.registry import Module
from wfc_runtime.service.children import begin_child

_BEGIN = 1_767_225_600.0
"""The first second of 2026: the same in every trial, so that now() is too."""


@dataclass(frozen=True, slots=True)
class Question:
    """One action of a run."""

    scope: str
    """The task or workflow that the step belongs to."""
    step: str
    state: str
    kind: str
    schema: Any
    number: int
    """The number of earlier visits of the step."""
    can_recover: bool
    demands: str = ""
    """The part of the schema that was rendered for this visit."""

    @property
    def key(self) -> tuple[str, str]:
        return (self.scope, self.step)


Choose = Callable[[Question], Any]


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed step whose failure was not handled."""

    scope: str
    state: str
    code: str
    message: str


@dataclass
class Trace:
    """The record of a trial."""

    inputs: dict[str, Any]
    asked: list[tuple[Question, Any]] = field(default_factory=list)
    taken: Counter[tuple[str, Edge]] = field(default_factory=Counter)
    entered: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    status: str = "running"
    """The final status; running if the trial was stopped because it took too long."""
    events: int = 0

    @property
    def answers(self) -> dict[tuple[str, str], list[Any]]:
        found: dict[tuple[str, str], list[Any]] = {}
        for question, result in self.asked:
            found.setdefault(question.key, []).append(result)
        return found


@dataclass
class _Live:
    """A machine and its current snapshot."""

    scope: str
    module: Module
    machine: AnyMachine
    snapshot: Snapshot
    is_handled: bool
    """Whether a parent handles its failure."""
    depth: int = 1
    children: dict[tuple[str, int], _Live] = field(default_factory=dict)


class Trial:
    def __init__(
        self, modules: Mapping[str, Module], limits: Limits, choose: Choose, most_events: int = 2000
    ) -> None:
        self._modules = modules
        self._limits = limits
        self._choose = choose
        self._most_events = most_events
        self._asked: Counter[tuple[str, str]] = Counter()
        self._now = _BEGIN
        self.trace = Trace({})

    def run(self, workflow: str, inputs: dict[str, Any]) -> Trace:
        """Raises `RequestError` if the inputs are not valid."""
        module = self._modules[workflow]
        machine = module.workflow.machine
        self.trace.inputs = inputs
        started = check_inputs(machine, inputs, self._limits)
        root = self._begin(workflow, module, machine, started, {}, handled=False, depth=1)
        while root.snapshot.status == "running" and self.trace.events < self._most_events:
            waits: list[tuple[float, int, _Live]] = []
            if not self._work(root, waits):
                # Everything waits, so time passes. The number keeps the order of equal times.
                due, _, live = min(waits, key=lambda one: one[:2])
                self._now = max(self._now, due)
                self._send(live, Clock(**self._stamp()))
        self.trace.status = root.snapshot.status
        return self.trace

    # -- work ------------------------------------------------------------------

    def _work(self, live: _Live, waits: list[tuple[float, int, _Live]]) -> bool:
        """Do the first possible piece of work. Returns False if everything waits."""
        for visit, pending in list(live.snapshot.pending.items()):
            effect = live.machine.steps[pending.state]
            if isinstance(effect, Spawn):
                if self._work_children(live, visit, pending, waits):
                    return True
            elif pending.resume_at is not None:
                waits.append((pending.resume_at, len(waits), live))
            else:
                assert isinstance(effect, Ask)
                self._answer(live, visit, pending, effect)
                return True
        return False

    def _work_children(
        self, live: _Live, visit: str, pending: Pending, waits: list[tuple[float, int, _Live]]
    ) -> bool:
        for index in range(len(pending.children)):
            child = live.children.get((visit, index))
            if child is None:
                continue
            worked = child.snapshot.status == "running" and self._work(child, waits)
            if child.snapshot.status != "running":
                del live.children[visit, index]
                self._deliver(live, visit, index, child.snapshot)
                return True
            if worked:
                return True
        return False

    def _answer(self, live: _Live, visit: str, pending: Pending, effect: Ask) -> None:
        node = structure_of(live.machine).nodes[pending.state]
        key = (live.scope, node.name)
        question = Question(
            live.scope,
            node.name,
            pending.state,
            effect.kind,
            effect.schema(pending),
            self._asked[key],
            structure_of(live.machine).can_recover(pending.state),
            to_text(pending.where) if pending.where else "",
        )
        self._asked[key] += 1
        result = self._choose(question)
        self.trace.asked.append((question, result))
        self._send(live, Submit(**self._stamp(), visit=visit, result=result))

    def _deliver(self, live: _Live, visit: str, index: int, ended: Snapshot) -> None:
        # The step may have ended before its child, by a timeout or because another child was enough.
        if visit in live.snapshot.pending:
            result = {"value": ended.result} if ended.status == "completed" else {"error": ended.error}
            self._send(live, ChildEnded(**self._stamp(), visit=visit, index=index, result=result))

    # -- events ----------------------------------------------------------------

    def _begin(
        self,
        scope: str,
        module: Module,
        machine: AnyMachine,
        inputs: dict[str, Any],
        names: dict[str, Any],
        *,
        handled: bool,
        depth: int,
    ) -> _Live:
        live = _Live(scope, module, machine, Snapshot(), handled, depth)
        self._send(live, Start(**self._stamp(), inputs=inputs, scope=names), fresh=True)
        return live

    def _send(self, live: _Live, event: Event, fresh: bool = False) -> None:
        self.trace.events += 1
        outcome = step(live.machine, None if fresh else live.snapshot, event, self._limits)
        live.snapshot = outcome.snapshot
        for edge in outcome.taken:
            self.trace.taken[live.scope, edge] += 1
        for state in outcome.entered:
            self.trace.entered[live.scope, state] += 1
        if live.snapshot.status == "failed" and not live.is_handled:
            self._note(live)
        for child in outcome.started:
            self._start(live, child)

    def _start(self, live: _Live, child: Child) -> None:
        module = live.module if child.workflow is None else self._modules[child.workflow]
        handled = live.is_handled or self._is_handled(live, child.visit)
        state = live.snapshot.pending[child.visit].state if child.visit in live.snapshot.pending else ""
        try:
            beginning = begin_child(module, child, live.depth, self._limits)
        except (StepError, WfcError) as error:
            if not handled and state:
                self.trace.failures.append(Failure(live.scope, state, f"child_{error.code}", error.message))
            failed = Snapshot(status="failed", error={"code": error.code, "message": error.message})
            self._deliver(live, child.visit, child.index, failed)
            return
        scope = child.task or child.workflow or live.scope
        begun = self._begin(
            scope,
            module,
            beginning.machine,
            beginning.inputs,
            child.scope,
            handled=handled,
            depth=live.depth + 1,
        )
        live.children[child.visit, child.index] = begun

    def _is_handled(self, live: _Live, visit: str) -> bool:
        pending = live.snapshot.pending.get(visit)
        return pending is not None and structure_of(live.machine).can_recover(pending.state)

    def _note(self, live: _Live) -> None:
        if any(one.gate is not None for one in live.snapshot.failures):
            # The workflow wants it.
            return
        error = live.snapshot.error or {}
        name = str(error.get("step_id", "")).partition("@")[0]
        entered = self._state_of(live, name)
        self.trace.failures.append(
            Failure(live.scope, entered, str(error.get("code", "")), str(error.get("message", "")))
        )

    def _state_of(self, live: _Live, name: str) -> str:
        """The state of a step that was entered last: its `when` and its work have the same name."""
        nodes = structure_of(live.machine).nodes
        found = [state for state in live.snapshot.visits if nodes[state].name == name]
        return found[-1] if found else name

    def _stamp(self) -> dict[str, Any]:
        return {"at": self._now, "id": f"explored-{self.trace.events}"}


# Findings: the failures that are problems of the workflow, with one trial that shows each of them.

Signature = tuple[str, str, str, str]
"""Kind, scope, state, and which expression of it."""

_WHERE = re.compile(r"\(in `(.*)`, at (?:character|line) [\d, column]+\)$", re.S)
_KINDS = {
    "expression": "expression",
    "state_access": "expression",
    "items": "items",
    "item": "items",
    "child_item": "items",
    "child_invalid_inputs": "items",
    "result_schema": "schema",
    "moves": "endless",
    "max_iterations": "endless",
}
"""Failures that no answer of an agent is responsible for. Other failures are regular outcomes of a run."""


def signature(failure: Failure) -> Signature | None:
    kind = _KINDS.get(failure.code)
    if kind is None:
        return None
    where = _WHERE.search(failure.message)
    return (kind, failure.scope, failure.state, where[1] if where else failure.code)


def signatures(trace: Trace) -> dict[Signature, str]:
    """The problems that a trial shows, each with its message."""
    found: dict[Signature, str] = {}
    for failure in trace.failures:
        which = signature(failure)
        if which is not None:
            found.setdefault(which, failure.message)
    if trace.status == "running":
        scope, state = _busiest(trace)
        message = f"still running after {trace.events:,} events"
        found.setdefault(("endless", scope, state, "running"), message)
    return found


def _busiest(trace: Trace) -> tuple[str, str]:
    return max(trace.entered, key=lambda place: trace.entered[place])


@dataclass
class Findings:
    """The smallest trial for each problem so far, and the edges that completed runs have taken."""

    traces: dict[Signature, Trace] = field(default_factory=dict)
    messages: dict[Signature, str] = field(default_factory=dict)
    completed: set[tuple[str, str]] = field(default_factory=set)

    def add(self, trace: Trace) -> None:
        if trace.status == "completed":
            self.completed.update(trace.entered)
        for which, message in signatures(trace).items():
            known = self.traces.get(which)
            if known is None or len(trace.asked) < len(known.asked):
                self.traces[which] = trace
                self.messages[which] = message

    def problems(self) -> dict[Signature, Trace]:
        """A loop that completed runs have left is long, not endless."""
        return {
            which: trace
            for which, trace in self.traces.items()
            if which[0] != "endless" or which[3] != "max_iterations" or which[1:3] not in self.completed
        }
