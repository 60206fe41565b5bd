"""Comparisons: what can be put in order, what can be equal, what can be looked for where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wfc.core.types import BOOL, NULL, Type
from wfc.infer.access import Reached, follow
from wfc.infer.constant import field_of, is_switch, report_stringified, values_of
from wfc.infer.problems import Change, Kind
from wfc.infer.results import item_of
from wfc.infer.terms import is_known, kinds_of, options, without
from wfc.infer.views import describe
from wfc.suggest import nearest
from wfc_runtime.expr import nodes

if TYPE_CHECKING:
    from wfc.infer.expressions import Inference

_ORDER = {"lt": "<", "lteq": "<=", "gt": ">", "gteq": ">="}
_EQUALITY = {"eq": "==", "ne": "!="}
EQUALITY_TESTS = {**_EQUALITY, "equalto": "==", "==": "==", "!=": "!="}
"""Tests by name, and the operator that each stands for."""
_ORDERED = frozenset({"number", "text", "list", "date"})
_ALIKE = {"bool": "number"}
"""Python's true is 1, so these two can be equal."""


def compared(walk: Inference, node: nodes.Compare, guarded: bool) -> Type:
    check(walk, node)
    return BOOL


def check(walk: Inference, node: nodes.Compare) -> tuple[Reached, Reached]:
    """Look at every pair of operands. Returns the first operand and the last."""
    first = left = follow(walk, node.expr)
    left_node = node.expr
    for operand in node.ops:
        right = follow(walk, operand.expr)
        if operand.op in _ORDER:
            check_order(walk, (left_node, left.type), (operand.expr, right.type), _ORDER[operand.op])
        elif operand.op in _EQUALITY:
            check_equality(walk, (left_node, left.type), (operand.expr, right.type), _EQUALITY[operand.op])
        else:
            check_membership(walk, (left_node, left.type), (operand.expr, right.type))
        left, left_node = right, operand.expr
    return first, left


Operand = tuple[nodes.Expr, Type]


def check_order(
    walk: Inference, left: Operand, right: Operand, sign: str, place: nodes.Node | None = None
) -> None:
    """`place`: the whole of it, where it is more than the two operands."""
    if not is_known(left[1]) or not is_known(right[1]):
        return
    if kinds_of(left[1]) & kinds_of(right[1]) & _ORDERED:
        for node, kind in (left, right):
            if NULL in options(kind):
                report_null(walk, node, kind)
        return
    walk.report(
        Kind.MISMATCH,
        place or _around(walk, left[0], right[0]),
        f"{_both(walk, left, right)}: `{sign}` can't compare them",
        help=_conversion(walk, left, right),
    )


def report_null(walk: Inference, node: nodes.Node, kind: Type) -> None:
    """A value that may be null, in a place where null fails."""
    field = field_of(node)
    walk.report(
        Kind.UNSET if kind == NULL and field else Kind.NULLABLE,
        node,
        f"`{walk.source(node)}` {'is' if kind == NULL else 'may be'} null here",
        help=f"say what then: `{walk.source(node)} | default(..., true)`",
        field=field,
        sure=kind == NULL,
    )


def check_equality(
    walk: Inference, left: Operand, right: Operand, sign: str, place: nodes.Node | None = None
) -> None:
    """Values of two kinds are never equal, nor is a text that is none of those which it is compared with."""
    if (
        not is_known(left[1])
        or not is_known(right[1])
        or NULL in options(left[1])
        or NULL in options(right[1])
    ):
        return
    if not _alike(left[1]) & _alike(right[1]):
        _never_equal(walk, left, right, place)
        return
    known, wanted = values_of(left[1]), values_of(right[1])
    if known and wanted and not set(known) & set(wanted):
        if len(known) == 1 and len(wanted) > 1:
            left, right, known, wanted = right, left, wanted, known
        _other_value(walk, left, right, known, wanted[0], always="true" if sign == "!=" else "false")


def _alike(kind: Type) -> set[str]:
    return {_ALIKE.get(one, one) for one in kinds_of(kind)}


def _never_equal(walk: Inference, left: Operand, right: Operand, place: nodes.Node | None) -> None:
    for (node, kind), (_, other) in ((left, right), (right, left)):
        words = values_of(kind)
        if words and len(words) > 1 and is_switch(words) and kinds_of(other) == {"bool"}:
            report_stringified(walk, node, words, "it is never equal to a boolean")
            return
    walk.report(
        Kind.MISMATCH,
        place or _around(walk, left[0], right[0]),
        f"{_both(walk, left, right)}: they are never equal",
        help=_conversion(walk, left, right),
    )


