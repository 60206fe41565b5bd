"""Completion in the steps language: in expressions, in values, and for keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from wfc.dialects.editing import (
    OpenFile,
    Suggestion,
    column_of,
    fields_of,
    flow_keys,
    inputs_suggested,
    parents,
    siblings,
    text_of,
)
from wfc.language.ast import Scope, Task, Workflow
from wfc.language.dialect import CORE
from wfc.language.fields import OneOf
from wfc.language.reference import step_page
from wfc.language.shape import InputDecl, Shape, Validation
from wfc.language.steps import STEP_TYPES
from wfc.language.steps.base import Recovery, Retry, Step
from wfc.language.steps.protocol import Child
from wfc.language.steps.shell import FileOutput
from wfc.language.types import properties, shown
from wfc_runtime.expr import FILTERS, FUNCTIONS, TESTS, Builtin

_OPEN = re.compile(r"\{\{|\{%")
_CLOSED = re.compile(r"\}\}|%\}")
_PATH = re.compile(r"([A-Za-z_]\w*(?:\.\w+|\[\d+\]|\['[^']*'\])*)\.(\w*)$")
_PART = re.compile(r"\w+")
_FILTER = re.compile(r"\|\s*(\w*)$")
_TEST = re.compile(r"\bis\s+(?:not\s+)?(\w*)$")
_WORD = re.compile(r"(\w*)$")
_INDEX = re.compile(r"([A-Za-z_]\w*(?:\.\w+|\[\d+\]|\['[^']*'\])*)\[['\"](\w*)$")
_VALUE = re.compile(r"(?:^\s*(?:- )?|[{,]\s*)([a-z_]+):\s+(['\"]?)([^'\"\[\]{},#]*)$")
_LISTED = re.compile(r"\bneeds_state:\s*\[(?:[^\]]*,)?\s*['\"]?(\w*)$")
_ENTRY = re.compile(r"^\s+['\"]?([^'\"\s:]+)['\"]?:\s*(?:#.*)?$")
_WITH = re.compile(r"^\s*with:|[{,]\s*with:")
_KEY = re.compile(r"^\s*(?:- )?[a-z_]*$")
_ID = re.compile(r"^\s*(?:- )?(?:\{\s*)?id:\s*['\"]?([^'\"\s#,}]+)")


def complete(file: OpenFile, text: str, offset: int) -> list[Suggestion]:
    """`file` is the last version that could be read; `text` and `offset` are what the editor shows now."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    above = text[:offset].split("\n")
    scope, step = _around(file, above)
    hole = _hole(text, offset)
    if hole is not None:
        return list(_in_hole(file, scope, _starting(step, above), hole))
    if _LISTED.search(line) or _is_list_item(above):
        return list(_fields(file, scope))
    value = _VALUE.search(line)
    if value:
        return list(_values(file, scope, step, value[1], above))
    there = flow_keys(line)
    if there is not None:
        return list(fields_of(STEP_TYPES.get(there.get("type", ""), Step), there))
    return [*_given(file, step, above), *_keys(above)] if _KEY.match(line) else []


def _hole(text: str, offset: int) -> str | None:
    """The text between an open `{{` or `{%` and the cursor; None outside of an expression."""
    # Templates are short; without a limit, each key press would search a large file from its start.
    before = text[max(0, offset - 10_000) : offset]
    opened = [found.end() for found in _OPEN.finditer(before)]
    if not opened or _CLOSED.search(before, opened[-1]):
        return None
    return before[opened[-1] :]


def _around(file: OpenFile, above: list[str]) -> tuple[Scope | None, Step | None]:
    """The scope and step at the cursor: the nearest id above it that the last readable version has, or the task."""
    workflow = file.parsed.workflow if file.parsed else None
    top = next((line for line in reversed(above) if line[:1].isalpha()), "")
    tasks = workflow.declared_tasks if workflow and top.startswith("tasks:") else {}
    for line in reversed(above):
        found = _ID.match(line)
        named = file.step_named(found[1]) if found else None
        if named:
            return named
        if (key := _ENTRY.match(line)) and key[1] in tasks:
            return tasks[key[1]], None
    return workflow, None


def _starting(step: Step | None, above: list[str]) -> Child | None:
    """The runs of a task that the step at the cursor starts, if the cursor is in the values that they get."""
    child = step.child() if step is not None else None
    if child is None or not child.is_task:
        return None
    begun = next((n for n in range(len(above) - 1, -1, -1) if _ID.match(above[n])), 0)
    return child if any(_WITH.search(line) for line in above[begun:]) else None


# -- in {{ }} ------------------------------------------------------------------


