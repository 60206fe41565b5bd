"""The types of one scope (the main steps of a workflow, or a task), and its values where a type is required.

Each template is inferred in the environment of the node at which it is evaluated: the types of the definitions that
reach that node, narrowed by the conditions that hold there. The types of definitions are refined while a fixpoint is
computed (`wfc.analysis.types.workflow`), so a step is visited again only if a definition that reaches it has changed.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from math import inf

from wfc.analysis.control_flow import Flow
from wfc.analysis.types.builtins import item_of
from wfc.analysis.types.conditions import Place, StepTexts, names_read, texts_of
from wfc.analysis.types.constants import Range, values_of
from wfc.analysis.types.environment import Environment, Kind, Path, Problem, Surroundings
from wfc.analysis.types.expressions import Inference
from wfc.analysis.types.lattice import (
    UNDEFINED,
    describe,
    exact,
    is_known,
    kinds_of,
    options,
    stored,
    tree_type,
    without,
)
from wfc.analysis.types.reaching import Children, Definitions, StateFlow, child_names
from wfc.language.ast import Scope
from wfc.language.derived import Computed
from wfc.language.fields import TEXT as TEXT_FIELD
from wfc.language.scopes import loop_variables
from wfc.language.shape import NUMERIC, InputDecl
from wfc.language.steps.base import ERROR, Answered, Step
from wfc.language.steps.protocol import Child, Variables
from wfc.language.types import ANY, INT, LIST, NULL, Record, Type
from wfc.language.values import Text, Tree
from wfc.struct import struct
from wfc.template import Template, parse_template
from wfc.yaml import Node, Scalar, Span
from wfc.yaml.nodes import resolve_plain

# The constraints of input declarations beyond the type.


def input_types(scope: Scope) -> dict[str, Type]:
    return {name: decl.read_type for name, decl in scope.declared_inputs.items()}


def nonzero_numbers(scope: Scope, definitions: Definitions) -> frozenset[Path]:
    """Inputs whose declaration rules out zero, and state fields that keep an initial value other than zero."""
    inputs = (("inputs", name) for name, decl in scope.declared_inputs.items() if _is_nonzero(decl))
    settings = (
        ("state", name)
        for name, value in scope.initial.items()
        # A field that a step also writes may become zero later.
        if _is_number(value) and value and len(definitions.by_field.get(name, ())) == 1
    )
    return frozenset([*inputs, *settings])


def _is_nonzero(decl: InputDecl) -> bool:
    least, most, enum = (decl.rule_value(name) for name in ("min", "max", "enum"))
    if isinstance(enum, list) and enum and 0 not in enum:
        return True
    return (_is_number(least) and least > 0) or (_is_number(most) and most < 0)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def bounds_of_input(scope: Scope, name: str, length: bool) -> Range:
    """The bounds that the declaration of an input sets for its value or its length."""
    decl = scope.declared_inputs.get(name)
    if decl is None or length == (decl.kind in NUMERIC):
        return (0, inf) if length else (-inf, inf)
    enum = decl.rule_value("enum")
    if not length and isinstance(enum, list) and enum and all(map(_is_number, enum)):
        return _bound(min(enum), -inf), _bound(max(enum), inf)
    least, most = ("min_items", "max_items") if decl.kind == "array" else ("min_length", "max_length")
    names = (least, most) if length else ("min", "max")
    lowest = 0.0 if length else -inf
    return _bound(decl.rule_value(names[0]), lowest), _bound(decl.rule_value(names[1]), inf)


def _bound(value: object, otherwise: float) -> float:
    # Larger integers are not exact as floats, and very large ones raise OverflowError.
    return float(value) if isinstance(value, int | float) and abs(value) < 1 << 50 else otherwise


def nonempty_inputs(scope: Scope) -> frozenset[Path]:
    found = (name for name, decl in scope.declared_inputs.items() if _is_nonempty(decl))
    return frozenset(("inputs", name) for name in found)


def _is_nonempty(decl: InputDecl) -> bool:
    least, pattern = decl.rule_value("min_length"), decl.rule_value("pattern")
    if _is_number(least) and least > 0:
        return True
    if not isinstance(pattern, str):
        return False
    try:
        with warnings.catch_warnings():
            # Another rule reports what is wrong with a pattern.
            warnings.simplefilter("ignore")
            return re.search(pattern, "") is None
    except (re.error, RecursionError, OverflowError):
        return False


def nonempty_answers(definitions: Definitions) -> frozenset[Path]:
    """Properties of answers that validation requires to be non-empty."""
    found: set[Path] = set()
    for name, writes in definitions.by_field.items():
        asked = [write.step for write in writes if isinstance(write.step, Answered)]
        # The first definition of a field is its value at the start, which no step writes.
        if asked and len(asked) >= len(writes) - 1:
            demands = [_long_enough(step) for step in asked]
            common = set(demands[0]).intersection(*demands[1:])
            found |= {("state", name, key) for key in common}
    return frozenset(found)


def _long_enough(step: Answered) -> list[str]:
    rules = step.narrowing().items()
    return [name for name, demand in rules if _is_number(demand.get("minLength")) and demand["minLength"] > 0]


TextTypes = dict[Scalar, Type]
_NO_TEXTS = StepTexts()


@struct(slots=True)
class Visit:
    """The result of inferring the templates of a step."""

    types: TextTypes = field(default_factory=dict)
    problems: list[tuple[Place, Problem]] = field(default_factory=list)
    moment: int = 0
    """The version of the types that it used (`Definitions.moment`)."""
    final: bool = True
    """Whether it depends only on the definitions that reach it. A visit that used the type of a field over the whole
    run is repeated when the types are settled."""


class ScopeInference:
    """Infers the templates of a scope's steps, and infers them again if their environment has changed."""

    def __init__(self, scope: Scope, flow: Flow, names: Mapping[str, Type], children: Children) -> None:
        self.scope = scope
        self.names = names
        """The types of `item`, `index` and `previous` in a task."""
        self._children = children
        self._texts = texts_of(flow)
        self.definitions = Definitions(scope)
        self.states = StateFlow(flow, self.definitions, self._texts)
        self.settled = False
        self._visits: dict[Step, Visit] = {}
        self._loops = loop_variables(scope)
        self._owners = {
            one.items: step for step in scope.walk() if (one := step.names_inside()) and one.items is not None
        }
        self._visit = Visit()
        nonempty = nonempty_inputs(scope) | nonempty_answers(self.definitions)
        nonzero = nonzero_numbers(scope, self.definitions)
        self._around = Surroundings(self._overall, input_types(scope), nonzero, nonempty)

    def texts(self, step: Step) -> StepTexts:
        return self._texts.get(step, _NO_TEXTS)

    def _overall(self, name: str) -> Type:
        # Reading the type over the whole run before it is final would miss later writes.
        self._visit.final &= self.settled
        return self.states.overall(name)

    def visit(self, step: Step) -> Visit:
        """The types of a step's templates and their problems, with the types that are known so far."""
        if isinstance(step, Computed):
            if step not in self._visits or not self.settled:
                self._visits[step] = self.visit_computed(step)
            return self._visits[step]
        known = self._visits.get(step)
        # The type of an item depends on another step, the loop: until the types are settled, it is inferred again.
        around = self._loops.get(step, ())
        if (
            known is not None
            and (self.settled or not around)
            and (known.final or not self.settled)
            and not self._is_stale(step, known)
        ):
            return known
        names = {**self.names, **self._loop_names(around)}
        if step in self.scope.handling:
            names["error"] = ERROR
        local = step.local_names()
        self._visit = self._visits[step] = Visit(moment=self.definitions.moment)
        texts = self.texts(step)
        for place in texts.plain:
            own = local.get(place.text)
            self._infer(place, {**names, **own} if own else names)
        child, bindings = step.child(), step.bindings()
        if texts.inner and child is not None and child.is_task:
            # The `with` of a step that runs a task may use the names that the task gets.
            items = type_of_tree(child.items.node, self._visit.types) if child.items else LIST
            names |= child_names(child, item_of(items), self._children)
        for key, (tree, places) in texts.inner.items():
            for place in places:
                self._infer(place, names)
            if bindings is not None and bindings.in_order:
                # Inside one `updates` a bare name is an earlier key.
                names = {**names, key: stored(type_of_tree(tree.node, self._visit.types))}
        return self._visit

    def _loop_names(self, around: Iterable[Variables]) -> dict[str, Type]:
        names: dict[str, Type] = {}
        for one in around:
            owner = self._owners.get(one.items) if one.items is not None else None
            texts = self.visit(owner).types if owner is not None else {}
            items = type_of_tree(one.items.node, texts) if one.items is not None else LIST
            if one.item and one.index:
                names |= {one.item: item_of(without(items, NULL)), one.index: INT}
        return names

    def visit_computed(self, one: Computed) -> Visit:
        """The types of the templates of a field that the scope computes, at any time of a run."""
        self._visit = Visit(moment=self.definitions.moment)
        source = one.values.get("from")
        own = set(source.texts) if isinstance(source, Tree) else set()
        names: dict[str, Type] = {}
        # `from` first, since it gives `input` its type, and `value` before `check`, which has it as `output`.
        for text in sorted(one.texts(), key=lambda text: (text not in own, text is one.values.get("check"))):
            if isinstance(source, Tree) and text not in own:
                names = {"input": stored(type_of_tree(source.node, self._visit.types)), "output": ANY}
            if not text.template.is_literal:
                place = Place(text, "", names_read(text.template), text is one.values.get("check"))
                self._infer(place, names)
        return self._visit

    def _is_stale(self, step: Step, visit: Visit) -> bool:
        """Whether a definition that reaches the step was refined since the visit."""
        # The common case, in which no mask has to be computed.
        if self.definitions.moment == visit.moment:
            return False
        changed = self.definitions.changed_since(visit.moment)
        return any(
            self.states.mask_at(place.node, name) & changed
            for place in self.texts(step).all
            for name in place.names
        )

    def _infer(self, place: Place, names: Mapping[str, Type]) -> None:
        template = place.text.template
        walk = _inference_class(template)(template, self._environment(place, names), place.text)
        expression = template.expression if place.asked else None
        kind = walk.asked(expression) if expression is not None else walk.infer()
        self._visit.types[place.text.node] = kind
        self._visit.problems += [(place, problem) for problem in walk.problems]

    def _environment(self, place: Place, names: Mapping[str, Type]) -> Environment:
        states, node = self.states, place.node
        if not node:
            return Environment(self._around, states.overall, names)
        if node not in states.reach:
            # The node is unreachable. Errors in the template itself are reported, but none that depend on a path.
            return Environment(self._around, lambda name: without(states.overall(name), UNDEFINED), names)
        given = states.clauses_at(node, place.names)
        return Environment(self._around, lambda name: states.type_at(node, name), names, given)


