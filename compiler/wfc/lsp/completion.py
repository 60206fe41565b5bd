"""What could come next. It works from the text before the cursor, since a text that is being typed is mostly broken,
and from what the last readable version of the file said of names and types."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from wfc.dialects.blocks.file import BlocksFile
from wfc.language.ast import Scope
from wfc.language.fields import OneOf
from wfc.language.steps import STEP_TYPES
from wfc.language.steps.base import Step
from wfc.language.steps.foreach import Foreach
from wfc.language.types import shown
from wfc.lsp.analysis import Analysis
from wfc.lsp.blocks import suggestions_in_blocks
from wfc.lsp.mappings import given_at, mapping_at
from wfc.lsp.members import names_given, properties, type_of_path
from wfc.lsp.suggestion import ROOTS, Suggestion, column_of, fields_of, flow_keys, siblings
from wfc.reference import step_page
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


def suggestions_at(analysis: Analysis, text: str, offset: int) -> list[Suggestion]:
    """`analysis` is of the last version that could be read; `text` and `offset` are of this moment."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    above = text[:offset].split("\n")
    if not analysis.is_workflow:
        return []
    surface = analysis.unit.workflow.surface if analysis.unit.workflow else None
    if isinstance(surface, BlocksFile):
        return list(suggestions_in_blocks(surface, above, analysis.unit.project.names))
    scope, step = _around(analysis, above)
    hole = _hole(text, offset)
    if hole is not None:
        return list(_in_hole(analysis, scope, _starting(step, above), hole))
    if _LISTED.search(line) or _is_list_item(above):
        return list(_fields(analysis, scope))
    value = _VALUE.search(line)
    if value:
        return list(_values(analysis, scope, step, value[1], above))
    there = flow_keys(line)
    if there is not None:
        return list(fields_of(STEP_TYPES.get(there.get("type", ""), Step), there))
    return [*given_at(analysis, step, above), *_keys(above)] if _KEY.match(line) else []


def _hole(text: str, offset: int) -> str | None:
    """The text between the last `{{` and the cursor, unless that one is closed."""
    before = text[max(0, offset - 10_000) : offset]
    opened = [found.end() for found in _OPEN.finditer(before)]
    if not opened or _CLOSED.search(before, opened[-1]):
        return None
    return before[opened[-1] :]


def _around(analysis: Analysis, above: list[str]) -> tuple[Scope | None, Step | None]:
    """The step that the cursor is in, by the nearest id above it that the last readable version knows, or the task."""
    workflow = analysis.unit.workflow
    top = next((line for line in reversed(above) if line[:1].isalpha()), "")
    tasks = workflow.declared_tasks if workflow and top.startswith("tasks:") else {}
    for line in reversed(above):
        found = _ID.match(line)
        named = analysis.step_named(found[1]) if found else None
        if named:
            return named
        if (key := _ENTRY.match(line)) and key[1] in tasks:
            return tasks[key[1]], None
    return workflow, None


def _starting(step: Step | None, above: list[str]) -> Foreach | None:
    """The foreach that the cursor is in, where it is in what that one hands to its children."""
    if not isinstance(step, Foreach):
        return None
    begun = next((n for n in range(len(above) - 1, -1, -1) if _ID.match(above[n])), 0)
    return step if any(_WITH.search(line) for line in above[begun:]) else None


# -- in {{ }} ------------------------------------------------------------------


def _in_hole(
    analysis: Analysis, scope: Scope | None, starting: Foreach | None, hole: str
) -> Iterator[Suggestion]:
    path = _PATH.search(hole) or _INDEX.search(hole)
    if path:
        names = _PART.findall(path[1])
        yield from _members(analysis, scope, names, starting)
    elif _FILTER.search(hole):
        yield from _builtins(FILTERS.values(), "filter")
    elif _TEST.search(hole):
        yield from _builtins(TESTS.values(), "test")
    elif _WORD.search(hole):
        yield from (Suggestion(name, "name", doc) for name, doc in ROOTS.items())
        for name, kind in names_given(analysis, scope, starting).items():
            yield Suggestion(name, "name", shown(kind))
        yield from _builtins(FUNCTIONS.values(), "function")


def _members(
    analysis: Analysis, scope: Scope | None, names: list[str], starting: Foreach | None
) -> Iterator[Suggestion]:
    if scope is None:
        return
    if names == ["state"]:
        yield from _fields(analysis, scope)
    elif names == ["inputs"]:
        for name, declared in scope.declared_inputs.items():
            doc = declared.description.text if declared.description else ""
            yield Suggestion(name, "input", shown(declared.read_type), doc)
    else:
        path = [int(name) if name.isdigit() else name for name in names]
        for name, kind in properties(type_of_path(analysis, scope, path, starting)).items():
            yield Suggestion(name, "property", shown(kind))


def _fields(analysis: Analysis, scope: Scope | None) -> Iterator[Suggestion]:
    types = analysis.scopes.get(scope) if scope else None
    for name, kind in (types.field_types() if types else {}).items():
        yield Suggestion(name, "field", shown(kind))


def _builtins(table: Iterable[Builtin], kind: str) -> Iterator[Suggestion]:
    return (Suggestion(one.name, kind, one.doc) for one in table)


# -- in YAML -------------------------------------------------------------------


def _is_list_item(above: list[str]) -> bool:
    """On a line `- name` below `needs_state:`."""
    if not re.match(r"^\s*-\s*\w*$", above[-1]):
        return False
    earlier = [line for line in above[:-1] if line.strip() and not re.match(r"^\s*-\s*\w+\s*$", line)]
    return bool(earlier) and earlier[-1].strip() == "needs_state:"


def _values(
    analysis: Analysis, scope: Scope | None, step: Step | None, key: str, above: list[str]
) -> Iterator[Suggestion]:
    named: dict[str, Callable[[], Iterable[str]]] = {
        "target": lambda: _names(analysis, "step", scope),
        "goto": lambda: _names(analysis, "step", scope),
        "else": lambda: _names(analysis, "step", scope),
        "task": lambda: _names(analysis, "task", None),
        "workflow": lambda: analysis.unit.project.names(),
    }
    kinds = {"target": "step", "goto": "step", "else": "step", "task": "task", "workflow": "workflow"}
    shape = mapping_at(above) or (type(step) if step else None)
    if key == "type" and (shape is None or issubclass(shape, Step)):
        for name, kind in STEP_TYPES.items():
            page = step_page(kind)
            yield Suggestion(name, "type", page.summary, page.doc)
    elif key in named:
        yield from (Suggestion(name, kinds[key]) for name in named[key]())
    elif key in ("output_to",):
        yield from _fields(analysis, scope)
    else:
        field = shape.FIELDS.get(key) if shape else None
        if field and isinstance(field.type, OneOf):
            yield from (Suggestion(choice, "value") for choice in field.type.choices)


def _names(analysis: Analysis, kind: str, scope: Scope | None) -> list[str]:
    return [symbol.name for symbol in analysis.index.named(kind, scope) if symbol.definitions]


def _keys(above: list[str]) -> Iterator[Suggestion]:
    there, _ = siblings(above[:-1], column_of(above[-1]))
    shape = mapping_at(above)
    yield from fields_of(shape, there) if shape else ()
