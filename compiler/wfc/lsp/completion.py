"""Completion.

It works from the text before the cursor, since a text that is being typed is mostly broken, and from the
names and types of the last readable version.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from wfc.analysis.types.lattice import join
from wfc.analysis.types.reaching import child_names
from wfc.block_reference import STATE_DOCS, block_page
from wfc.dialects.blocks.file import (
    INPUT_TYPES,
    Block,
    BlocksFile,
    Dependency,
    InputDeclaration,
    OutputDeclaration,
    WorkflowOutput,
)
from wfc.dialects.blocks.kinds import KINDS
from wfc.dialects.blocks.results import OF_WORKFLOW
from wfc.language.ast import Scope, Task, Workflow
from wfc.language.fields import OneOf
from wfc.language.scopes import runners
from wfc.language.shape import InputDecl, Shape, Validation
from wfc.language.steps import STEP_TYPES
from wfc.language.steps.base import Recovery, Retry, Step
from wfc.language.steps.call import Call
from wfc.language.steps.foreach import Foreach
from wfc.language.steps.shell import FileOutput
from wfc.language.types import ANY, NULL, Fixed, ListType, MapType, Record, Type, Union, shown, union
from wfc.lsp.analysis import Analysis
from wfc.reference import step_page
from wfc_runtime.expr import FILTERS, FUNCTIONS, TESTS, Builtin

_TYPE = re.compile(r"^\s*(?:- )?type:\s*['\"]?(\w+)")
_FLOW = re.compile(r"^\s*- \{([^{}]*,)?\s*[a-z_]*$")
_FLOW_KEY = re.compile(r"(?:^|,)\s*([a-z_]+):\s*['\"]?(\w*)")
ROOTS = {"state": "the state fields that `needs_state` lists", "inputs": "what the run was started with"}
"""Names that every template of the steps language has."""


@dataclass(frozen=True)
class Suggestion:
    text: str
    kind: str
    """field, input, property, step, task, workflow, type, key, value, filter, test, function or name."""
    detail: str = ""
    doc: str = ""


def siblings(above: list[str], indent: int) -> tuple[set[str], str]:
    """The keys above the cursor in the same mapping, and the `type` among them."""
    keys: set[str] = set()
    kind = ""
    for line in reversed(above):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        depth = column_of(line)
        if depth < indent:
            break
        if depth == indent:
            keys.add(line.strip().removeprefix("- ").partition(":")[0])
            typed = _TYPE.match(line)
            kind = kind or (typed[1] if typed else "")
            if line.lstrip().startswith("- "):
                break
    return keys, kind


def parents(above: list[str]) -> Iterator[tuple[str, str]]:
    """The keys that the mapping or list at the cursor belongs to, from the inside, and the `type` beside each."""
    column = column_of(above[-1])
    for number in range(len(above) - 2, -1, -1):
        line = above[number]
        if line.strip() and column_of(line) < column:
            key = line.strip().removeprefix("- ").partition(":")[0]
            yield key, siblings(above[:number], column_of(line))[1]
            column = column_of(line)


def flow_keys(line: str) -> dict[str, str] | None:
    """The keys before the cursor, with their values, where a list has a mapping in one line (`- {id: go, `)."""
    found = _FLOW.match(line)
    return dict(_FLOW_KEY.findall(found[1] or "")) if found else None


def fields_of(shape: type[Shape], there: Container[str]) -> Iterator[Suggestion]:
    """The keys of a mapping that are not there yet."""
    for name, field in shape.FIELDS.items():
        if name not in there:
            need = "required" if field.required else ""
            yield Suggestion(name, "key", need, f"{field.doc} Takes {field.type.words}.")


def column_of(line: str) -> int:
    """Where the key of a line begins, after the dash of a list."""
    bare = line.lstrip()
    return len(line) - len(bare) + (2 if bare.startswith("- ") else 0)


# Members: what can follow a dot, by the type of the value before it.


def names_given(analysis: Analysis, scope: Scope | None, starting: Foreach | None = None) -> dict[str, Type]:
    """`item` and its kin with their types: in a task, or in the `with` of the foreach that starts its children."""
    workflow = analysis.unit.workflow
    if starting is not None:
        steps = [starting]
    else:
        named = scope.task_name if isinstance(scope, Task) else None
        steps = runners(workflow).get(named, []) if workflow and named else []
    owners = {step: types for types in analysis.scopes.values() for step in types.scope.walk()}
    given = [
        child_names(step, owners[step].item_of(step), owners[step].file) for step in steps if step in owners
    ]
    common = set(given[0]).intersection(*given[1:]) if given else ()
    return {name: join(*(one[name] for one in given)) for name in sorted(common)}


def root_type(
    analysis: Analysis, scope: Scope, root: str, first: str | int | None, starting: Foreach | None
) -> Type | None:
    """What `state.first`, `inputs.first`, or a name such as `item` is; None where nothing is known of it."""
    if root == "state":
        types = analysis.scopes.get(scope)
        return types.field_types().get(str(first)) if types else None
    if root == "inputs":
        declared = scope.declared_inputs.get(str(first))
        return declared.read_type if declared else None
    return names_given(analysis, scope, starting).get(root)


def type_of_path(
    analysis: Analysis, scope: Scope, names: Sequence[str | int | None], starting: Foreach | None = None
) -> Type | None:
    """The type at the end of a path, root first. `starting`: the foreach in whose `with` it stands."""
    root = str(names[0])
    owned = root in ("state", "inputs")
    if owned and len(names) < 2:
        return None
    kind = root_type(analysis, scope, root, names[1] if owned else None, starting)
    for name in names[2 if owned else 1 :]:
        if kind is None:
            return None
        kind = member(kind, name)
    return kind


def member(kind: Type, name: str | int | None) -> Type | None:
    match kind:
        case Record():
            prop = kind.get(str(name))
            return prop.type if prop else None
        case MapType():
            return kind.item
        case ListType():
            return kind.item if not isinstance(name, str) else None
        case Fixed():
            return union(*kind.items) if kind.items else ANY
        case Union():
            found = [part for option in kind.options if (part := member(option, name)) is not None]
            return union(*found) if found else None
    return None


def properties(kind: Type | None) -> dict[str, Type]:
    """The names that can come after the dot, each with its type."""
    match kind:
        case Record():
            return {
                prop.name: prop.type if prop.required else union(prop.type, NULL) for prop in kind.properties
            }
        case Union():
            found: dict[str, Type] = {}
            for option in kind.options:
                for name, one in properties(option).items():
                    found[name] = union(found[name], one) if name in found else one
            return found
    return {}


# The mapping of the steps language that the cursor is in, by the keys above it.


def mapping_at(above: list[str]) -> type[Shape] | None:
    """What may stand in the mapping at the cursor; `above` is the text up to there, in lines."""
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


def given_at(analysis: Analysis, step: Step | None, above: list[str]) -> Iterator[Suggestion]:
    """In a `with`: the inputs of what the step starts."""
    if next(parents(above), ("", ""))[0] != "with":
        return
    there, _ = siblings(above[:-1], column_of(above[-1]))
    for name, declared in _started(analysis, step).items():
        if name not in there:
            doc = declared.description.text if declared.description else ""
            yield Suggestion(name, "input", declared.type.text if declared.type else "", doc)


def _started(analysis: Analysis, step: Step | None) -> dict[str, InputDecl]:
    workflow = analysis.unit.workflow
    if isinstance(step, Foreach) and step.task and workflow:
        task = workflow.declared_tasks.get(step.task.text)
        return task.declared_inputs if task else {}
    if isinstance(step, Call) and step.workflow:
        called = [unit.workflow for unit in analysis.unit.project.named(step.workflow.text) if unit.workflow]
        return called[0].declared_inputs if called else {}
    return {}


# Graphs of blocks: after `${`, in `depends_on`, as a type, and as a key.

_REFERENCE = re.compile(r"\$\{\s*((?:[\w-]+\.)*)[\w-]*$")
_WAITED_FOR = re.compile(r"\bdepends_on:\s*\[(?:[^\]]*,)?\s*[\w-]*$|\bblock:\s*[\w-]*$")
_BLOCK_LISTED = re.compile(r"^\s*-\s*[\w-]*$")
_BLOCK_TYPE = re.compile(r"(?:^\s*(?:- )?|[{,]\s*)type:\s*\w*$")
_WORKFLOW = re.compile(r"^\s*workflow:\s*[\w-]*$")
_BLOCK_KEY = re.compile(r"^\s*(?:- )?[a-z_]*$")


def suggestions_in_blocks(
    file: BlocksFile, above: list[str], workflows: Callable[[], Iterable[str]]
) -> Iterator[Suggestion]:
    """`above` is the text to the cursor, in lines; `workflows` names those of the project, which takes a moment."""
    line = above[-1]
    reference = _REFERENCE.search(line)
    if reference:
        yield from _after(file, [part for part in reference[1].split(".") if part])
    elif _WAITED_FOR.search(line) or (_BLOCK_LISTED.match(line) and _parent(above)[0] == "depends_on"):
        yield from _blocks(file)
    elif _WORKFLOW.match(line):
        yield from (Suggestion(name, "workflow") for name in workflows())
    elif _BLOCK_TYPE.search(line):
        yield from _types(above)
    elif (there := flow_keys(line)) is not None and _parent(above)[0] == "blocks":
        yield from fields_of(Block, there)
    elif _BLOCK_KEY.match(line):
        yield from _block_keys(above)


def _after(file: BlocksFile, path: list[str]) -> Iterator[Suggestion]:
    match path:
        case []:
            yield Suggestion("inputs", "name", "what the run was started with")
            yield Suggestion("blocks", "name", "what blocks gave back, and how they ended")
            yield Suggestion("metadata", "name", "the run itself")
        case ["inputs"]:
            for name, declared in (file.inputs or {}).items():
                doc = declared.description.text if declared.description else ""
                yield Suggestion(name, "input", declared.type.text if declared.type else "", doc)
        case ["metadata"]:
            yield from (Suggestion(name, "property") for name in OF_WORKFLOW)
        case ["blocks"]:
            yield from _blocks(file)
        case ["blocks", name]:
            yield from (Suggestion(state, "property", doc) for state, doc in STATE_DOCS.items())
            yield from _outputs(file, name)
            yield Suggestion("outputs", "name", "what it gave back")
        case ["blocks", name, "outputs"]:
            yield from _outputs(file, name)


def _blocks(file: BlocksFile) -> Iterator[Suggestion]:
    for block in file.blocks or []:
        if block.id:
            doc = block.description.text if block.description else ""
            yield Suggestion(block.id.text, "step", block.type.text if block.type else "", doc)


def _outputs(file: BlocksFile, name: str) -> Iterator[Suggestion]:
    block = next((one for one in file.blocks or [] if one.id and one.id.text == name), None)
    if block is None or block.type is None or block.type.text not in KINDS:
        return
    for output, kind in block_page(block.type.text).outputs.items():
        yield Suggestion(output, "property", kind)
    for output, declared in (block.outputs or {}).items():
        yield Suggestion(output, "property", declared.type.text if declared.type else "")


def _types(above: list[str]) -> Iterator[Suggestion]:
    top = next((line for line in reversed(above) if re.match(r"\w", line)), "")
    if top.startswith("blocks:"):
        for name in KINDS:
            page = block_page(name)
            yield Suggestion(name, "type", page.doc, page.markdown)
    else:
        yield from (Suggestion(name, "value") for name in INPUT_TYPES)


def _block_keys(above: list[str]) -> Iterator[Suggestion]:
    indent = column_of(above[-1])
    there, _ = siblings(above[:-1], indent)
    shape = _shape(above) if indent else BlocksFile
    yield from fields_of(shape, there) if shape else ()


def _shape(above: list[str]) -> type[Shape] | None:
    """What may stand in the mapping at the cursor."""
    ways = list(parents(above))
    match [key for key, _ in ways]:
        case ["blocks"]:
            return Block
        case ["inputs", "blocks"] if ways[0][1] in KINDS:
            return KINDS[ways[0][1]].inputs
        case ["retry", "blocks"]:
            return Retry
        case ["depends_on", "blocks"]:
            return Dependency
        case [_, "inputs"]:
            return InputDeclaration
        case [_, "outputs"]:
            return WorkflowOutput
        case [_, "outputs" | "custom_outputs", *_]:
            return OutputDeclaration
    return None


def _parent(above: list[str]) -> tuple[str, str]:
    return next(parents(above), ("", ""))


# The steps language.

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
    surface = analysis.unit.parsed.surface if analysis.unit.parsed else None
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
