"""The plan of a workflow as plain data, for `wfc plan --json` and for the tool of the same name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Any

from wfc_runtime.contract import Json
from wfc_runtime.errors import StepError
from wfc_runtime.instructions import agent_of
from wfc_runtime.machine.chart import AnyMachine, Workflow
from wfc_runtime.machine.effects import Ask, Assign, Begin, Effect, Fail, Return
from wfc_runtime.machine.events import Clock
from wfc_runtime.machine.interpreter import Edge, NextItem, Node, Structure, structure_of
from wfc_runtime.machine.loops import EachItem
from wfc_runtime.machine.run import Run
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.machine.values import Limits
from wfc_runtime.plan.counting import Count, Counter, Lookup, condition_of, counted

# The YAML step that a state comes from: its id, type and line.


@dataclass(frozen=True)
class StepInfo:
    id: str
    type: str
    line: int | None
    """None if the module has no line map."""
    node: Node
    effect: Effect | None
    condition: Node | None
    """The state that decides whether the step runs: its `when`."""
    hidden: frozenset[str] = frozenset()
    """Fields that only states added by a dialect write: the author does not know them."""


def steps_of(structure: Structure, lines: Mapping[str, int]) -> Iterator[StepInfo]:
    """The steps in the order of the YAML. States that the compiler added for its own use are left out."""
    states: dict[str, list[Node]] = {}
    for node in structure.nodes.values():
        # Branches of a parallel step are compound states, and their ends are final states.
        title = _title(node, structure)
        if title and not node.is_final and not node.is_gate and (node.is_parallel or not node.children):
            states.setdefault(title, []).append(node)
    hidden = _hidden_fields(structure)
    for title, nodes in states.items():
        node = _main(nodes, structure)
        when = nodes[0] if nodes[0] is not node else None
        effect = structure.steps.get(node.id)
        yield StepInfo(title, _type(node, effect, structure), lines.get(node.id), node, effect, when, hidden)


def _hidden_fields(structure: Structure) -> frozenset[str]:
    added: set[str] = set()
    written: set[str] = set()
    for state, effect in structure.steps.items():
        # A field that a step of the author writes as well is one of the author's.
        (written if structure.nodes[state].owner is None else added).update(_writes(effect))
    return frozenset(added - written)


def _title(node: Node, structure: Structure) -> str:
    """The step that a state is part of. Of the states that a dialect has added, only conditions are shown, with their
    step."""
    if node.owner is None:
        return node.name
    return node.owner if node.id not in structure.steps else ""


def _main(nodes: list[Node], structure: Structure) -> Node:
    """The state that does the work of a step. Its `when` comes before it; loop turns and retries come after it."""
    # States without an effect, such as the ends of a condition, do no work.
    doing = [node for node in nodes if structure.steps.get(node.id) or node.children]
    return doing[0] if doing else nodes[-1]


def _type(node: Node, effect: Effect | None, structure: Structure) -> str:
    choices = [condition_of(edge) for edge in node.eventless]
    match effect:
        case Ask():
            return effect.kind
        case Spawn():
            return "call" if effect.is_call else "foreach"
        case Return():
            return "return"
        case Fail():
            return "fail"
        case EachItem():
            return "each"
        case Begin():
            return "while"
        case Assign():
            return "condition" if any(choices) else "set_state"
        case None:
            if node.is_parallel:
                return "parallel"
            if any(edge for edge in node.eventless if counted(edge)):
                return "goto"
            return "condition" if any(choices) else _jump(node, structure)
    return type(effect).__name__.lower()


def _jump(node: Node, structure: Structure) -> str:
    """`continue` goes to the turn of the innermost loop around it, `break` anywhere else."""
    loops = [structure.nodes[effect.loop] for effect in structure.steps.values() if isinstance(effect, Begin)]
    around = [turn for turn in loops if turn.order < node.order and not _is_past(turn, node)]
    innermost = max(around, key=lambda turn: turn.order, default=None)
    return "continue" if innermost is not None and node.eventless[0].target is innermost else "break"


def _is_past(turn: Node, node: Node) -> bool:
    """Whether a node comes after a loop: the loop's exit leads to the node, or to one before it."""
    after = turn.eventless[-1].target
    return turn.order < after.order <= node.order


# The needs and waits of a workflow: tools, agents, commands, people, time.

Placed = list[tuple[dict[str, Json], StepInfo]]
"""Steps with their location: id and line, and the task and the called workflow that contain them."""


def needs_of(placed: Placed) -> dict[str, list[Json]]:
    asks = [(place, step.effect) for place, step in placed if isinstance(step.effect, Ask)]
    spawns = [step.effect for _, step in placed if isinstance(step.effect, Spawn)]
    commands = [
        {**place, "command": ask.parameters["command"]} for place, ask in asks if "command" in ask.parameters
    ]
    agents = [agent_of(ask.parameters) for _, ask in asks] + [
        spawn.agent for spawn in spawns if spawn.agent != "@task"
    ]
    return {
        "tools": distinct([ask.parameters.get("tool") for _, ask in asks]),
        "agents": distinct(agents),
        "workflows": distinct([spawn.workflow for spawn in spawns]),
        "commands": commands,
    }


