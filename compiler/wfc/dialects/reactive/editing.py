"""Reactive files in an editor: completion, symbols and hover texts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wfc.dialects.editing import (
    OpenFile,
    StepUse,
    Suggestion,
    column_of,
    fields_of,
    flow_keys,
    parents,
    siblings,
    text_of,
)
from wfc.dialects.reactive.kinds import KINDS, Handling, ReactiveStep, ToolCall, Update, page_of
from wfc.dialects.reactive.language import ReactiveLanguage
from wfc.dialects.reactive.model import (
    INPUT_TYPES,
    ComputedField,
    DefaultState,
    ErrorCollection,
    InputDeclaration,
    ReactiveFile,
    Rules,
    RunConfig,
    StateSchema,
    SubAgentErrors,
    Task,
    TaskErrors,
    WorkflowErrors,
)
from wfc.dialects.reactive.reading import walk
from wfc.dialects.reactive.scopes import Written, all_steps, declared_fields
from wfc.language.dialect import Parsed
from wfc.language.fields import OneOf
from wfc.language.shape import Budget, Shape

_HOLE = re.compile(r"\{\{(?:(?!\}\}).)*$")
_PATH = re.compile(r"(?:^|[^\w.'\"])((?:[A-Za-z_]\w*\.)*)\w*$")
_VALUE = re.compile(r"(?:^\s*(?:- )?|[{,]\s*)([a-z_]+):\s+(['\"]?)([^'\"\[\]{},#]*)$")
_WRITTEN = re.compile(
    r"\b(?:path|store_result|store_response|state_path|error_state_path):\s*['\"]?([\w.]*)$"
)
_KEY = re.compile(r"^\s*(?:- )?[a-z_]*$")
_EXPRESSIONS = ("condition", "items", "from")
_FUNCTIONS = {
    "now": "the time of the event, as text in ISO 8601",
    "uuid": "a new id",
    "shquote": "a value quoted for a shell",
    "path_to_key": "a path as a key: `src/a.ts` stays one key",
}
_LOOP = {
    "iteration": "the number of the iteration, from 1",
    "item": "the item of this iteration",
    "index": "its number, from 0",
}

# Completion.


def complete(opened: OpenFile, text: str, offset: int) -> Iterator[Suggestion]:
    file = opened.parsed.surface if opened.parsed else None
    if not isinstance(file, ReactiveFile):
        return
    above = text[:offset].split("\n")
    line = above[-1]
    scope = _scope(file, above)
    hole = _HOLE.search(line)
    value = _VALUE.search(line)
    if hole or (value and value[1] in _EXPRESSIONS):
        path = _PATH.search(hole[0] if hole else value[3] if value else "")
        yield from _names(file, scope, [part for part in path[1].split(".") if part] if path else [])
    elif found := _WRITTEN.search(line):
        yield from _targets(scope, found[1])
    elif value:
        yield from _values(opened, file, value[1], above)
    elif (there := flow_keys(line)) is not None:
        yield from fields_of(KINDS.get(there.get("type", ""), ReactiveStep), there)
    elif _KEY.match(line):
        shape = _mapping(above)
        keys, _ = siblings(above[:-1], column_of(line))
        yield from fields_of(shape, keys) if shape else ()


def _scope(file: ReactiveFile, above: list[str]) -> Written:
    """The workflow or the task around the cursor."""
    keys = [key for key, _ in parents(above)]
    if keys and keys[-1] == "sub_agent_tasks" and len(keys) > 1:
        task: Task | None = (file.sub_agent_tasks or {}).get(keys[-2])
        return task or file
    return file


def _names(file: ReactiveFile, scope: Written, path: list[str]) -> Iterator[Suggestion]:
    owner = scope if isinstance(scope, ReactiveFile) or scope.state_schema or scope.default_state else file
    fields = declared_fields(owner)
    match path:
        case []:
            yield from (Suggestion(name, "name", doc) for name, doc in ReactiveLanguage.roots.items())
            yield from _computed(owner)
            yield from (Suggestion(name, "field", fields.types.get(name, "")) for name in fields.raw)
            yield from (Suggestion(name, "function", doc) for name, doc in _FUNCTIONS.items())
        case ["this"]:
            yield from _computed(owner)
            yield from (Suggestion(name, "field", fields.types.get(name, "")) for name in fields.raw)
        case ["computed"]:
            yield from _computed(owner)
        case ["raw" | "state"]:
            yield from (Suggestion(name, "field", fields.types.get(name, "")) for name in fields.raw)
        case ["global"]:
            yield from (Suggestion(name, "field") for name in fields.globals)
        case ["inputs"]:
            for name, declared in (scope.inputs or {}).items():
                if isinstance(declared, InputDeclaration):
                    yield Suggestion(name, "input", text_of(declared.type), text_of(declared.description))
        case ["loop"]:
            yield from (Suggestion(name, "property", doc) for name, doc in _LOOP.items())


def _computed(scope: Written) -> Iterator[Suggestion]:
    schema = scope.state_schema
    for name, field in ((schema.computed or {}) if schema else {}).items():
        yield Suggestion(name, "field", "computed", text_of(field.transform))


def _targets(scope: Written, before: str) -> Iterator[Suggestion]:
    if "." not in before:
        yield from (Suggestion(f"{tier}.", "name") for tier in ("raw", "this", "state", "global"))
        return
    fields = declared_fields(scope)
    yield from (Suggestion(name, "field", fields.types.get(name, "")) for name in fields.raw)


def _values(opened: OpenFile, file: ReactiveFile, key: str, above: list[str]) -> Iterator[Suggestion]:
    shape = _mapping(above)
    if key == "type" and (shape is None or issubclass(shape, ReactiveStep)):
        for name, kind in KINDS.items():
            page = page_of(kind)
            yield Suggestion(name, "type", page.split("\n", 1)[0], page)
    elif key == "type":
        yield from (Suggestion(name, "value") for name in INPUT_TYPES)
    elif key == "sub_agent_task":
        yield from (Suggestion(name, "task") for name in file.sub_agent_tasks or ())
    elif key == "workflow":
        yield from (Suggestion(name, "workflow") for name in opened.workflows())
    else:
        field = shape.FIELDS.get(key) if shape else None
        if field and isinstance(field.type, OneOf):
            yield from (Suggestion(choice, "value") for choice in field.type.choices)


_NESTED: dict[str, type[Shape]] = {
    "state_update": Update,
    "error_state_update": Update,
    "updates": Update,
    "state_updates": Update,
    "validation": Rules,
    "mcp": ToolCall,
    "on_sub_agent_error": SubAgentErrors,
    "error_collection": ErrorCollection,
    "config": RunConfig,
    "budget": Budget,
    "state_schema": StateSchema,
    "default_state": DefaultState,
}


def _mapping(above: list[str]) -> type[Shape] | None:
    """The shape of the mapping at the cursor; `above` has the lines up to it."""
    indent = column_of(above[-1])
    keys = [key for key, _ in parents(above)]
    match keys:
        case [] if indent == 0:
            return ReactiveFile
        case [_, "inputs", *_]:
            return InputDeclaration
        case [_, "computed", *_]:
            return ComputedField
        case [_, "sub_agent_tasks"]:
            return Task
        case ["error_handling"]:
            return WorkflowErrors
        case ["error_handling", _, "sub_agent_tasks"]:
            return TaskErrors
        case ["error_handling", *_]:
            return Handling
        case [key, *_] if key in _NESTED:
            return _NESTED[key]
        case [key, *_] if key in _LISTS:
            return KINDS.get(siblings(above[:-1], indent)[1], ReactiveStep)
    return None


_LISTS = (
    "steps",
    "then",
    "else",
    "then_steps",
    "else_steps",
    "body",
    "on_failure",
    "cleanup_on_error",
    "on_complete",
)

# Symbols.


def step_uses(parsed: Parsed) -> Iterator[StepUse]:
    """Where steps and tasks are defined."""
    file = parsed.surface
    if not isinstance(file, ReactiveFile):
        return
    scopes: list[Written] = [file, *(file.sub_agent_tasks or {}).values()]
    for scope in scopes:
        for step in all_steps(scope):
            if step.id:
                kind = step.type.text if step.type else ""
                title = f"**{step.id.text}** ({kind})"
                yield StepUse(step.id.text, step.id.span, True, title, text_of(step.description))
    usage = file.on_high_context_usage
    for step in walk(usage.steps or []) if usage else ():
        if step.id:
            yield StepUse(step.id.text, step.id.span, True)
