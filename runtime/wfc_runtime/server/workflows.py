"""Descriptions of workflows: lists, inputs, typed tools, dependencies of state fields, charts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

from jinja2 import nodes
from statemachine import State

from wfc_runtime.claude_code import find_missing
from wfc_runtime.contract import Json
from wfc_runtime.errors import DefinitionError, NotFoundError, StepError, WfcError, guess
from wfc_runtime.expr.syntax import parse
from wfc_runtime.instructions import agent_of
from wfc_runtime.machine import Ask, Assign, ChangeFields, Delay, Effect, Spawn
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.events import Clock
from wfc_runtime.machine.interpreter import Condition, Ended, structure_of
from wfc_runtime.machine.run import Run
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.values import Limits, size_of
from wfc_runtime.plan.explain import distinct, steps_of
from wfc_runtime.registry import Module, Registry
from wfc_runtime.server.context import ServerContext
from wfc_runtime.server.tools import Call, Hints, with_call_before_start
from wfc_runtime.service import Reply

# Lists and descriptions.


def listed(registry: Registry, query: str) -> Reply:
    """The workflows whose name, description and tags contain all words of the query, and those that can't be used."""
    words = query.lower().split()
    # All words, in any order and place.
    found = [module for module in registry.modules() if all(word in _searched(module) for word in words)]
    reply: Reply = {"workflows": [_summary(module) for module in found]}
    hidden = [{"workflow": name, "found_at": path} for name, path in registry.hidden()]
    if hidden:
        reply["hidden"] = hidden
    broken = [{"reason": error.message, "hint": error.hint} for error in registry.problems()]
    if broken:
        reply["broken"] = broken
    if found:
        reply["next"] = (
            f'get_workflow_info(workflow="{found[0].workflow.name}") or start_workflow(workflow, inputs)'
        )
    else:
        reply["next"] = (
            'list_workflows(query="")' if words else "nothing: compile workflows first (`wfc compile`)"
        )
    return reply


def info(module: Module) -> Reply:
    workflow = module.workflow
    effects = _own_effects(module)
    reply: Reply = {
        "workflow": workflow.name,
        "version": workflow.version,
        "description": description_of(module),
        **({"author": workflow.author} if workflow.author else {}),
        **({"tags": list(workflow.tags)} if workflow.tags else {}),
        "source": module.source,
        "found_at": module.source,
        "inputs": input_schema(module),
        # Declared by workflows of some languages only.
        **({"outputs": outputs} if (outputs := workflow.machine.facts.get("outputs")) else {}),
        "steps": list(_steps(module, workflow.name, workflow.machine)),
    }
    tasks = {name: list(_steps(module, name, task)) for name, task in workflow.tasks.items()}
    if tasks:
        reply["tasks"] = tasks
    needs = {"tools": _tools(effects), "agents": _agents(effects), "workflows": _called(effects)}
    reply |= {name: needed for name, needed in needs.items() if needed}
    return {**reply, "next": f'start_workflow(workflow="{workflow.name}", inputs={{...}})'}


def with_missing(context: ServerContext, name: str, reply: Reply) -> Reply:
    """Add the agents and tools that the workflow, or one that it calls, needs and the project does not have."""
    effects = [*_effects_of(context.registry, name, set())]
    options = context.options
    missing = find_missing(_agents(effects), _tools(effects), options.root, options.known_tools)
    if not missing:
        return reply
    notes = [
        f"There is no agent {', '.join(missing.agents)} in .claude/agents: give its whole brief to a general-purpose "
        "sub-agent."
        + f" `wfc library add {name}` copies the workflow and its agents into the project."
        * context.registry.is_from_library(name)
    ] * bool(missing.agents) + [
        f"The project's settings do not list {', '.join(missing.tools)}. If you don't have a tool, submit "
        '{"error": "<tool> is missing"}; never make up its result.'
    ] * bool(missing.tools)
    found: Reply = {"missing": {**asdict(missing), "hint": " ".join(notes)}}
    # `next` stays the last key of a reply.
    return {key: value for key, value in reply.items() if key != "next"} | found | {"next": reply["next"]}


def _effects_of(registry: Registry, name: str, seen: set[str]) -> Iterator[Effect]:
    """The effects of a workflow and of the workflows that it calls. No other module is loaded."""
    # Workflows may call each other in a cycle.
    if name in seen:
        return
    seen.add(name)
    try:
        effects = _own_effects(registry.find(name))
    except (NotFoundError, DefinitionError):
        # The step that calls it reports that.
        return
    yield from effects
    for called in _called(effects):
        yield from _effects_of(registry, str(called), seen)