def _inference_class(template: Template) -> type[Inference]:
    """The inference for the language of a template's expressions."""
    if template.language == "javascript":
        # Imported here: few files need it.
        from wfc.analysis.types.javascript import ScriptInference

        return ScriptInference
    return Inference


def type_of_tree(node: Node, texts: TextTypes) -> Type:
    return tree_type(node, lambda scalar: texts[scalar] if scalar in texts else exact(scalar.text))


# Values where a type is required: inputs of a child, the list of a loop, plain text.


@struct(frozen=True)
class Misfit:
    """A value of the file whose type does not fit the field or input that it is given to."""

    kind: Kind
    span: Span
    message: str
    help: str = ""
    node: Scalar | None = None
    field: str | None = None


def misfits(step: Step, texts: TextTypes, children: Children) -> Iterator[Misfit]:
    child = step.child()
    if child is not None:
        if child.items is not None:
            yield from _items(child, child.items, texts, children)
        yield from _inputs(child, texts, children)
    loop = step.names_inside()
    if loop is not None and loop.items is not None:
        yield from _list(loop.items, type_of_tree(loop.items.node, texts))
    for name, value in step.values.items():
        if isinstance(value, Text) and step.FIELDS[name].type is TEXT_FIELD and value.template.lone:
            yield from _text(step, name, value, texts)


