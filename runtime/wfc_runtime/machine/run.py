"""The working memory of one machine while one event is worked through. Effects and guards act on it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from wfc_runtime.contract import Json
from wfc_runtime.expr import ExpressionError, evaluate_tree
from wfc_runtime.machine import schema
from wfc_runtime.machine.effects import Ask, Assign, Delay, Effect, Return, Spawn
from wfc_runtime.machine.events import Child, Event, Outcome, StepFailed
from wfc_runtime.machine.limits import Limits
from wfc_runtime.machine.snapshot import Pending, Snapshot

if TYPE_CHECKING:
    from wfc_runtime.machine.chart import Machine
    from wfc_runtime.machine.guards import Condition


class Run:
    """Loaded with a snapshot and an event, driven by the chart, read out as an `Outcome`."""

    def __init__(self) -> None:
        self.configuration_value: Any = None
        self.machine: Machine[Any, Any]
        self.limits = Limits()

    def load(self, machine: Machine[Any, Any], snapshot: Snapshot, event: Event, limits: Limits) -> None:
        self.machine = machine
        self.snapshot = snapshot
        self.event = event
        self.limits = limits
        self.outcome = Outcome(snapshot)
        self._failed: set[str] = set()
        self._conditions: dict[str, bool] = {}

    # -- what the chart reports ------------------------------------------------

    def entered(self, state: str, effect: Effect | None) -> None:
        self.outcome.entered.append(state)
        self.snapshot.visits[state] = self.snapshot.visits.get(state, 0) + 1
        self._failed.discard(state)
        self._conditions.pop(state, None)
        if effect is not None:
            self.attempt(state, effect)

    def left(self, state: str) -> None:
        self.outcome.left.append(state)
        for visit in [visit for visit, pending in self.snapshot.pending.items() if pending.state == state]:
            del self.snapshot.pending[visit]
            self.outcome.dropped.append(visit)

    def attempt(self, state: str, effect: Effect) -> None:
        try:
            effect.enter(self, state)
        except (StepFailed, ExpressionError) as error:
            self.fail(state, error.code, error.message)

    # -- guards ----------------------------------------------------------------

    def has_failed(self, state: str) -> bool:
        return state in self._failed

    def holds(self, state: str, condition: Condition) -> bool:
        if state in self._failed:
            return False
        try:
            value = self.evaluate(condition.text, condition.reads)
            if value and condition.most is not None:
                self._count_turn(state, condition.most)
        except (StepFailed, ExpressionError) as error:
            self.fail(state, error.code, error.message)
            return False
        return bool(value)

    def _count_turn(self, state: str, most: int) -> None:
        turns = self.snapshot.visits[state] - self.snapshot.loops.get(state, 0)
        if turns > most:
            raise StepFailed("max_iterations", f"max_iterations ({most}) is used up")

    # -- failures --------------------------------------------------------------

    def fail(self, state: str, code: str, message: str) -> None:
        """Try again, take the recovery edge, or end the run: in that order, as the chart offers."""
        self._failed.add(state)
        self._drop_pending(state)
        effect = self.machine.steps.get(state)
        made = self.snapshot.attempts.get(state, 0) + 1
        error = {"code": code, "message": message, "step_id": self.step_name(state)}
        if effect is not None and effect.retry is not None and made < effect.retry.max_attempts:
            self.snapshot.attempts[state] = made
            self.outcome.notes.append({"retried": made, **error})
            self.machine.raise_("retry", at=state)
            return
        self.snapshot.attempts.pop(state, None)
        if self.machine.can_recover(state):
            self.outcome.notes.append({"recovered": True, **error})
            self.machine.raise_("recover", at=state)
            return
        self.snapshot.error = error
        self.machine.raise_("fail")

    def _drop_pending(self, state: str) -> None:
        for visit in [visit for visit, pending in self.snapshot.pending.items() if pending.state == state]:
            del self.snapshot.pending[visit]
            self.outcome.dropped.append(visit)

    # -- effects ---------------------------------------------------------------

    def ask(self, state: str, ask: Ask) -> None:
        parameters = {**self.evaluate(dict(ask.parameters), ask.reads), **_timing(ask, self.event)}
        where = self.evaluate(dict(ask.where), ask.reads)
        limit = None if ask.timeout is None else self.event.at + ask.timeout + self.limits.grace_seconds
        resume_at = None if ask.wait_seconds is None else self.event.at + ask.wait_seconds
        self._add_pending(
            Pending(
                state=state,
                step=self.step_name(state),
                kind=ask.kind,
                parameters=parameters,
                instruction=ask.instruction,
                result_schema=schema.narrowed(schema.of(ask.result), where),
                deadline=limit,
                resume_at=resume_at,
            )
        )

    def assign(self, state: str, assign: Assign) -> None:
        written: dict[str, Json] = {}
        for name, expression in assign.updates.items():
            written[name] = self.evaluate(expression, assign.reads, written)
        self.write(written)
        self.put(assign, written)

    def spawn(self, state: str, spawn: Spawn) -> None:
        visit = self._add_pending(
            Pending(
                state=state,
                step=self.step_name(state),
                kind="call" if spawn.items is None else "foreach",
                parameters={"task": spawn.task, "workflow": spawn.workflow, "agent": spawn.agent,
                            "sequential": spawn.sequential},
            )
        )
        if spawn.items is None:
            inputs = self.evaluate(dict(spawn.inputs or {}), spawn.reads)
            self.outcome.children.append(Child(visit, 0, None, spawn.workflow, inputs, {}, spawn.agent))
            return
        for index, item in enumerate(self._items(spawn)):
            scope = {"item": item, "index": index}
            inputs = None
            if spawn.inputs is not None and not spawn.sequential:
                inputs = self.evaluate(dict(spawn.inputs), spawn.reads, scope)
            self.outcome.children.append(Child(visit, index, spawn.task, None, inputs, scope, spawn.agent))

    def _items(self, spawn: Spawn) -> list[Json]:
        items = self.evaluate(spawn.items, spawn.reads)
        if not isinstance(items, list):
            raise StepFailed("items", f"`items` gave {schema.describe(items)}, not a list")
        if spawn.max_items is not None and len(items) > spawn.max_items:
            raise StepFailed("max_items", f"`items` gave {len(items)} items; max_items is {spawn.max_items}")
        return items

    def child_inputs(self, visit: str, scope: Mapping[str, Json]) -> dict[str, Json]:
        """The inputs of a child of a sequential foreach, once the results before it are known."""
        spawn = self.machine.steps[self.snapshot.pending[visit].state]
        assert isinstance(spawn, Spawn)
        assert spawn.inputs is not None
        result: dict[str, Json] = self.evaluate(dict(spawn.inputs), spawn.reads, scope)
        return result

    def finish(self, state: str, effect: Return) -> None:
        self.snapshot.result = self.evaluate(effect.value, effect.reads)

    def begin_loop(self, loop: str) -> None:
        self.snapshot.loops[loop] = self.snapshot.visits.get(loop, 0)

    def delay(self, state: str, delay: Delay) -> None:
        retry = self.machine.steps[delay.step].retry
        assert retry is not None
        seconds = retry.delay(self.snapshot.attempts[delay.step])
        self._add_pending(
            Pending(
                state=state,
                step=self.step_name(delay.step),
                kind="retry",
                parameters={"attempt": self.snapshot.attempts[delay.step] + 1, "of": retry.max_attempts},
                resume_at=self.event.at + seconds,
            )
        )

    # -- values ----------------------------------------------------------------

    def evaluate(self, expression: Json, reads: tuple[str, ...], names: Mapping[str, Json] | None = None) -> Any:
        """An expression sees the declared fields only, the inputs, and what its scope adds."""
        state = self.snapshot.state
        context = {
            **self.snapshot.scope,
            **(names or {}),
            "state": {name: state[name] for name in reads if name in state},
            "inputs": self.snapshot.inputs,
        }
        return evaluate_tree(
            expression,
            context,
            now=datetime.fromtimestamp(self.event.at, UTC),
            uuid_seed=f"{self.event.id}/{len(self.outcome.entered)}",
            hidden=frozenset(name for name in state if name not in reads),
        )

    def put(self, effect: Effect, result: Json) -> None:
        if effect.writes is not None:
            self.write({effect.writes: result})

    def write(self, values: dict[str, Json]) -> None:
        state = {**self.snapshot.state, **values}
        size = len(json.dumps(state, ensure_ascii=False).encode())
        if size > self.limits.state_bytes:
            raise StepFailed("state_size", f"the state would be {size:,} bytes; the limit is {self.limits.state_bytes:,}")
        self.snapshot.state = state
        self.outcome.written.update(values)

    def step_name(self, state: str) -> str:
        """The YAML's own id of a state."""
        return str(self.machine.states_map[state].name)

    def _add_pending(self, pending: Pending) -> str:
        if len(self.snapshot.pending) >= self.limits.pending_actions:
            raise StepFailed("pending_actions", f"more than {self.limits.pending_actions} actions would be pending at once")
        size = len(json.dumps(asdict(pending), ensure_ascii=False).encode())
        if size > self.limits.action_bytes:
            raise StepFailed("action_size", f"the action would be {size:,} bytes; the limit is {self.limits.action_bytes:,}")
        count = self.snapshot.visits[pending.state]
        visit = pending.step if count == 1 else f"{pending.step}@{count}"
        if pending.kind == "retry":
            visit = f"{visit}#retry"
        self.snapshot.pending[visit] = pending
        return visit


def _timing(ask: Ask, event: Event) -> dict[str, Json]:
    """What the agent is told of time: the limit for its work, or the moment to come back."""
    if ask.wait_seconds is not None:
        resume_at = datetime.fromtimestamp(event.at + ask.wait_seconds, UTC)
        return {"duration_seconds": ask.wait_seconds, "resume_at": resume_at.isoformat()}
    return {} if ask.timeout is None else {"timeout": ask.timeout}
