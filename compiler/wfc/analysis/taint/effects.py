"""Effects of steps: the untrusted values that a step brings in, and those that it passes on.

Steps are not distinguished by class: one that is answered brings in its result, one with a child passes values to runs
and gets their results, one that assigns or returns passes on the values of its templates.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from collections.abc import Mapping as Named
from typing import Any, Protocol

from wfc.analysis.taint.policy import Policy
from wfc.analysis.taint.values import CLEAN, Flow, Level, Taint, join, joined, listed, only, record
from wfc.analysis.types.workflow import ScopeTypes
from wfc.language import types
from wfc.language.ast import Scope, Task
from wfc.language.derived import Computed
from wfc.language.dialect import Language
from wfc.language.shape import InputDecl
from wfc.language.steps.base import Answered, Step
from wfc.language.steps.protocol import PREVIOUS, Child
from wfc.language.types import Choice, Exact, Fixed, ListType, MapType, Record, Simple, Type, Union
from wfc.yaml import Mapping, Node

# Sources: untrusted values, by the type, schema or declaration that limits them.

_PLAIN_TYPES = (types.INT, types.NUMBER, types.BOOL, types.NULL)
_PLAIN_SCHEMAS = frozenset({"integer", "number", "boolean", "null"})
# A recursive schema would otherwise never end; below this depth the whole value counts as untrusted.
_DEEPEST = 4


def is_harmless(kind: Type) -> bool:
    """Whether no value of the type can do harm: numbers, booleans, and texts written in the file."""
    if isinstance(kind, Union):
        return all(map(is_harmless, kind.options))
    return kind in _PLAIN_TYPES if isinstance(kind, Simple) else isinstance(kind, Choice | Exact)


def of_type(kind: Type, flow: Flow) -> Taint:
    """The taint of an untrusted value of a type."""
    return within(only(flow), kind)


def within(taint: Taint, kind: Type, depth: int = _DEEPEST) -> Taint:
    """The taint without the parts that the type of the value makes harmless."""
    if taint.is_clean or is_harmless(kind):
        return CLEAN
    match kind:
        case ListType() if depth:
            return taint.as_list(within(taint.item, kind.item, depth - 1))
        case Fixed() if depth:
            return listed(joined(within(taint.item, item, depth - 1) for item in kind.items))
        case MapType() if depth and not taint.parts:
            return taint if kind.item == types.ANY else within(taint, kind.item, depth - 1)
        case Record() if depth:
            known = {
                prop.name: within(taint.get(prop.name), prop.type, depth - 1) for prop in kind.properties
            }
            return record({**taint.parts, **known}, taint.flow if kind.open else None)
        case Union():
            options = [option for option in kind.options if not is_harmless(option)]
            return within(taint, options[0], depth) if len(options) == 1 else taint
    return taint


def of_schema(schema: Any, flow: Flow, policy: Policy, depth: int = _DEEPEST) -> Taint:
    """The taint of an untrusted value that fits a JSON Schema."""
    if not isinstance(schema, dict) or depth == 0:
        return only(flow)
    # The author wrote every possible value.
    if isinstance(schema.get("enum"), list) or "const" in schema:
        return CLEAN
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if all(isinstance(kind, str) and kind in _PLAIN_SCHEMAS for kind in kinds):
        return CLEAN
    others = [kind for kind in kinds if not isinstance(kind, str) or kind not in _PLAIN_SCHEMAS]
    if others == ["string"]:
        # A pattern helps only if it admits none of the characters that are dangerous in this use.
        return CLEAN if policy.characters.is_safe(schema.get("pattern")) else only(flow)
    if others == ["array"]:
        return listed(of_schema(schema.get("items"), flow, policy, depth - 1), flow, "maxItems" in schema)
    properties = schema.get("properties")
    if others in (["object"], [None]) and isinstance(properties, dict):
        parts = {str(name): of_schema(inner, flow, policy, depth - 1) for name, inner in properties.items()}
        # JSON Schema allows further properties by default, and those may be anything.
        return record(parts, None if schema.get("additionalProperties") is False else flow)
    return only(flow)


def of_declaration(decl: InputDecl, taint: Taint, policy: Policy, depth: int = _DEEPEST) -> Taint:
    """The taint of a value that fits the declaration of an input."""
    if taint.is_clean or decl.kind in _PLAIN_SCHEMAS:
        return CLEAN
    if decl.kind == "string":
        pattern = decl.rule_value("pattern")
        return CLEAN if decl.rule("enum") is not None or policy.characters.is_safe(pattern) else taint
    if decl.kind == "array":
        plain = decl.rule_value("item_type") in _PLAIN_SCHEMAS
        found = taint.as_list(CLEAN if plain else None)
        return found.short() if decl.rule("max_items") is not None else found
    properties = decl.rule("properties")
    if decl.kind == "object" and isinstance(properties, dict) and depth:
        parts = {
            name: of_declaration(inner, taint.get(name), policy, depth - 1)
            for name, inner in properties.items()
        }
        return record({**taint.parts, **parts}, taint.flow)
    return taint


# Steps: what each brings in from outside, and what it passes on.

Outcome = Iterator[tuple[tuple[Hashable, ...], Taint]]


class File(Protocol):
    tasks: dict[str, Task]
    policy: Policy
    language: Language

    def tree(self, step: Step, node: Node, names: Named[str, Taint]) -> Taint: ...
    def returned(self, scope: Scope) -> Taint: ...
    def read_field(self, home: ScopeTypes, field: str, mask: int) -> Taint: ...
    def called(self, name: str, given: Taint) -> Taint | None: ...


def outcome_of(step: Step, file: File, home: ScopeTypes) -> Outcome:
    """The variables that a step writes, each with the taint of what it writes there."""
    if isinstance(step, Computed):
        yield from _computed(step, file, home)
        return
    child = step.child()
    if isinstance(step, Answered):
        yield from _answered(step, file, home)
    if child is not None:
        yield from (_task if child.is_task else _workflow)(child, file, home)
    yield from _turns(step, file, home)
    yield from _changed(step, file, home)
    yield from _assigned(step, file, home)
    yield from _returned(step, file, home)


def origin(step: Step, file: File) -> Flow:
    """The flow that begins with the result of a step."""
    words, message = step.origin
    return Flow(Level.OUTSIDE, words, message.format(file.language.call(step)), step.span)


def _kept(step: Step, home: ScopeTypes, taint: Taint, field: str | None = None) -> Outcome:
    """A value that goes to a field, by default to the one that `output_to` names."""
    output = step.values.get("output_to")
    name = field or (output.text if output is not None else None)
    for way in home.inference.definitions.by_step.get(step, ()) if not taint.is_clean else ():
        if way.field == name:
            yield ("field", home.scope, way.number), taint


def _answered(step: Answered, file: File, home: ScopeTypes) -> Outcome:
    flow = origin(step, file)
    schema = step.result_schema_data()
    if schema is not None:
        return _kept(step, home, of_schema(schema, flow, file.policy))
    found = of_type(step.result_type(), flow)
    limited = {name: _limited(step, found.get(name), rules, file) for name, rules in step.narrowing().items()}
    return _kept(step, home, record({**found.parts, **limited}, found.flow) if limited else found)


def _limited(step: Answered, taint: Taint, rules: dict[str, Any], file: File) -> Taint:
    """A property of an answer that the step validates: one of a list of options, or text with a pattern."""
    options = rules.get("enum")
    if isinstance(options, list):
        # An option may be a template, and is then no safer than the values in it.
        found = joined(file.tree(step, option.node, {}) for option in options)
        return found.then(f"{file.language.call(step)} offers it as an option", step.span)
    if options is not None or file.policy.characters.is_safe(rules.get("pattern")):
        return CLEAN
    return taint


def _assigned(step: Step, file: File, home: ScopeTypes) -> Outcome:
    computed, bindings = step.assigns(), step.bindings()
    if computed is None:
        return
    names: dict[str, Taint] = {}
    spans = step.writes()
    for field, tree in computed.items():
        span = spans[field][0] if field in spans else step.span
        found = file.tree(step, tree.node, names if bindings is not None and bindings.in_order else {})
        path = file.language.name_of("state", field)
        names[field] = found.then(f"{file.language.call(step)} stores it in `{path}`", span)
        yield from _kept(step, home, names[field], field)
    output = step.values.get("output_to")
    if output is not None and output.text not in computed:
        yield from _kept(step, home, record(names))


def _turns(step: Step, file: File, home: ScopeTypes) -> Outcome:
    """The item of each turn of a loop over a list: as a name, and in the field that `item_to` names."""
    loop = step.names_inside()
    if loop is None or loop.items is None:
        return
    item = file.tree(step, loop.items.node, {}).item
    taken = item.then(f"{file.language.call(step)} takes each item of it", loop.items.span)
    yield ("item", loop.items), taken
    field = step.values.get("item_to")
    if field is not None:
        yield from _kept(step, home, taken, field.text)


def _changed(step: Step, file: File, home: ScopeTypes) -> Outcome:
    """Fields that get a value as a part: what was in them stays there."""
    for one in step.partial():
        if not one.path:
            continue
        result = only(origin(step, file)) if step.origin is not Step.origin else CLEAN
        given = [*one.path.texts, *(one.value.texts if one.value else [])]
        added = joined(file.tree(step, text.node, {"result": result, "error": result}) for text in given)
        # A change of a part keeps the rest, so the taint is joined rather than replaced.
        before = file.read_field(home, one.field, home.inference.definitions.masks.get(one.field, 0))
        path = file.language.name_of("state", one.field)
        found = only(added.whole).then(f"{file.language.call(step)} stores it in `{path}`", one.field_span)
        yield from _kept(step, home, join(found, before), one.field)


def _computed(one: Computed, file: File, home: ScopeTypes) -> Outcome:
    """A field that the scope derives from others."""
    source = one.values.get("from")
    names = {"input": file.tree(one, source.node, {})} if source is not None else {}
    way = home.inference.definitions.computed.get(one)
    for tree in one.assigns().values() if way is not None else ():
        found = file.tree(one, tree.node, names)
        if way is not None and not found.is_clean:
            path = file.language.name_of("state", one.field)
            yield ("field", home.scope, way.number), found.then(f"`{path}` is computed from it", one.span)


def _returned(step: Step, file: File, home: ScopeTypes) -> Outcome:
    value = step.returns()
    if value is None:
        return
    node = value.node
    message = f"{file.language.call(step)} returns it"
    if isinstance(node, Mapping):
        found = record(
            {
                entry.key.text: file.tree(step, entry.value, {}).then(message, entry.value.span)
                for entry in node.entries
            }
        )
    else:
        found = file.tree(step, node, {}).then(message, node.span)
    yield ("return", home.scope), found


def _workflow(child: Child, file: File, home: ScopeTypes) -> Outcome:
    """The result of another workflow, which may be any of the values that it was given."""
    step = child.step
    given = joined(file.tree(step, tree.node, {}) for tree in (child.inputs or {}).values())
    name = child.name.text if child.name else ""
    found = file.called(name, only(given.whole))
    # The workflow is not in the project, so nothing is known about its result.
    if found is None:
        found = only(origin(step, file))
    # The message of an error may quote output of a command or text of an agent.
    elif step.recovers:
        found = join(found, record({"error": only(origin(step, file))}))
    return _kept(
        step, home, found.then(f"{file.language.call(step)} gets it from the workflow `{name}`", step.span)
    )


def _task(child: Child, file: File, home: ScopeTypes) -> Outcome:
    """The values that a task gets, and the list of its results."""
    step = child.step
    task = file.tasks.get(child.name.text) if child.name else None
    items = file.tree(step, child.items.node, {}) if child.items else CLEAN
    for word in child.shares:
        # The values that children write there may come from anywhere.
        yield from _kept(step, home, only(origin(step, file)), word.text)
    result = only(origin(step, file))
    if task is not None and not child.is_brief:
        result = file.returned(task)
        if step.recovers:
            result = join(result, record({"error": only(origin(step, file))}))
    results = listed(result, items.flow, items.bounded or child.is_bounded)
    if task is not None:
        yield from _given(child, file, task, items.item, results)
    keeps = (
        f"{file.language.call(step)} collects the results of `{child.name.text if child.name else 'task'}`"
    )
    yield from _kept(step, home, results.then(keeps, step.span))


def _given(child: Child, file: File, task: Task, item: Taint, results: Taint) -> Outcome:
    """The values that each run of a task receives: its item and its inputs."""
    step = child.step
    span = child.items.span if child.items else step.span
    yield (
        ("item", task),
        item.then(f"{file.language.call(step)} passes each item to `{task.task_name}`", span),
    )
    if child.sequential:
        yield (PREVIOUS, task), results
    names = {"item": item, PREVIOUS: results}
    if child.inputs is not None:
        given = {name: file.tree(step, tree.node, names) for name, tree in child.inputs.items()}
        spans = {name: tree.span for name, tree in child.inputs.items()}
    else:
        given, spans = _from_item(task, item), {}
    for name, taint in given.items():
        path = file.language.name_of("inputs", name)
        message = f"{file.language.call(step)} passes it to `{task.task_name}` as `{path}`"
        yield ("input", task, name), taint.then(message, spans.get(name, span))


def _from_item(task: Task, item: Taint) -> dict[str, Taint]:
    """An object fills inputs by name; anything else goes to the only one."""
    names = list(task.declared_inputs)
    if len(names) == 1 and names[0] not in item.parts:
        return {names[0]: item}
    return {name: item.get(name) for name in names}