def _items(child: Child, items: Tree, texts: TextTypes, children: Children) -> Iterator[Misfit]:
    kind = type_of_tree(items.node, texts)
    if found := list(_list(items, kind)):
        yield from found
    elif NULL in options(kind):
        shown = _quoted(items.node)
        words = f"{shown} {'is' if kind == NULL else 'may be'} null here, and `items` takes a list"
        yield Misfit(
            Kind.NULLABLE,
            _place(items.node),
            words,
            "supply a fallback with `| default([], true)`",
            field=_field(items.node),
        )
    elif child.inputs is None:
        yield from _item_fills_input(child, items.node, item_of(without(kind, NULL)), children)


def _list(items: Tree, kind: Type) -> Iterator[Misfit]:
    # Only certain mistakes: `any` may be a list.
    if is_known(kind) and "list" not in kinds_of(kind) and kind != NULL:
        is_script = any(text.template.language == "javascript" for text in items.texts)
        yield Misfit(Kind.NOT_A_LIST, _place(items.node), *_not_a_list(items.node, kind, is_script))


def _not_a_list(node: Node, kind: Type, is_script: bool) -> tuple[str, str]:
    message = f"{_quoted(node)} is {describe(kind)}: `items` takes a list"
    if not isinstance(node, Scalar) or is_script:
        return message, ""
    template = parse_template(node.text)
    inner = node.text.strip().removeprefix("{{").removesuffix("}}").strip()
    if template.is_literal:
        return (
            message,
            f'put the expression in braces: `"{{{{ state.{inner} }}}}"`' if inner.isidentifier() else "",
        )
    if not template.lone:
        return message, "text around or between `{{ }}` makes it text; use one expression"
    if kinds_of(kind) == {"text"}:
        return message, f"split it first: `{inner}.splitlines()`"
    return message, f"go over its pairs: `{inner} | items`" if kinds_of(kind) == {"object"} else ""


