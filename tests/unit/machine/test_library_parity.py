"""The state machine library, driving the same machines with the same events, ends up in the same places."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from statemachine.orderedset import OrderedSet

from tests.support import is_sampled, shipped_modules
from tests.unit.machine.support import NOON, AnyMachine, compiled
from tests.unit.machine.test_flow import LOOP, WHILE
from tests.unit.machine.test_parallel import CHECKS, RETURN
from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.events import Cancel, ChildEnded, Clock, Event, Outcome, Start, Submit
from wfc_runtime.machine.interpreter import structure_of
from wfc_runtime.machine.run import Run
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.step import _first_snapshot, _happen, _outcome, step
from wfc_runtime.machine.values import Limits

LIMITS = Limits()
NESTED = """
name: w
version: 1.0.0
initial_state: {n: 0, m: 0}
steps:
  - id: outer
    type: parallel
    branches:
      left:
        - id: inner
          type: parallel
          branches:
            a:
              - {id: a1, type: shell, command: a, output_to: a1, retry: {max_attempts: 2}}
              - {id: a2, type: shell, command: a, output_to: a2, on_error: continue}
            b:
              - id: loop
                type: while
                needs_state: [n]
                if: "{{ state.n < 3 }}"
                max_iterations: 4
                steps:
                  - {id: b1, type: shell, command: b, output_to: b1, on_error: {goto: b2}}
                  - {id: b2, type: set_state, needs_state: [n], updates: {n: "{{ state.n + 1 }}"}}
      right:
        - {id: r1, type: prompt, prompt_type: confirm, message: go?, output_to: r1}
        - id: r2
          type: goto
          needs_state: [r1]
          when: "{{ state.r1.confirmed }}"
          target: r1
          max_iterations: 3
        - {id: r3, type: wait, duration_seconds: 50}
  - {id: last, type: return, needs_state: [n], value: "{{ state.n }}"}
"""
texts = {"checks": CHECKS, "return in a branch": RETURN, "nested": NESTED, "while": WHILE, "goto": LOOP}
MODULES = [one for one in shipped_modules() if is_sampled(one.workflow.name)]
MACHINES = [
    pytest.param(machine, id=f"{module.workflow.name}/{name}")
    for module in MODULES
    for name, machine in [("main", module.workflow.machine), *module.workflow.tasks.items()]
] + [pytest.param(compiled(text).machine, id=name) for name, text in texts.items()]


def library_step(machine: AnyMachine, snapshot: Snapshot | None, event: Event) -> Outcome:
    """Like `step`, with the library in the driver's seat."""
    structure = structure_of(machine)
    start = snapshot is None
    if isinstance(event, Start):
        snapshot = _first_snapshot(structure, event, LIMITS)
    assert snapshot is not None
    run = Run(structure, snapshot.copy(), event, LIMITS)
    # A machine that finds itself somewhere does not run off when it is built.
    run.configuration_value = structure.root.id
    chart = run.interpreter = machine(run, state_field="configuration_value")
    if start:
        chart.current_state_value = None
        chart.activate_initial_state()
    else:
        states: Any = OrderedSet(snapshot.configuration)
        chart.current_state_value = states
        _happen(run, event)
    order = list(structure.nodes)
    return _outcome(run, sorted(map(str, chart.configuration_values), key=order.index))


def sample(schema: Any, chance: random.Random) -> Any:
    """Something that fits a schema, more or less."""
    if not schema:
        return {"ok": chance.random() < 0.5}
    if "enum" in schema:
        return chance.choice(schema["enum"])
    match schema.get("type"):
        case "object":
            return {key: sample(value, chance) for key, value in schema.get("properties", {}).items()}
        case "array":
            count = max(schema.get("minItems", 0), chance.randrange(3))
            return [sample(schema.get("items"), chance) for _ in range(count)]
        case "string":
            return chance.choice(["", "42", "some longer text that says nothing", "a: 90%"])
        case "integer" | "number":
            return chance.choice([0, 1, 3, 97])
        case "boolean":
            return chance.random() < 0.7
    return None


def next_event(machine: AnyMachine, snapshot: Snapshot, number: int, chance: random.Random) -> Event:
    at, name = NOON + number * 60, f"e{number}"
    visit, pending = chance.choice(list(snapshot.pending.items()))
    live = [index for index, child in enumerate(pending.children) if child and "run" in child]
    dice = chance.random()
    if live:
        index = chance.choice(live)
        result = {"error": {"code": "x", "message": "m"}} if dice < 0.2 else {"value": {"summary": "s"}}
        return ChildEnded(at=at, id=name, visit=visit, index=index, result=result)
    if dice < 0.1 or pending.resume_at is not None:
        return Clock(at=at + 100_000 * (dice < 0.05), id=name)
    if dice < 0.2:
        return Submit(at=at, id=name, visit=visit, result={"error": "it did not work"})
    if dice < 0.21:
        return Cancel(at=at, id=name)
    schema = machine.steps[pending.state].action(pending).result_schema
    return Submit(at=at, id=name, visit=visit, result=sample(schema, chance))


def some_inputs(machine: AnyMachine, chance: random.Random) -> dict[str, Any]:
    """Values of the right kind. Whether they keep to the rules does not matter here."""
    schema = machine.inputs.model_json_schema()
    fields = schema.get("properties", {})
    return {
        name: field["default"] if "default" in field else sample(_resolved(field, schema), chance)
        for name, field in fields.items()
    }


def _resolved(field: Any, schema: Any) -> Any:
    if "$ref" in field:
        field = schema["$defs"][field["$ref"].rpartition("/")[2]]
    if "properties" in field:
        inner = {name: _resolved(one, schema) for name, one in field["properties"].items()}
        return {"type": "object", "properties": inner}
    return {"type": "number"} if "anyOf" in field else field


def same(one: Outcome, other: Outcome) -> None:
    # Only the order differs: the library does not number the states inside branches in document order.
    assert json.loads(one.snapshot.to_json()) == json.loads(other.snapshot.to_json())
    assert (sorted(one.entered), sorted(one.left)) == (sorted(other.entered), sorted(other.left))
    assert (one.written, one.started, one.stopped) == (other.written, other.started, other.stopped)
    assert (one.notes, one.refusal is None) == (other.notes, other.refusal is None)


@pytest.mark.parametrize("machine", MACHINES)
def test_both_drivers_take_every_run_the_same_way(machine: AnyMachine) -> None:
    for seed in range(6):
        chance = random.Random(seed)
        start = Start(at=NOON, id="e0", inputs=some_inputs(machine, chance))
        outcome = step(machine, None, start)
        same(outcome, library_step(machine, None, start))
        for number in range(1, 50):
            snapshot = outcome.snapshot
            if snapshot.status != "running":
                break
            event = next_event(machine, snapshot, number, chance)
            try:
                outcome = step(machine, snapshot, event, LIMITS)
            except RefusedError:
                with pytest.raises(RefusedError):
                    library_step(machine, snapshot, event)
                continue
            same(outcome, library_step(machine, snapshot, event))


def test_the_comparison_notices_a_machine_that_goes_another_way() -> None:
    module = next(module for module in MODULES if module.workflow.name == "ship-release")
    machine = module.workflow.machine
    start = Start(at=NOON, id="e0", inputs={"version": "1.0.0"})
    other = replace(step(machine, None, start), entered=["elsewhere"])
    with pytest.raises(AssertionError):
        same(step(machine, None, start), other)
