"""Effects of steps: the untrusted values that each kind of step brings in, and those that it passes on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from collections.abc import Mapping as Named
from typing import Any, Protocol

from wfc.analysis.taint.policy import Policy
from wfc.analysis.taint.values import CLEAN, Flow, Level, Taint, join, joined, listed, only, record
from wfc.analysis.types.reaching import goes_on
from wfc.analysis.types.workflow import ScopeTypes
from wfc.language import types
from wfc.language.ast import Scope, Task
from wfc.language.dialect import Language
from wfc.language.shape import InputDecl
from wfc.language.steps.base import Answered, Step
from wfc.language.steps.call import Call
from wfc.language.steps.condition import Condition
from wfc.language.steps.foreach import Foreach
from wfc.language.steps.prompt import Prompt
from wfc.language.steps.return_ import Return
from wfc.language.steps.set_state import SetState
from wfc.language.types import Choice, Exact, Fixed, ListType, MapType, Record, Simple, Type, Union
from wfc.language.values import Text
from wfc.yaml import Mapping, Node

# Sources: untrusted values, by the type, schema or declaration that limits them.

_PLAIN_TYPES = (types.INT, types.NUMBER, types.BOOL, types.NULL)
_PLAIN_SCHEMAS = frozenset({"integer", "number", "boolean", "null"})
_DEEPEST = 4


def is_harmless(kind: Type) -> bool:
    """Numbers, booleans and texts that stand in the file can do no harm."""
    if isinstance(kind, Union):
        return all(map(is_harmless, kind.options))
    return kind in _PLAIN_TYPES if isinstance(kind, Simple) else isinstance(kind, Choice | Exact)


def of_type(kind: Type, flow: Flow) -> Taint:
    """A value of this type that comes from outside."""
    return within(only(flow), kind)


def within(taint: Taint, kind: Type, depth: int = _DEEPEST) -> Taint:
    """The same value, given what its type rules out."""
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
    """What a JSON Schema lets in."""
    if not isinstance(schema, dict) or depth == 0:
        return only(flow)
    if isinstance(schema.get("enum"), list) or "const" in schema:
        return CLEAN
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if all(isinstance(kind, str) and kind in _PLAIN_SCHEMAS for kind in kinds):
        return CLEAN
    others = [kind for kind in kinds if not isinstance(kind, str) or kind not in _PLAIN_SCHEMAS]
    if others == ["string"]:
        return CLEAN if policy.characters.is_safe(schema.get("pattern")) else only(flow)
    if others == ["array"]:
        return listed(of_schema(schema.get("items"), flow, policy, depth - 1), flow, "maxItems" in schema)
    properties = schema.get("properties")
    if others in (["object"], [None]) and isinstance(properties, dict):
        parts = {str(name): of_schema(inner, flow, policy, depth - 1) for name, inner in properties.items()}
        return record(parts, None if schema.get("additionalProperties") is False else flow)
    return only(flow)


def of_declaration(decl: InputDecl, taint: Taint, policy: Policy, depth: int = _DEEPEST) -> Taint:
    """What the declaration of an input lets through."""
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


# Steps: what each kind takes from outside, and what it passes on.

Outcome = Iterator[tuple[tuple[Hashable, ...], Taint]]
_FILE = ("what stood in a file", "what {} reads comes from outside")
_ORIGINS = {
    "shell": ("what a command printed", "what the command of {} prints comes from outside"),
    "prompt": ("what a person typed", "the answer to {} comes from outside"),
    "delegate": ("what an agent wrote", "what the agent of {} answers comes from outside"),
    "mcp_call": ("what a tool returned", "what the tool of {} returns comes from outside"),
    "foreach": ("what an agent wrote", "what the agent that {} asks returns comes from outside"),
    "call": ("what another workflow returned", "what {} gets back comes from outside"),
    "read_file": _FILE,
    "read_json_state": _FILE,
    "merge_json_state": _FILE,
}
_OTHER = ("what a step brought back", "what {} brings back comes from outside")


class File(Protocol):
    tasks: dict[str, Task]
    policy: Policy
    language: Language

    def tree(self, step: Step, node: Node, names: Named[str, Taint]) -> Taint: ...
    def returned(self, scope: Scope) -> Taint: ...
    def called(self, name: str, given: Taint) -> Taint | None: ...


def outcome_of(step: Step, file: File, home: ScopeTypes) -> Outcome:
    """The variables that a step writes, each with what it puts there."""
    effect = next((found for kind, found in _EFFECTS.items() if isinstance(step, kind)), None)
    return effect(step, file, home) if effect else iter(())


def origin(step: Step, file: File) -> Flow:
    """What a step brings in."""
    words, message = _ORIGINS.get(step.kind, _OTHER)
    return Flow(Level.OUTSIDE, words, message.format(file.language.call(step)), step.span)


def _kept(step: Step, home: ScopeTypes, taint: Taint, field: str | None = None) -> Outcome:
    """A result goes where `output_to` says."""
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
    if isinstance(step, Prompt):
        return _kept(step, home, _answer(step, flow, file))
    return _kept(step, home, of_type(step.result_type(), flow))


def _answer(step: Prompt, flow: Flow, file: File) -> Taint:
    if step.prompt_kind == "choice":
        options = joined(file.tree(step, option.node, {}) for option in step.fixed_options())
        return record(
            {"selected": options.then(f"{file.language.call(step)} offers it as an option", step.span)}
        )
    rules: dict[str, Any] = step.narrowing().get("input", {})
    is_safe = file.policy.characters.is_safe
    if step.prompt_kind != "text" or "enum" in rules or is_safe(rules.get("pattern")):
        return CLEAN
    return record({"input": only(flow)})


def _set_state(step: SetState, file: File, home: ScopeTypes) -> Outcome:
    names: dict[str, Taint] = {}
    spans = step.writes()
    for field, tree in (step.updates or {}).items():
        span = spans[field][0] if field in spans else step.span
        found = file.tree(step, tree.node, names)
        path = file.language.name_of("state", field)
        names[field] = found.then(f"{file.language.call(step)} puts it into `{path}`", span)
        yield from _kept(step, home, names[field], field)
    yield from _kept(step, home, record(names))


def _condition(step: Condition, file: File, home: ScopeTypes) -> Outcome:
    if step.output_to and isinstance(step.if_, Text):
        found = file.tree(step, step.if_.node, {})
        yield from _kept(step, home, found.then(f"{file.language.call(step)} keeps it", step.output_to.span))


def _return(step: Return, file: File, home: ScopeTypes) -> Outcome:
    if step.value is None:
        return
    node = step.value.node
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


def _call(step: Call, file: File, home: ScopeTypes) -> Outcome:
    given = joined(file.tree(step, tree.node, {}) for tree in (step.with_ or {}).values())
    name = step.workflow.text if step.workflow else ""
    found = file.called(name, only(given.whole))
    if found is None:
        found = only(origin(step, file))
    elif goes_on(step):
        found = join(found, record({"error": only(origin(step, file))}))
    return _kept(
        step, home, found.then(f"{file.language.call(step)} gets it from the workflow `{name}`", step.span)
    )


def _foreach(step: Foreach, file: File, home: ScopeTypes) -> Outcome:
    task = file.tasks.get(step.task.text) if step.task else None
    items = file.tree(step, step.items.node, {}) if step.items else CLEAN
    result = only(origin(step, file))
    if task is not None and step.agent_name in (None, "@task"):
        result = file.returned(task)
        if goes_on(step):
            result = join(result, record({"error": only(origin(step, file))}))
    results = listed(result, items.flow, items.bounded or step.max_items is not None)
    if task is not None:
        yield from _given(step, file, task, items.item, results)
    keeps = (
        f"{file.language.call(step)} collects what each `{step.task.text if step.task else 'task'}` returns"
    )
    yield from _kept(step, home, results.then(keeps, step.span))


def _given(step: Foreach, file: File, task: Task, item: Taint, results: Taint) -> Outcome:
    """What a child gets: its item, and its inputs."""
    span = step.value_span("items")
    yield ("item", task), item.then(f"{file.language.call(step)} gives each item to `{task.task_name}`", span)
    if step.setting("sequential"):
        yield ("previous", task), results
    names = {"item": item, "previous": results}
    if step.with_ is not None:
        given = {name: file.tree(step, tree.node, names) for name, tree in step.with_.items()}
        spans = {name: tree.span for name, tree in step.with_.items()}
    else:
        given, spans = _from_item(task, item), {}
    for name, taint in given.items():
        path = file.language.name_of("inputs", name)
        message = f"{file.language.call(step)} gives it to `{task.task_name}` as `{path}`"
        yield ("input", task, name), taint.then(message, spans.get(name, span))


def _from_item(task: Task, item: Taint) -> dict[str, Taint]:
    """An object fills inputs by name; anything else goes to the only one."""
    names = list(task.declared_inputs)
    if len(names) == 1 and names[0] not in item.parts:
        return {names[0]: item}
    return {name: item.get(name) for name in names}


_EFFECTS: dict[type[Step], Callable[[Any, File, ScopeTypes], Outcome]] = {
    Answered: _answered,
    SetState: _set_state,
    Condition: _condition,
    Return: _return,
    Call: _call,
    Foreach: _foreach,
}
