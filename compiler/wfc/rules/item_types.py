"""What a foreach runs over, as far as the file shows it."""

from __future__ import annotations

from functools import lru_cache

from jinja2 import nodes

from wfc.core import types
from wfc.core.ast import Scope
from wfc.core.templated import type_of
from wfc.core.types import Choice, ListType, Record, Simple, Type, Union
from wfc.core.values import Tree
from wfc.lower.charts import state_fields
from wfc.source import Scalar
from wfc.template import Read, Template, parse_template

_SPLITTERS = ("split", "splitlines")


def item_type(scope: Scope, items: Tree) -> Type:
    """The type of one item; any where nothing shows it."""
    if isinstance(items.node, Scalar) and isinstance(items.node.value, str):
        kind = _type_of_expression(scope, parse_template(items.node.text))
    else:
        kind = type_of(items.data)
    return kind.item if isinstance(kind, ListType) else types.ANY


def is_scalar(kind: Type) -> bool:
    """Whether a value of that type has no parts: text, a number, a boolean or null."""
    if isinstance(kind, Union):
        return all(is_scalar(option) for option in kind.options)
    return isinstance(kind, Choice) or (isinstance(kind, Simple) and kind != types.ANY)


def _type_of_expression(scope: Scope, template: Template) -> Type:
    expression = template.expression
    if expression is None:
        return types.ANY
    if _splits(expression):
        return types.ListType(types.TEXT)
    if len(template.reads) == 1 and template.span(expression) == (
        template.reads[0].start,
        template.reads[0].end,
    ):
        return _type_of_read(scope, template.reads[0])
    return types.ANY


def _splits(node: nodes.Expr) -> bool:
    if isinstance(node, nodes.Call):
        return isinstance(node.node, nodes.Getattr) and node.node.attr in _SPLITTERS
    return isinstance(node, nodes.Filter) and node.name in _SPLITTERS


def _type_of_read(scope: Scope, read: Read) -> Type:
    names = read.names
    if len(names) != len(read.path) or not names:
        return types.ANY
    kind: Type = types.ANY
    if read.root == "inputs" and names[0] in scope.declared_inputs:
        kind = scope.declared_inputs[str(names[0])].read_type
    elif read.root == "state":
        kind = _field_types(scope).get(names[0], types.ANY)
    for name in names[1:]:
        kind = _part_of(types.without_null(kind), name)
    return types.without_null(kind)


@lru_cache(maxsize=8)
def _field_types(scope: Scope) -> dict[str | int, Type]:
    return {info.name: info.type for info in state_fields(scope)}


def _part_of(kind: Type, name: str | int) -> Type:
    if isinstance(kind, Record) and isinstance(name, str):
        found = kind.get(name)
        return found.type if found else types.ANY
    return kind.item if isinstance(kind, ListType) and isinstance(name, int) else types.ANY
