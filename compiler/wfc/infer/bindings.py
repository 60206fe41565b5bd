"""Values where a certain type is wanted: for the inputs of a child, for a loop to go over, as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from wfc.core.fields import TEXT as TEXT_FIELD
from wfc.core.inputs import InputDecl
from wfc.core.types import ANY, NULL, Record, Type
from wfc.core.values import Text, Tree
from wfc.infer.children import Children
from wfc.infer.constant import values_of
from wfc.infer.problems import Kind
from wfc.infer.results import item_of
from wfc.infer.scope import TextTypes, type_of_tree
from wfc.infer.terms import is_known, kinds_of, options, without
from wfc.infer.views import describe
from wfc.steps.base import Step
from wfc.steps.call import Call
from wfc.steps.foreach import Foreach
from wfc.structs import struct
from wfc.template import parse_template
from wfc.yaml import Node, Scalar, Span
from wfc.yaml.nodes import resolve_plain


@struct(frozen=True)
class Misfit:
    """A value of the file that does not fit the place where it stands."""

    kind: Kind
    span: Span
    message: str
    help: str = ""
    node: Scalar | None = None
    field: str | None = None


def misfits(step: Step, texts: TextTypes, children: Children) -> Iterator[Misfit]:
    if isinstance(step, Foreach) and step.items is not None:
        yield from _items(step, step.items, texts, children)
    if isinstance(step, Foreach | Call):
        yield from _inputs(step, texts, children)
    for name, value in step.values.items():
        if isinstance(value, Text) and step.FIELDS[name].type is TEXT_FIELD and value.template.lone:
            yield from _text(step, name, value, texts)


def _items(step: Foreach, items: Tree, texts: TextTypes, children: Children) -> Iterator[Misfit]:
    kind = type_of_tree(items.node, texts)
    if is_known(kind) and "list" not in kinds_of(kind) and kind != NULL:
        yield Misfit(Kind.NOT_A_LIST, _place(items.node), *_not_a_list(items.node, kind))
    elif NULL in options(kind):
        shown = _quoted(items.node)
        words = f"{shown} {'is' if kind == NULL else 'may be'} null here, and `items` takes a list"
        yield Misfit(
            Kind.NULLABLE,
            _place(items.node),
            words,
            "say what then with `| default([], true)`",
            field=_field(items.node),
        )
    elif step.with_ is None:
        yield from _item_fills_input(step, items.node, item_of(without(kind, NULL)), children)


def _not_a_list(node: Node, kind: Type) -> tuple[str, str]:
    message = f"{_quoted(node)} is {describe(kind)}: `items` takes a list"
    if not isinstance(node, Scalar):
        return message, ""
    template = parse_template(node.text)
    inner = node.text.strip().removeprefix("{{").removesuffix("}}").strip()
    if template.is_literal:
        return (
            message,
            f'an expression stands in braces: `"{{{{ state.{inner} }}}}"`' if inner.isidentifier() else "",
        )
    if not template.lone:
        return message, "text around or between `{{ }}` makes it text; use one expression"
    if kinds_of(kind) == {"text"}:
        return message, f"split it first: `{inner}.splitlines()`"
    return message, f"go over its pairs: `{inner} | items`" if kinds_of(kind) == {"object"} else ""


def _item_fills_input(step: Foreach, node: Node, item: Type, children: Children) -> Iterator[Misfit]:
    """A task with one input gets the item there, or what an object has under its name."""
    child = children.child(step)
    inputs = child.declared_inputs if child else {}
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
    """Whether it is a property of the item, if anything, that fits a task's only input."""
    wanted = decl.value_type
    return "object" in kinds_of(item) and is_known(wanted) and "object" not in kinds_of(wanted)


def _inputs(step: Foreach | Call, texts: TextTypes, children: Children) -> Iterator[Misfit]:
    child = children.child(step) if step.with_ else None
    for name, tree in (step.with_ or {}).items():
        decl = child.declared_inputs.get(name) if child else None
        kind = type_of_tree(tree.node, texts)
        if decl is not None and (_is_misfit(kind, decl) or _is_fraction(tree.node, decl)):
            given = "is no value for it:" if _is_alike(kind, decl) else f"is {describe(kind)}, but"
            message = f"{_quoted(tree.node)} {given} `{name}` takes {_wanted(decl)}"
            yield Misfit(Kind.MISMATCH, _place(tree.node), message, _conversion(tree.node, kind, decl))


def _is_fraction(node: Node, decl: InputDecl) -> bool:
    """Whether a number stands there, in letters or not, that is not whole and has to be."""
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
        return f"make it one with `| {filters[decl.kind]}`"
    return ""


def _text(step: Step, name: str, text: Text, texts: TextTypes) -> Iterator[Misfit]:
    kind = texts.get(text.node)
    if kind is not None and is_known(kind) and kinds_of(kind) <= {"list", "object"}:
        shown = f"{_quoted(text.node)} is {describe(kind)}"
        yield Misfit(
            Kind.MISMATCH,
            _place(text.node),
            f"{shown}: `{name}` takes text",
            "make it text with `| tojson`, or use one of its parts",
        )


def _place(node: Node) -> Span:
    """The expression itself, where the value is just one."""
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
    return f"`{text}`" if len(text) <= 60 else "this"


def _field(node: Node) -> str | None:
    template = parse_template(node.text) if isinstance(node, Scalar) else None
    reads = template.reads if template is not None else []
    name = reads[0].names if len(reads) == 1 and reads[0].root == "state" else ()
    return str(name[0]) if len(name) == 1 else None