def _in_hole(file: OpenFile, scope: Scope | None, starting: Child | None, hole: str) -> Iterator[Suggestion]:
    path = _PATH.search(hole) or _INDEX.search(hole)
    if path:
        names = _PART.findall(path[1])
        yield from _members(file, scope, names, starting)
    elif _FILTER.search(hole):
        yield from _builtins(FILTERS.values(), "filter")
    elif _TEST.search(hole):
        yield from _builtins(TESTS.values(), "test")
    elif _WORD.search(hole):
        yield from (Suggestion(name, "name", doc) for name, doc in CORE.roots.items())
        for name, kind in file.names_given(scope, starting).items():
            yield Suggestion(name, "name", shown(kind))
        yield from _builtins(FUNCTIONS.values(), "function")


def _members(
    file: OpenFile, scope: Scope | None, names: list[str], starting: Child | None
) -> Iterator[Suggestion]:
    if scope is None:
        return
    if names == ["state"]:
        yield from _fields(file, scope)
    elif names == ["inputs"]:
        for name, declared in scope.declared_inputs.items():
            yield Suggestion(name, "input", shown(declared.read_type), text_of(declared.description))
    else:
        path = [int(name) if name.isdigit() else name for name in names]
        for name, kind in properties(file.type_of_path(scope, path, starting)).items():
            yield Suggestion(name, "property", shown(kind))


def _fields(file: OpenFile, scope: Scope | None) -> Iterator[Suggestion]:
    for name, kind in file.fields(scope).items():
        yield Suggestion(name, "field", shown(kind))


def _builtins(table: Iterable[Builtin], kind: str) -> Iterator[Suggestion]:
    return (Suggestion(one.name, kind, one.doc) for one in table)


# -- in YAML -------------------------------------------------------------------


def _is_list_item(above: list[str]) -> bool:
    """Whether the cursor is on an item of a `needs_state` list."""
    if not re.match(r"^\s*-\s*\w*$", above[-1]):
        return False
    earlier = [line for line in above[:-1] if line.strip() and not re.match(r"^\s*-\s*\w+\s*$", line)]
    return bool(earlier) and earlier[-1].strip() == "needs_state:"


def _values(
    file: OpenFile, scope: Scope | None, step: Step | None, key: str, above: list[str]
) -> Iterator[Suggestion]:
    named: dict[str, Callable[[], Iterable[str]]] = {
        "target": lambda: _step_names(scope),
        "goto": lambda: _step_names(scope),
        "else": lambda: _step_names(scope),
        "task": lambda: file.parsed.workflow.declared_tasks if file.parsed else (),
        "workflow": file.workflows,
    }
    kinds = {"target": "step", "goto": "step", "else": "step", "task": "task", "workflow": "workflow"}
    shape = _mapping(above) or (type(step) if step else None)
    if key == "type" and (shape is None or issubclass(shape, Step)):
        for name, kind in STEP_TYPES.items():
            page = step_page(kind)
            yield Suggestion(name, "type", page.summary, page.doc)
    elif key in named:
        yield from (Suggestion(name, kinds[key]) for name in named[key]())
    elif key in ("output_to",):
        yield from _fields(file, scope)
    else:
        field = shape.FIELDS.get(key) if shape else None
        if field and isinstance(field.type, OneOf):
            yield from (Suggestion(choice, "value") for choice in field.type.choices)


def _step_names(scope: Scope | None) -> list[str]:
    return list(dict.fromkeys(step.name for step in scope.walk() if step.id)) if scope else []


def _keys(above: list[str]) -> Iterator[Suggestion]:
    there, _ = siblings(above[:-1], column_of(above[-1]))
    shape = _mapping(above)
    yield from fields_of(shape, there) if shape else ()


# The mapping that the cursor is in.


def _mapping(above: list[str]) -> type[Shape] | None:
    """The shape of the mapping at the cursor; `above` has the lines up to it."""
    indent = column_of(above[-1])
    match [key for key, _ in parents(above)]:
        case [] if indent == 0:
            return Workflow
        case ["retry", *_]:
            return Retry
        case ["on_error", *_]:
            return Recovery
        case ["validation", *_]:
            return Validation
        case [_, "inputs"] | [_, "inputs", _, "tasks"]:
            return InputDecl
        case [_, "tasks"]:
            return Task
        case [_, "outputs", *_]:
            return FileOutput
        case ["steps" | "then" | "else", *_] | [_, "branches", *_]:
            return STEP_TYPES.get(siblings(above[:-1], indent)[1], Step)
    return None


def _given(file: OpenFile, step: Step | None, above: list[str]) -> Iterator[Suggestion]:
    """In a `with`: the inputs of the task or workflow that the step runs."""
    if next(parents(above), ("", ""))[0] != "with":
        return
    there, _ = siblings(above[:-1], column_of(above[-1]))
    yield from inputs_suggested(_started(file, step), there)


def _started(file: OpenFile, step: Step | None) -> dict[str, InputDecl]:
    child = step.child() if step is not None else None
    if child is None or child.name is None:
        return {}
    if child.is_task:
        scope: Scope | None = (
            file.parsed.workflow.declared_tasks.get(child.name.text) if file.parsed else None
        )
    else:
        scope = file.called(child.name.text)
    return scope.declared_inputs if scope else {}