def _own_effects(module: Module) -> list[Effect]:
    machines = [module.workflow.machine, *module.workflow.tasks.values()]
    return [effect for machine in machines for effect in machine.steps.values()]


def description_of(module: Module) -> str:
    # Not `__doc__` itself: without a description in the YAML it would be that of the base class.
    machine = module.workflow.machine
    return " ".join((vars(machine).get("__doc__") or "").split())


def input_schema(module: Module) -> dict[str, Json]:
    """The inputs as JSON Schema."""
    schema: dict[str, Json] = _lean(module.workflow.machine.inputs.model_json_schema(by_alias=True))
    # The model's docstring, which is not about the inputs.
    schema.pop("description", None)
    return {"type": "object", "properties": {}, **schema}


_NAMED = ("properties", "$defs")
"""The values of these keys have names chosen by the author, which may be "title"."""
_EITHER_NUMBER = [{"type": "integer"}, {"type": "number"}]
_RENAMED = {"ge": "minimum", "le": "maximum"}
"""Keywords that pydantic does not translate for a number that may be whole or not."""


def _lean(schema: Json) -> Json:
    """Drop generated titles, and simplify a union of integer and number."""
    if isinstance(schema, list):
        return [_lean(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Json] = {}
    key: str
    for key, value in schema.items():
        if key in _NAMED:
            # Names chosen by the author are kept, even if one is `title`.
            found[key] = {name: _lean(one) for name, one in value.items()}
        elif key == "anyOf" and value == _EITHER_NUMBER:
            found["type"] = "number"
        elif key in ("default", "enum", "const"):
            # Data of the author, whose keys must not be touched.
            found[key] = value
        elif key != "title":
            found[_RENAMED.get(key, key)] = _lean(value)
    return found


def _searched(module: Module) -> str:
    words = (module.workflow.name, description_of(module), *module.workflow.tags)
    return " ".join(words).lower()


def _summary(module: Module) -> dict[str, Json]:
    inputs = module.workflow.machine.inputs.model_fields
    names = [field.alias or name for name, field in inputs.items() if field.is_required()]
    optional = [f"{field.alias or name}?" for name, field in inputs.items() if not field.is_required()]
    return {
        "workflow": module.workflow.name,
        "version": module.workflow.version,
        "description": description_of(module),
        "inputs": names + optional,
    }


def _steps(module: Module, chart: str, machine: AnyMachine) -> Iterator[dict[str, Json]]:
    """The steps in the order of the YAML."""
    for step in steps_of(structure_of(machine), module.workflow.lines.get(chart, {})):
        yield {"id": step.id, "type": step.type, "line": step.line}


def _tools(effects: Iterable[Effect]) -> list[Json]:
    return distinct(effect.parameters.get("tool") for effect in effects if isinstance(effect, Ask))


def _agents(effects: Sequence[Effect]) -> list[Json]:
    asked = (agent_of(effect.parameters) if isinstance(effect, Ask) else None for effect in effects)
    spawned = (effect.agent if isinstance(effect, Spawn) else None for effect in effects)
    return distinct(agent for pair in zip(asked, spawned, strict=True) for agent in pair)


def _called(effects: Iterable[Effect]) -> list[Json]:
    return distinct(effect.workflow for effect in effects if isinstance(effect, Spawn))


# Each workflow as a separate tool: `start_<workflow>`, with its inputs as arguments.

_LONGEST_TOOL_NAME = 100
"""Clients add a prefix to the name and drop tools with names that are too long."""
_TAKEN = "start_workflow"
_HINTS = Hints(moves=True, keyed=True)


@dataclass(frozen=True)
class TypedTool:
    """Starts one workflow. The workflow's own model checks the inputs."""

    module: Module
    hints: Hints = _HINTS

    @property
    def name(self) -> str:
        return f"start_{re.sub(r'[^A-Za-z0-9_]', '_', self.module.workflow.name)}"

    @property
    def description(self) -> str:
        name = self.module.workflow.name
        return f"Start a run of the workflow `{name}`. {description_of(self.module)}".strip()

    @property
    def input_schema(self) -> dict[str, Json]:
        return input_schema(self.module)

    def run(self, call: Call, given: Mapping[str, Json]) -> Reply:
        name = self.module.workflow.name
        try:
            reply = call.context.service.start(name, dict(given), actor=call.actor, key=call.key)
            return with_missing(call.context, name, reply)
        except WfcError as error:
            raise with_call_before_start(error, name) from error


def typed_tools(registry: Registry) -> dict[str, TypedTool]:
    """The tools for the current content of the folder: workflows may be compiled or removed at any time."""
    tools = [TypedTool(module) for module in registry.modules()]
    # A name that is taken or too long is left out; `start_workflow` starts every workflow.
    return {tool.name: tool for tool in tools if tool.name != _TAKEN and len(tool.name) <= _LONGEST_TOOL_NAME}


# State fields of a run: the inputs of each, and how it got its value.


def dependencies(machine: AnyMachine, field: str) -> Reply:
    """The fields and inputs that a field is computed from, directly or indirectly, and the fields computed from it."""
    sources = {name: _sources(machine, name) for name in machine.fields.model_fields}
    _check_known(field, sources)
    return {
        "field": field,
        **({"derived": True} if field in machine.derived else {}),
        "written_by": [_step_name(machine, state) for state, _ in _writers(machine, field)],
        "direct_deps": sources[field],
        "all_deps": _closure(field, sources),
        "dependents": sorted(name for name, read in sources.items() if f"state.{field}" in read),
    }


def traces(machine: AnyMachine, events: Sequence[Mapping[str, Json]], field: str | None) -> list[Reply]:
    """Each write of a field: when, by which step, what triggered it, and the value."""
    if field is not None:
        _check_known(field, machine.fields.model_fields)
    found: list[Reply] = []
    for event in events:
        # Only events that wrote something.
        written = event.get("written", {})
        wanted = [name for name in written if field is None or name == field]
        for name in wanted:
            place = {"field": name, "at": event["at"], "seq": event["seq"], "trigger": _trigger(event)}
            if name in machine.derived:
                # The fields that changed with it, with their values as far as the history has them.
                given = {read: written[read] for read in machine.derived[name].reads if read in written}
                found.append({**place, "derived": True, "input": given, "output": written[name]})
            else:
                found.append({**place, "step": _writer(machine, event, name), "output": written[name]})
        for note in event.get("notes", ()):
            if "derived" in note and (field is None or note["derived"] == field):
                failed = {"code": note["code"], "message": note["message"], "on_error": note["on_error"]}
                trigger = note.get("trigger") or _trigger(event)
                place = {"field": note["derived"], "at": event["at"], "seq": event["seq"], "trigger": trigger}
                found.append({**place, "derived": True, "error": failed})
    return found


# The position and contents of a run.

_STEPS_SHOWN, _FIELDS_SHOWN = 20, 10


def debug_info(
    run: str, machine: AnyMachine, snapshot: Snapshot, events: Sequence[Mapping[str, Json]]
) -> Reply:
    """The current and the last steps of a run, the sizes of its fields, and its slowest derived fields."""
    entered = [
        {"step": _step_name(machine, state), "at": event["at"], "seq": event["seq"]}
        for event in events
        for state in event.get("entered", ())
        if state in machine.states_map
    ]
    sizes = {name: size_of(value) for name, value in snapshot.state.items()}
    largest = sorted(sizes, key=lambda name: -sizes[name])[:_FIELDS_SHOWN]
    reply: Reply = {
        "workflow_id": run,
        "status": snapshot.status,
        "current": [{"step_id": visit, "state": one.state} for visit, one in snapshot.pending.items()],
        "steps": entered[-_STEPS_SHOWN:],
        "sizes": {
            "state": snapshot.size - snapshot.derived_size,
            "derived": snapshot.derived_size,
            "fields": {name: sizes[name] for name in largest},
        },
    }
    if snapshot.error is not None:
        reply["error"] = snapshot.error
    slowest = timing(machine, snapshot)[:_FIELDS_SHOWN] if snapshot.status == "running" else []
    return {**reply, "slowest": slowest} if slowest else reply


def timing(machine: AnyMachine, snapshot: Snapshot, field: str = "") -> list[Reply]:
    """How long derived fields take now, the longest first. A history has no times: it must replay."""
    # A copy, and a clock event that is never applied: the run does not change.
    run = Run(structure_of(machine), snapshot.copy(), Clock(at=0.0, id="debug"), Limits())
    found: list[Reply] = []
    for name, derive in machine.derived.items():
        if field and name != field:
            continue
        began = perf_counter()
        try:
            derive.compute(run, name)
            failed = {}
        except StepError as error:
            failed = {"error": snapshot.mask.message(error.message)}
        found.append({"field": name, "milliseconds": round((perf_counter() - began) * 1000, 3), **failed})
    return sorted(found, key=lambda one: -one["milliseconds"])


def _check_known(field: str, there: Iterable[str]) -> None:
    names = list(there)
    if field not in names:
        field = "".join(char if char.isprintable() else "?" for char in field[:100])
        hint = f"{guess(field, names)}Fields: {', '.join(names) or 'none'}."
        raise NotFoundError("unknown_field", f"the workflow has no field `{field}`", hint)


def _writers(machine: AnyMachine, field: str) -> Iterator[tuple[str, Effect]]:
    for state, effect in machine.steps.items():
        if field in effect.fields:
            yield state, effect


def _sources(machine: AnyMachine, field: str) -> list[str]:
    """The fields read by the steps that write a field: `state.<field>` and `inputs.<name>`."""
    found: dict[str, None] = {}
    is_script = machine.expressions == "javascript"
    if field in machine.derived:
        derive = machine.derived[field]
        parts = [derive.source, derive.value, derive.check]
        named = _names_in_script(parts) if is_script else _names_read(parts)
        # `reads` already has the fields of the state; inputs are only in the expressions.
        inputs = [name for name in named if name.startswith("inputs.")]
        return sorted({*(f"state.{name}" for name in derive.reads), *inputs})
    for _, effect in _writers(machine, field):
        if is_script:
            found |= dict.fromkeys(_sources_in_script(effect, field))
        elif isinstance(effect, Assign) and field in effect.updates:
            found |= dict.fromkeys(_computed_from(effect.updates, field))
        else:
            # Other effects write what an agent or a child returned, which depends on everything that they
            # read.
            found |= dict.fromkeys(f"state.{name}" for name in effect.reads)
    return sorted(found)


def _sources_in_script(effect: Effect, field: str) -> Iterator[str]:
    """The inputs of a field that is written by a step with JavaScript expressions."""
    updates = effect.updates if isinstance(effect, ChangeFields) else ()
    own = [one for one in (*updates, *effect.changes, *effect.error_changes) if one.path[0] == field]
    parts: list[Json] = [part for one in own for part in (*one.path[1:], one.value)]
    if isinstance(effect, Assign) and field in effect.updates:
        parts.append(effect.updates[field])
    yield from _names_in_script(parts)
    # A change that is not the assignment of the whole field depends on the value from before.
    if any(one.operation != "set" or len(one.path) > 1 for one in own):
        yield f"state.{field}"
    if effect.writes == field or any("result" in str(part) for part in parts):
        # The result depends on what the step asks for.
        asked = effect.parameters if isinstance(effect, Ask) else effect.texts
        yield from _names_in_script(asked)
        if isinstance(effect, Spawn):
            yield from _names_in_script([effect.items, effect.inputs])


_QUOTED_TEXT = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\"""")
_MEMBER = re.compile(r"(?<![\w$.])(state|inputs)\s*\??\.\s*([A-Za-z_$][\w$]*)")


def _names_in_script(value: Json) -> Iterator[str]:
    """The fields and inputs that JavaScript reads. The compiler writes every one as a member of its scope."""
    if isinstance(value, Mapping):
        for one in value.values():
            yield from _names_in_script(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _names_in_script(one)
    elif isinstance(value, str) and "{{" in value:
        for scope, name in _MEMBER.findall(_QUOTED_TEXT.sub("''", value)):
            yield f"{scope}.{name}"


def _computed_from(updates: Mapping[str, Json], field: str) -> Iterator[str]:
    """The sources of one update. A bare name is an earlier key of the same step, so its sources count instead."""
    for read in _names_read(updates[field]):
        if "." in read:
            yield read
        elif read in updates and list(updates).index(read) < list(updates).index(field):
            # A name that is not an earlier key is a variable of a loop or scope.
            yield from _computed_from(updates, read)


def _names_read(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for one in value.values():
            yield from _names_read(one)
    elif isinstance(value, list):
        for one in value:
            yield from _names_read(one)
    elif isinstance(value, str):
        tree = parse(value).ast
        if tree is not None:
            yield from _names_in(tree)


def _names_in(tree: nodes.Node) -> Iterator[str]:
    for node in tree.find_all((nodes.Getattr, nodes.Getitem, nodes.Name)):
        if isinstance(node, nodes.Name):
            yield node.name
            continue
        assert isinstance(node, (nodes.Getattr, nodes.Getitem))
        if isinstance(node.node, nodes.Name) and node.node.name in ("state", "inputs"):
            if isinstance(node, nodes.Getattr):
                yield f"{node.node.name}.{node.attr}"
            elif isinstance(node.arg, nodes.Const):
                yield f"{node.node.name}.{node.arg.value}"


def _closure(field: str, sources: Mapping[str, Sequence[str]]) -> list[str]:
    found: dict[str, None] = {}
    todo = list(sources[field])
    while todo:
        name = todo.pop(0)
        if name not in found:
            found[name] = None
            # Inputs are computed from nothing.
            todo += sources.get(name.removeprefix("state."), []) if name.startswith("state.") else []
    return sorted(found)


def _trigger(event: Mapping[str, Json]) -> str:
    """The cause of an event, such as `submitted look-up by toolu_0123`."""
    step = f" {event['step_id']}" if "step_id" in event else ""
    return f"{event['event']}{step}" + (f" by {event['actor']}" if "actor" in event else "")


def _writer(machine: AnyMachine, event: Mapping[str, Json], field: str) -> str | None:
    """The step that wrote a field: the last state that the event passed through and that can write it."""
    writers = {state for state, _ in _writers(machine, field)}
    passed = [*event.get("left", []), *event.get("entered", [])]
    return next((_step_name(machine, state) for state in reversed(passed) if state in writers), None)


def _step_name(machine: AnyMachine, state: str) -> str:
    return str(machine.states_map[state].name)


# A run as a mermaid chart: its statechart, with its current states marked.

_LONGEST_LABEL = 60
_ENDINGS = ("fail", "cancel")


def render_chart(machine: AnyMachine, active: list[str]) -> str:
    """The chart of one machine. `active`: the current states of a run."""
    lines = ["stateDiagram-v2", *_inside(machine, list(machine.states), "  ")]
    now = [state.id for state in _shown(machine, active)]
    if now:
        lines += ["  classDef now stroke-width:4px", f"  class {','.join(now)} now"]
    return "\n".join(lines) + "\n"


def _shown(machine: AnyMachine, active: list[str]) -> Iterator[State]:
    """The innermost active states, without those that wait for other branches.

    A retry delay is shown as the step that is retried.
    """
    nodes = structure_of(machine).nodes
    # In the order of the document.
    for state in machine.states_map.values():
        if state.id in active and state.is_atomic and not nodes[state.id].is_gate:
            effect = machine.steps.get(state.id)
            yield machine.states_map[effect.step] if isinstance(effect, Delay) else state


def _inside(machine: AnyMachine, states: list[State], indent: str) -> Iterator[str]:
    for state in states:
        if isinstance(machine.steps.get(state.id), Delay):
            continue
        yield f'{indent}state "{_quoted(state.name)}" as {state.id}'
        if state.states:
            yield f"{indent}state {state.id} {{"
            for number, branch in enumerate(_branches(state)):
                if number:
                    yield f"{indent}  --"
                yield from _inside(machine, branch, f"{indent}  ")
            yield f"{indent}}}"
    for state in states:
        if state.initial:
            yield f"{indent}[*] --> {state.id}"
        yield from _transitions(machine, state, indent)
        if state.final:
            yield f"{indent}{state.id} --> [*]"


def _branches(state: State) -> list[list[State]]:
    inner = list(state.states)
    return [[one] for one in inner] if state.parallel else [inner]


def _transitions(machine: AnyMachine, state: State, indent: str) -> Iterator[str]:
    """The transitions of a state, without retries, failures and cancellation, which would clutter the chart."""
    for transition in state.transitions:
        target = transition.target
        # The pause before a retry is drawn as the step itself.
        hidden = isinstance(machine.steps.get(target.id), Delay) if target is not None else True
        if target is None or hidden or transition.initial or any(transition.match(name) for name in _ENDINGS):
            continue
        if isinstance(machine.steps.get(state.id), Delay):
            continue
        label = _label(transition)
        yield f"{indent}{state.id} --> {target.id}" + (f": {label}" if label else "")


def _label(transition: Any) -> str:
    owners = [getattr(spec.func, "__self__", None) for spec in transition.cond]
    condition = next((owner for owner in owners if isinstance(owner, Condition)), None)
    if transition.match("recover"):
        return "on error"
    waits = next((owner for owner in owners if isinstance(owner, Ended)), None)
    if waits is not None:
        return f"after {', '.join(end.removesuffix('_end') for end in waits.ends)}"
    if condition is None:
        return ""
    most = f" (at most {condition.most})" if condition.most is not None else ""
    return f"{'' if condition.text is True else _plain(str(condition.text))}{most}".strip()


def _plain(text: str) -> str:
    """An expression without its braces, with characters of mermaid's syntax as character codes."""
    bare = re.sub(r"\s+", " ", text.strip().removeprefix("{{").removesuffix("}}")).strip()
    short = bare if len(bare) <= _LONGEST_LABEL else f"{bare[:_LONGEST_LABEL]}..."
    return re.sub(r"[:;{}<>#\"]", lambda found: f"#{ord(found[0])};", short)


def _quoted(name: str) -> str:
    return name.replace('"', "'")
