"""Workflows in words: what they are for, what they take, and what their steps need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from wfc_runtime.contract import Json
from wfc_runtime.machine import Ask, Effect, Spawn
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.structure import structure_of
from wfc_runtime.plan.kinds import steps_of
from wfc_runtime.plan.needs import distinct
from wfc_runtime.registry import Module, Registry
from wfc_runtime.service import Reply


def listed(registry: Registry, query: str) -> Reply:
    """The workflows whose name, description and tags have all words of the query, and what can't be used."""
    words = query.lower().split()
    found = [module for module in registry.modules() if all(word in _searched(module) for word in words)]
    reply: Reply = {"workflows": [_summary(module) for module in found]}
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
    machines = [workflow.machine, *workflow.tasks.values()]
    effects = [effect for machine in machines for effect in machine.steps.values()]
    reply: Reply = {
        "workflow": workflow.name,
        "version": workflow.version,
        "description": description_of(module),
        **({"author": workflow.author} if workflow.author else {}),
        **({"tags": list(workflow.tags)} if workflow.tags else {}),
        "source": module.source,
        "inputs": input_schema(module),
        "steps": list(_steps(module, workflow.name, workflow.machine)),
    }
    tasks = {name: list(_steps(module, name, task)) for name, task in workflow.tasks.items()}
    if tasks:
        reply["tasks"] = tasks
    needs = {"tools": _tools(effects), "agents": _agents(effects), "workflows": _called(effects)}
    reply |= {name: needed for name, needed in needs.items() if needed}
    return {**reply, "next": f'start_workflow(workflow="{workflow.name}", inputs={{...}})'}


def description_of(module: Module) -> str:
    # The docstring may be that of the base, where the YAML has none.
    machine = module.workflow.machine
    return " ".join((vars(machine).get("__doc__") or "").split())


def input_schema(module: Module) -> dict[str, Json]:
    """The inputs as JSON Schema."""
    schema: dict[str, Json] = _lean(module.workflow.machine.inputs.model_json_schema(by_alias=True))
    schema.pop("description", None)
    return {"type": "object", "properties": {}, **schema}


_NAMED = ("properties", "$defs")
"""Under these keys stand names of the author's, which may be "title"."""
_EITHER_NUMBER = [{"type": "integer"}, {"type": "number"}]
_RENAMED = {"ge": "minimum", "le": "maximum"}
"""What pydantic leaves as it is on a number that may be whole or not."""


def _lean(schema: Json) -> Json:
    """Without made-up titles, and a number as a number."""
    if isinstance(schema, list):
        return [_lean(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Json] = {}
    key: str
    for key, value in schema.items():
        if key in _NAMED:
            found[key] = {name: _lean(one) for name, one in value.items()}
        elif key == "anyOf" and value == _EITHER_NUMBER:
            found["type"] = "number"
        elif key in ("default", "enum", "const"):
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
    """In the order of the YAML."""
    for step in steps_of(structure_of(machine), module.workflow.lines.get(chart, {})):
        yield {"id": step.id, "type": step.type, "line": step.line}


def _tools(effects: Iterable[Effect]) -> list[Json]:
    return distinct(effect.parameters.get("tool") for effect in effects if isinstance(effect, Ask))


def _agents(effects: Sequence[Effect]) -> list[Json]:
    asked = (effect.parameters.get("agent") if isinstance(effect, Ask) else None for effect in effects)
    spawned = (effect.agent if isinstance(effect, Spawn) else None for effect in effects)
    return distinct(agent for pair in zip(asked, spawned, strict=True) for agent in pair)


def _called(effects: Iterable[Effect]) -> list[Json]:
    return distinct(effect.workflow for effect in effects if isinstance(effect, Spawn))