_READING = ("read_file", "read_files", "read_json_state", "check_files")


def needed_access(workflow: Workflow, lookup: Lookup) -> dict[str, list[Json]]:
    """What a run can reach besides commands and tools: files, addresses, blocks of a project, MCP servers of agents.

    Names are as the workflow has them, with their templates.
    """
    found: dict[str, list[Json]] = {"reads": [], "writes": [], "requests": [], "blocks": [], "servers": []}
    for _, step in everything(workflow, lookup):
        if not isinstance(step.effect, Ask):
            continue
        given = step.effect.parameters
        places: list[Json] = []
        for name in ("path", "output_path", "paths", "patterns"):
            value = given.get(name)
            places += value if isinstance(value, list) else [value]
        found["reads" if step.effect.kind in _READING else "writes"] += places
        if "url" in given:
            found["requests"].append(f"{given.get('method') or 'GET'} {given['url']}")
        if "block" in given:
            found["blocks"].append(given["block"])
        tools = given.get("tools")
        found["servers"] += [tool for tool in (tools or ()) if str(tool).startswith("mcp:")]
    return {name: distinct(values) for name, values in found.items()}


def distinct(names: Iterable[Json]) -> list[Json]:
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def waits_of(placed: Placed) -> dict[str, list[dict[str, Json]]]:
    ways: dict[str, Callable[[StepInfo], dict[str, Json] | None]] = {
        "person": _asks_person,
        "time": _waits_for_time,
    }
    return {
        name: [{**place, **more} for place, step in placed if (more := details(step)) is not None]
        for name, details in ways.items()
    }


def _asks_person(step: StepInfo) -> dict[str, Json] | None:
    if not isinstance(step.effect, Ask) or step.effect.kind != "prompt":
        return None
    return {"prompt_type": step.effect.parameters.get("prompt_type")}


def _waits_for_time(step: StepInfo) -> dict[str, Json] | None:
    if isinstance(step.effect, Ask) and step.effect.wait_seconds is not None:
        # A computed time is known only when the run gets there.
        return {} if isinstance(step.effect.wait_seconds, str) else {"seconds": step.effect.wait_seconds}
    retry = step.effect.retry if step.effect is not None else None
    if retry is not None and retry.delay_seconds and retry.max_attempts > 1:
        return {"seconds": sum(map(retry.delay, range(1, retry.max_attempts))), "before": "retry"}
    return None


def timeouts_of(placed: Placed) -> list[dict[str, Json]]:
    """The timeouts of all steps, longest first."""
    found = [
        {**place, "seconds": step.effect.timeout}
        for place, step in placed
        if isinstance(step.effect, Ask | Spawn) and isinstance(step.effect.timeout, (int, float))
    ]
    return sorted(found, key=lambda one: -one["seconds"])


# The plan.

Plan = dict[str, Any]


def explain_plan(workflow: Workflow, lookup: Lookup, inputs: Mapping[str, Json] | None = None) -> Plan:
    """The possible actions and the needs of a run. `lookup` finds the workflows that it calls.

    With the `inputs` of a run, the branches of its main steps that depend on nothing else are decided.
    """
    counter = Counter(workflow, lookup)
    plan: Plan = {
        "workflow": workflow.name,
        "version": workflow.version,
        **_scope(list(_steps(workflow, None)), counter.main()),
    }
    tasks = {name: _scope(list(_steps(workflow, name)), counter.task(name)) for name in workflow.tasks}
    placed = everything(workflow, lookup)
    needs = {name: found for name, found in needs_of(placed).items() if found}
    if inputs is not None:
        _decide(plan["branches"], workflow.machine, inputs)
    plan |= {"tasks": tasks} if tasks else {}
    plan |= {"needs": needs, "waits": waits_of(placed), "timeouts": timeouts_of(placed)}
    return plan


def _decide(branches: list[Plan], machine: AnyMachine, inputs: Mapping[str, Json]) -> None:
    """Say how each branch that reads only inputs ends. A condition that reads anything else can't be evaluated."""
    given = {
        name: field.default for name, field in machine.inputs.model_fields.items() if not field.is_required()
    }
    snapshot = Snapshot(inputs={**given, **inputs})
    run = Run(structure_of(machine), snapshot, Clock(at=0.0, id="plan"), Limits())
    for branch in branches:
        text = branch.get("if")
        # The clock of a run is not known yet.
        # Their values depend on the event that evaluates the condition.
        if not isinstance(text, str) or "now(" in text or "uuid(" in text:
            continue
        # It reads a state field, which has no value yet: the branch stays undecided.
        with suppress(StepError):
            branch["decided"] = run.is_true(text, ())


