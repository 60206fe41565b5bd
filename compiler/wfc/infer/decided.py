"""Conditions whose outcome the values at a place tell: `state.tries < 3` where tries has just become 0.

Only single values are compared; nothing of a template is ever run.
"""

from __future__ import annotations

from collections.abc import Callable

from wfc.core.types import NULL, Exact, Type
from wfc.infer.constant import field_of
from wfc.infer.terms import UNDEFINED
from wfc.structs import struct
from wfc_runtime.expr import nodes

_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "lt": lambda one, other: one < other,
    "lteq": lambda one, other: one <= other,
    "gt": lambda one, other: one > other,
    "gteq": lambda one, other: one >= other,
}


@struct(frozen=True)
class Values:
    """What is known of values at a place."""

    state: Callable[[str], Type]
    least: Callable[[str], float | None]
    """The smallest number that an input may be."""


def decide(node: nodes.Expr, values: Values) -> bool | None:
    """How a condition comes out; None where that is not known."""
    match node:
        case nodes.Not():
            inner = decide(node.node, values)
            return None if inner is None else not inner
        case nodes.And():
            return _both(decide(node.left, values), decide(node.right, values))
        case nodes.Or():
            found = _both(_opposite(decide(node.left, values)), _opposite(decide(node.right, values)))
            return _opposite(found)
        case nodes.Compare() if len(node.ops) == 1:
            return _compared(node.expr, node.ops[0].op, node.ops[0].expr, values)
        case nodes.Test() if node.name in ("none", "defined", "undefined"):
            return _tested(node, values)
    kind = _type_of(node, values)
    if kind == NULL:
        return False
    return bool(kind.value) if isinstance(kind, Exact) else None


def _both(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return True if one and other else None


def _opposite(value: bool | None) -> bool | None:
    return None if value is None else not value


def _type_of(node: nodes.Expr, values: Values) -> Type | None:
    if isinstance(node, nodes.Const):
        return NULL if node.value is None else Exact(node.value, type(node.value).__name__)
    name = field_of(node)
    return values.state(name) if name is not None else None


def _tested(node: nodes.Test, values: Values) -> bool | None:
    kind = _type_of(node.node, values)
    if not isinstance(kind, Exact) and kind not in (NULL, UNDEFINED):
        return None
    if node.name == "none":
        return kind == NULL if kind != UNDEFINED else None
    return (kind == UNDEFINED) == (node.name == "undefined")


def _compared(left: nodes.Expr, sign: str, right: nodes.Expr, values: Values) -> bool | None:
    one, other = _type_of(left, values), _type_of(right, values)
    if isinstance(one, Exact) and isinstance(other, Exact):
        return _compare_values(one, sign, other)
    if isinstance(one, Exact) and sign in ("lt", "lteq"):
        least = _least(right, values)
        return (
            True if least is not None and _is_number(one) and _SIGNS[sign](float(one.value), least) else None
        )
    if NULL in (one, other) and sign in ("eq", "ne") and (isinstance(one, Exact) or isinstance(other, Exact)):
        return sign == "ne"
    return sign == "eq" if one == other == NULL and sign in ("eq", "ne") else None


def _compare_values(one: Exact, sign: str, other: Exact) -> bool | None:
    if sign in ("eq", "ne"):
        return (one.value == other.value) == (sign == "eq")
    if sign in _SIGNS and _is_number(one) and _is_number(other):
        return _SIGNS[sign](float(one.value), float(other.value))
    return None


def _is_number(value: Exact) -> bool:
    # Beyond this a float is not exact, and beyond others it is not one at all.
    return not isinstance(value.value, str) and abs(value.value) < 1 << 50


def _least(node: nodes.Expr, values: Values) -> float | None:
    if isinstance(node, nodes.Filter) and node.name == "int" and node.node is not None:
        node = node.node
    if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name) and node.node.name == "inputs":
        return values.least(node.attr)
    return None