def _other_value(
    walk: Inference, left: Operand, right: Operand, known: list[str], wanted: str, always: str
) -> None:
    near = nearest(wanted, known)
    shown = ", ".join(f"`'{value}'`" for value in known[:6]) + (", ..." if len(known) > 6 else "")
    more: dict[str, Any] = {}
    if near and isinstance(right[0], nodes.Const):
        start, end = walk.template.span(right[0])
        quote = walk.template.text[start]
        changes = (Change(start, end, f"{quote}{near}{quote}"),) if near.isidentifier() else ()
        more = {"changes": changes, "fix": f"compare with {near}" if changes else ""}
    walk.report(
        Kind.CONSTANT,
        right[0],
        f"`{walk.source(left[0])}` is never `'{wanted}'`, so this is always {always}",
        help=f"did you mean `'{near}'`?" if near else f"it is one of {shown}",
        **more,
    )


def check_membership(walk: Inference, left: Operand, right: Operand) -> None:
    kind = right[1]
    if not is_known(kind):
        return
    if not kinds_of(kind) & {"text", "list", "object"}:
        if kind == NULL:
            report_null(walk, right[0], kind)
            return
        words = f"`{walk.source(right[0])}` is {describe(kind)}"
        walk.report(Kind.MISMATCH, right[0], f"{words}: `in` looks into lists, objects and text")
        return
    if NULL in options(kind):
        report_null(walk, right[0], kind)
    item = item_of(kind)
    value = without(left[1], NULL)
    if is_known(item) and is_known(value) and not _alike(item) & _alike(value) and NULL not in options(item):
        words = f"`{walk.source(left[0])}` is {describe(value)}"
        inside = "text" if kinds_of(kind) == {"text"} else f"a list of {_plural(item)}"
        if kinds_of(kind) <= {"text", "list"}:
            walk.report(Kind.MISMATCH, left[0], f"{words}: it is never in {inside}")
        return
    _check_values(walk, (left[0], value), right, item)


def _check_values(walk: Inference, left: Operand, right: Operand, item: Type) -> None:
    """A choice that none of the listed texts is among."""
    known, wanted = values_of(left[1]), values_of(item)
    if known and wanted and kinds_of(right[1]) == {"list"} and not set(known) & set(wanted):
        shown = ", ".join(f"`'{value}'`" for value in known[:6])
        message = f"`{walk.source(left[0])}` is never any of these"
        walk.report(Kind.CONSTANT, right[0], message, help=f"it is one of {shown}")


def _plural(kind: Type) -> str:
    words = {"text": "texts", "number": "numbers", "bool": "booleans", "list": "lists", "object": "objects"}
    return " and ".join(dict.fromkeys(words.get(one, "other values") for one in sorted(kinds_of(kind))))


def _both(walk: Inference, left: Operand, right: Operand) -> str:
    return (
        f"`{walk.source(left[0])}` is {describe(left[1])}, `{walk.source(right[0])}` is {describe(right[1])}"
    )


def _conversion(walk: Inference, left: Operand, right: Operand) -> str:
    """How the two could be made alike."""
    for (node, kind), (other_node, other) in ((left, right), (right, left)):
        if kinds_of(kind) != {"text"}:
            continue
        if isinstance(node, nodes.Const) and kinds_of(other) <= {"number", "bool"}:
            return f"write `{str(node.value).strip()}` without quotes" if _is_plain(node.value, other) else ""
        if kinds_of(other) == {"number"}:
            return f"make it a number first: `{walk.source(node)} | int`"
        if kinds_of(other) == {"bool"}:
            return f"read it as a boolean: `{walk.source(node)} | bool`"
        if "object" in kinds_of(other):
            return f"compare one of its properties: `{walk.source(other_node)}.<name>`"
    return ""


def _is_plain(value: object, other: Type) -> bool:
    text = str(value).strip().lower()
    return text in ("true", "false") if kinds_of(other) == {"bool"} else text.lstrip("-").isdigit()


def _around(walk: Inference, left: nodes.Expr, right: nodes.Expr) -> tuple[int, int]:
    return walk.template.span(left)[0], walk.template.span(right)[1]