def _scope(steps: list[StepInfo], count: Count) -> Plan:
    return {
        "actions": shown_count(count),
        "steps": [_step(step) for step in steps],
        "branches": [branch for step in steps for branch in _branches(step)],
    }


def _steps(workflow: Workflow, task: str | None) -> Iterator[StepInfo]:
    machine = workflow.machine if task is None else workflow.tasks[task]
    return steps_of(structure_of(machine), workflow.lines.get(task or workflow.name, {}))


def everything(workflow: Workflow, lookup: Lookup) -> Placed:
    """The steps of a workflow, of its tasks, and of the workflows that it calls."""
    found: Placed = []
    todo, seen = [workflow], {workflow.name}
    # The list grows while it is iterated: called workflows are appended once each.
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


def shown_count(count: Count) -> dict[str, Json]:
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
        # The first edge of a `when` leads into the step.
        found["when"] = _text_of(step.condition.eventless[0])
    found |= {"reads": reads} if (reads := _reads(step)) else {}
    if effect is not None:
        found |= {"writes": _writes(effect)} if _writes(effect) else {}
        found |= {"attempts": effect.retry.max_attempts} if effect.retry else {}
    if isinstance(effect, Ask):
        seconds = effect.wait_seconds if effect.wait_seconds is not None else effect.timeout
        name = "wait_seconds" if effect.wait_seconds is not None else "timeout_seconds"
        found |= {name: seconds} if seconds is not None and not isinstance(seconds, str) else {}
    elif isinstance(effect, Spawn):
        found |= {"task": effect.task} if effect.task else {"workflow": effect.workflow}
        found |= {"agent": effect.agent} if effect.agent else {}
        found |= {"max_items": effect.max_items} if effect.max_items is not None else {}
        found |= {"sequential": True} if effect.sequential else {}
        # It may be an expression, which is shown as it is.
        found |= {"timeout_seconds": effect.timeout} if effect.timeout is not None else {}
    return found


def _reads(step: StepInfo) -> list[str]:
    conditions = [
        condition_of(edge) for node in (step.condition, _deciding(step)) if node for edge in node.eventless
    ]
    read = [name for condition in conditions if condition for name in condition.reads]
    names = dict.fromkeys([*read, *(step.effect.reads if step.effect else ())])
    return [name for name in names if name not in step.hidden]


def _deciding(step: StepInfo) -> Node:
    """The state that chooses where a step leads; for a loop, its turn."""
    return step.node.eventless[0].target if step.type in ("while", "each") else step.node


def _writes(effect: Effect) -> list[str]:
    return effect.fields


def _branches(step: StepInfo) -> Iterator[dict[str, Json]]:
    """The points where a run can continue in more than one way, with their conditions."""
    if step.condition is not None:
        yield _choice(step, step.condition.eventless, "when")
    edges = _deciding(step).eventless
    if edges and condition_of(edges[0]):
        yield _choice(step, edges, step.type)
    loop = next((guard for guard in edges[0].guards if isinstance(guard, NextItem)), None) if edges else None
    if loop is not None:
        most = {} if loop.most is None else {"at_most": loop.most}
        found = {"step": step.id, "line": step.line, "kind": "each", "then": _goal(edges[0].target)}
        yield {**found, "else": _goal(edges[1].target), **most}
    recovery = step.node.on.get("recover")
    if recovery and step.type != "goto":
        yield {"step": step.id, "line": step.line, "kind": "on_error", "then": _goal(recovery[0].target)}


def _choice(step: StepInfo, edges: list[Edge], kind: str) -> dict[str, Json]:
    found: dict[str, Json] = {"step": step.id, "line": step.line, "kind": kind}
    condition = condition_of(edges[0])
    assert condition is not None
    if condition.text is not True:
        found["if"] = condition.text
    found["then"] = _goal(edges[0].target)
    others = [_goal(edge.target) for edge in edges[1:]]
    if kind == "goto":
        # For a goto, the second way is taken when its jumps are used up.
        others = [_goal(edge.target) for edge in step.node.on.get("recover", ())]
    if others:
        found["else"] = others[0]
    most = counted(edges[0])
    return {**found, "at_most": most.most} if most else found


def _goal(target: Node) -> str:
    """The author's name for where an edge leads. For the end of an added branch, the step at which the run continues
    after it."""
    frame = target.parent.parent if target.is_final and target.parent else None
    if target.parent is None or frame is None or not frame.is_parallel:
        return target.title
    if frame.owner is None:
        return f"the end of {target.parent.name}"
    return _goal(frame.on[f"done.state.{frame.id}"][0].target)


def _text_of(edge: Edge) -> Json:
    condition = condition_of(edge)
    return condition.text if condition else None
