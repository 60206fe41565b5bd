"""Conditions of which at most one holds: they ask one thing for different values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wfc_runtime.expr import nodes

from .parse import Template

Demand = tuple[str, Any, bool]
"""An expression as it is written, a value, and whether it is to have that value or not to have it."""

_TRUTH = object()
"""Stands for whatever counts as true."""


def exclude_each_other(one: Template, other: Template) -> bool:
    """Whether two conditions never hold together, as far as that can be seen from what must be equal to what."""
    others = list(_demands(other, other.expression, True))
    return any(_conflict(mine, theirs) for mine in _demands(one, one.expression, True) for theirs in others)


def _conflict(one: Demand, other: Demand) -> bool:
    if one[0] != other[0] or not (one[2] or other[2]) or (one[1] is _TRUTH) != (other[1] is _TRUTH):
        return False
    is_same = type(one[1]) is type(other[1]) and one[1] == other[1]
    return is_same if one[2] != other[2] else not is_same


def _demands(template: Template, node: nodes.Expr | None, holds: bool) -> Iterator[Demand]:
    """What must be so for an expression to be true, or to be false."""
    match node:
        case None:
            return
        case nodes.Not():
            yield from _demands(template, node.node, not holds)
        case nodes.And() | nodes.Or():
            # Of what is joined, all parts are certain, or none.
            if isinstance(node, nodes.And) is holds:
                yield from _demands(template, node.left, holds)
                yield from _demands(template, node.right, holds)
        case nodes.Compare():
            yield from _equality(template, node, holds)
        case _:
            yield _source(template, node), _TRUTH, holds


def _equality(template: Template, node: nodes.Compare, holds: bool) -> Iterator[Demand]:
    word = node.ops[0].op
    if len(node.ops) > 1 or word not in ("eq", "ne"):
        return
    sides = (node.expr, node.ops[0].expr)
    for side, constant in (sides, sides[::-1]):
        if isinstance(constant, nodes.Const):
            yield _source(template, side), constant.value, (word == "eq") is holds


def _source(template: Template, node: nodes.Expr) -> str:
    start, end = template.span(node)
    return " ".join(template.text[start:end].split())