def _item_fills_input(child: Child, node: Node, item: Type, children: Children) -> Iterator[Misfit]:
    """A task with one input gets the item itself, or the property of an object that has the name of the input."""
    scope = children.scope_of(child)
    inputs = scope.declared_inputs if scope else {}
    if len(inputs) != 1:
        return
    (name, decl), *_ = inputs.items()
    subject, given = "each item", item
    if fills_by_name(item, decl):
        found = item.get(name) if isinstance(item, Record) else None
        subject, given = f"`{name}` of each item", found.type if found else ANY
    if _is_misfit(given, decl):
        message = f"{subject} is {describe(given)}, but the input `{name}` takes {_wanted(decl)}"
        yield Misfit(Kind.MISMATCH, _place(node), message)


def fills_by_name(item: Type, decl: InputDecl) -> bool:
    """Whether an object fills the only input of a task by name, because the input takes no object."""
    wanted = decl.value_type
    return "object" in kinds_of(item) and is_known(wanted) and "object" not in kinds_of(wanted)


def _inputs(child: Child, texts: TextTypes, children: Children) -> Iterator[Misfit]:
    scope = children.scope_of(child) if child.inputs else None
    for name, tree in (child.inputs or {}).items():
        decl = scope.declared_inputs.get(name) if scope else None
        kind = type_of_tree(tree.node, texts)
        if decl is not None and (_is_misfit(kind, decl) or _is_fraction(tree.node, decl)):
            given = "is not allowed:" if _is_alike(kind, decl) else f"is {describe(kind)}, but"
            message = f"{_quoted(tree.node)} {given} `{name}` takes {_wanted(decl)}"
            yield Misfit(Kind.MISMATCH, _place(tree.node), message, _conversion(tree.node, kind, decl))


def _is_fraction(node: Node, decl: InputDecl) -> bool:
    """Whether the value is a fraction, possibly as text, and the input takes a whole number."""
    value = node.value if isinstance(node, Scalar) and decl.kind == "integer" else None
    said = resolve_plain(value.strip()) if isinstance(value, str) and decl.setting("convert") else value
    return isinstance(said, float) and not said.is_integer()


def _is_misfit(kind: Type, decl: InputDecl) -> bool:
    wanted = decl.value_type
    value = without(kind, NULL)
    if not is_known(value) or not is_known(wanted):
        return False
    if not _is_alike(value, decl):
        return True
    given, allowed = values_of(value), values_of(wanted)
    return bool(given and allowed and not set(given) & set(allowed))


def _is_alike(kind: Type, decl: InputDecl) -> bool:
    given, wanted = kinds_of(kind), kinds_of(decl.value_type)
    if decl.setting("convert") and ("text" in given or (wanted == {"text"} and given & {"number", "bool"})):
        return True
    return bool(given & wanted)


def _wanted(decl: InputDecl) -> str:
    if decl.kind == "integer":
        return "a whole number"
    allowed = values_of(decl.value_type)
    return " or ".join(f"`{value}`" for value in allowed[:6]) if allowed else describe(decl.value_type)


def _conversion(node: Node, kind: Type, decl: InputDecl) -> str:
    if not isinstance(node, Scalar) or kinds_of(kind) != {"text"}:
        return ""
    filters = {"number": "int", "integer": "int", "boolean": "bool"}
    if decl.kind in filters:
        inner = node.text.strip()
        if parse_template(node.text).is_literal:
            return f"write `{inner}` without quotes" if inner.isalnum() else ""
        return f"convert it with `| {filters[decl.kind]}`"
    return ""


def _text(step: Step, name: str, text: Text, texts: TextTypes) -> Iterator[Misfit]:
    kind = texts.get(text.node)
    if kind is not None and is_known(kind) and kinds_of(kind) <= {"list", "object"}:
        shown = f"{_quoted(text.node)} is {describe(kind)}"
        yield Misfit(
            Kind.MISMATCH,
            _place(text.node),
            f"{shown}: `{name}` takes text",
            "convert it with `| tojson`, or use one of its parts",
        )


def _place(node: Node) -> Span:
    """The place of the expression if the value is a single one; otherwise that of the value."""
    expression = (
        parse_template(node.text).expression if isinstance(node, Scalar) and "{" in node.text else None
    )
    if expression is None or not isinstance(node, Scalar):
        return node.span
    return node.at(*parse_template(node.text).span(expression))


def _quoted(node: Node) -> str:
    if not isinstance(node, Scalar):
        return "this"
    text = " ".join(node.text.split())
    if parse_template(node.text).lone:
        text = text.removeprefix("{{").removesuffix("}}").strip()
    # A long expression would hide the message behind it.
    return f"`{text}`" if len(text) <= 60 else "this"


def _field(node: Node) -> str | None:
    template = parse_template(node.text) if isinstance(node, Scalar) else None
    reads = template.reads if template is not None else []
    name = reads[0].names if len(reads) == 1 and reads[0].root == "state" else ()
    return str(name[0]) if len(name) == 1 else None
