"""The plan of a workflow: plain data for `wfc plan --json` and for the tool of that name."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

from wfc_runtime.contract import Json
from wfc_runtime.machine.chart import Workflow
from wfc_runtime.machine.effects import Ask, Effect
from wfc_runtime.machine.interpreter import Edge, Node, structure_of
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.plan.counting import Count, Counter, Lookup
from wfc_runtime.plan.kinds import StepInfo, steps_of
from wfc_runtime.plan.needs import Placed, needs_of, timeouts_of, waits_of
from wfc_runtime.plan.ways import condition_of, counted

Plan = dict[str, Any]


def explain_plan(workflow: Workflow, lookup: Lookup) -> Plan:
    """What a run can do and what it needs. `lookup` finds the workflows that it calls."""
    counter = Counter(workflow, lookup)
    plan: Plan = {
        "workflow": workflow.name,
        "version": workflow.version,
        **_scope(list(_steps(workflow, None)), counter.main()),
    }
    tasks = {name: _scope(list(_steps(workflow, name)), counter.task(name)) for name in workflow.tasks}
    placed = _everything(workflow, lookup)
    needs = {name: found for name, found in needs_of(placed).items() if found}
    plan |= {"tasks": tasks} if tasks else {}
    plan |= {"needs": needs, "waits": waits_of(placed), "timeouts": timeouts_of(placed)}
    return plan


def _scope(steps: list[StepInfo], count: Count) -> Plan:
    return {
        "actions": _actions(count),
        "steps": [_step(step) for step in steps],
        "branches": [branch for step in steps for branch in _branches(step)],
    }


def _steps(workflow: Workflow, task: str | None) -> Iterator[StepInfo]:
    machine = workflow.machine if task is None else workflow.tasks[task]
    return steps_of(structure_of(machine), workflow.lines.get(task or workflow.name, {}))


def _everything(workflow: Workflow, lookup: Lookup) -> Placed:
    """The steps of a workflow, of its tasks, and of whatever it calls."""
    found: Placed = []
    todo, seen = [workflow], {workflow.name}
    for one in todo:
        called = {"workflow": one.name} if one is not workflow else {}
        for task in (None, *one.tasks):
            for step in _steps(one, task):
                place = {"step": step.id, "line": step.line, **({"task": task} if task else {}), **called}
                found.append((place, step))
                name = step.effect.workflow if isinstance(step.effect, Spawn) else None
                callee = lookup(name) if name is not None and name not in seen else None
                if callee is not None:
                    seen.add(callee.name)
                    todo.append(callee)
    return found


def _actions(count: Count) -> dict[str, Json]:
    found: dict[str, Json] = {"least": _number(count.least), "most": _number(count.most)}
    if count.per_item:
        found["per_item"] = [
            {"step": one.step, "in": one.scope, "least": _number(one.least), "most": _number(one.most)}
            for one in count.per_item
        ]
    if count.endless:
        found["unbounded"] = [
            {"in": one.scope, "steps": list(one.steps), "on_error_of": list(one.failing)}
            for one in count.endless
        ]
    if count.unknown:
        found["not_counted"] = list(count.unknown)
    return found


def _number(value: float) -> int | None:
    return None if value == inf else int(value)


# -- steps -----------------------------------------------------------------


def _step(step: StepInfo) -> dict[str, Json]:
    effect = step.effect
    found: dict[str, Json] = {"id": step.id, "type": step.type, "line": step.line}
    if step.condition is not None:
        found["when"] = _text_of(step.condition.eventless[0])
    found |= {"reads": reads} if (reads := _reads(step)) else {}
    if effect is not None:
        found |= {"writes": _writes(effect)} if _writes(effect) else {}
        found |= {"attempts": effect.retry.max_attempts} if effect.retry else {}
    if isinstance(effect, Ask):
        seconds = effect.wait_seconds if effect.wait_seconds is not None else effect.timeout
        name = "wait_seconds" if effect.wait_seconds is not None else "timeout_seconds"
        found |= {name: seconds} if seconds is not None else {}
    elif isinstance(effect, Spawn):
        found |= {"task": effect.task} if effect.task else {"workflow": effect.workflow}
        found |= {"agent": effect.agent} if effect.agent else {}
        found |= {"max_items": effect.max_items} if effect.max_items is not None else {}
        found |= {"sequential": True} if effect.sequential else {}
        found |= {"timeout_seconds": effect.timeout} if effect.timeout is not None else {}
    return found


def _reads(step: StepInfo) -> list[str]:
    conditions = [
        condition_of(edge) for node in (step.condition, _deciding(step)) if node for edge in node.eventless
    ]
    read = [name for condition in conditions if condition for name in condition.reads]
    return list(dict.fromkeys([*read, *(step.effect.reads if step.effect else ())]))


def _deciding(step: StepInfo) -> Node:
    """The state that chooses where a step leads: of a loop, its turn."""
    return step.node.eventless[0].target if step.type == "while" else step.node


def _writes(effect: Effect) -> list[str]:
    updates = getattr(effect, "updates", {})
    return [*updates, *([effect.writes] if effect.writes else [])]


def _branches(step: StepInfo) -> Iterator[dict[str, Json]]:
    """Where a run can go one way or another, and why."""
    if step.condition is not None:
        yield _choice(step, step.condition.eventless, "when")
    edges = _deciding(step).eventless
    if edges and condition_of(edges[0]):
        yield _choice(step, edges, step.type)
    recovery = step.node.on.get("recover")
    if recovery and step.type != "goto":
        yield {"step": step.id, "line": step.line, "kind": "on_error", "then": recovery[0].target.name}


def _choice(step: StepInfo, edges: list[Edge], kind: str) -> dict[str, Json]:
    found: dict[str, Json] = {"step": step.id, "line": step.line, "kind": kind}
    condition = condition_of(edges[0])
    assert condition is not None
    if condition.text is not True:
        found["if"] = condition.text
    found["then"] = edges[0].target.name
    others = [edge.target.name for edge in edges[1:]]
    if kind == "goto":
        others = [edge.target.name for edge in step.node.on.get("recover", ())]
    if others:
        found["else"] = others[0]
    most = counted(edges[0])
    return {**found, "at_most": most.most} if most else found


def _text_of(edge: Edge) -> Json:
    condition = condition_of(edge)
    return condition.text if condition else None
