"""Conditions with a constant outcome, and conditions whose outcome follows from the values known at a point."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite, isinf
from typing import TYPE_CHECKING

from jinja2 import nodes

from wfc.analysis.types.environment import TIGHT, Change, Kind, Path
from wfc.analysis.types.lattice import (
    EMPTY_LIST,
    UNDEFINED,
    always_true,
    describe,
    exact,
    join,
    kind_of,
    least_of,
    options,
    without,
)
from wfc.language.types import BOOL, NULL, Choice, Exact, Record, Type
from wfc.struct import struct
from wfc_runtime.expr.filters.data import FALSE_WORDS, TRUE_WORDS

if TYPE_CHECKING:
    from wfc.analysis.types.expressions import Inference


def values_of(kind: Type) -> list[str] | None:
    """All texts that a value of the type may be; None if they are not known."""
    found: list[str] = []
    for option in options(kind):
        if isinstance(option, Choice):
            found += option.values
        elif isinstance(option, Exact) and isinstance(option.value, str):
            found.append(option.value)
        else:
            return None
    return list(dict.fromkeys(found))


def check_constant(walk: Inference, node: nodes.Expr, path: Path | None) -> None:
    """Report a condition on a path whose value is always true on every path to this point."""
    if path is None or path not in walk.seen:
        return
    is_field = len(path) == 2 and path[0] == "state"
    # Over the whole run: the same condition is evaluated in every turn of a loop.
    kind = walk.environment.around.overall(str(path[1])) if is_field else walk.seen[path]
    kind = without(kind, UNDEFINED)
    if is_field and kind == NULL:
        report_always_null(walk, node)
    # An alternative that may be false makes the condition a real one.
    if not all(always_true(option) for option in options(kind)):
        _check_unset(walk, node, kind)
        return
    words = values_of(kind)
    # Both words are true, but the author certainly means them as yes and no.
    if words is not None and is_switch(words):
        report_stringified(walk, node, words)
        return
    walk.report(
        Kind.CONSTANT,
        node,
        f"`{walk.source(node)}` is {describe(kind)}, never empty: as a condition it is always true",
        **_flag_meant(walk, node, kind),
    )


def _check_unset(walk: Inference, node: nodes.Expr, kind: Type) -> None:
    """Report a field that is null or an empty text until it is set, and then `'true'` or `'false'`."""
    rest = [one for one in options(kind) if one not in (NULL, exact(""))]
    words = values_of(join(*rest)) if rest else None
    if words is not None and {word.lower() for word in words} == {"true", "false"}:
        report_stringified(walk, node, words, "as a condition any text that is not empty is true")


def check_null_test(walk: Inference, node: nodes.Expr) -> None:
    """Report `is none` of a field that is always null."""
    field = field_of(node)
    if field is not None and walk.environment.around.overall(field) == NULL:
        report_always_null(walk, node)


def report_always_null(walk: Inference, node: nodes.Expr) -> None:
    walk.report(
        Kind.CONSTANT,
        node,
        f"`{walk.source(node)}` is always null: no step writes it",
        help="write it with `output_to` or a set_state step",
    )


def field_of(node: nodes.Node) -> str | None:
    """The state field, if the expression is nothing but that field."""
    if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name) and node.node.name == "state":
        return node.attr
    return None


def is_switch(words: list[str]) -> bool:
    """Whether the texts mean yes and no. Both are true as conditions, which is rarely intended."""
    folded = {word.strip().lower() for word in words}
    return bool(folded & FALSE_WORDS) and folded <= FALSE_WORDS | TRUE_WORDS


def report_stringified(
    walk: Inference, node: nodes.Expr, words: list[str], why: str = "any text counts as true in a condition"
) -> None:
    start, end = walk.template.span(node)
    shown = " or ".join(f"`'{word.strip()}'`" for word in words)
    field = field_of(node)
    walk.report(
        Kind.STRINGIFIED,
        (start, end),
        f"`{walk.source(node)}` is the text {shown}: {why}",
        help="keep the boolean itself, as a value of just one `{{ ... }}`, or read the text with `| bool`"
        if field
        else f"compare it with one of them, or read it as a boolean: `{walk.as_operand(node)} | bool`",
        changes=_behind(walk, node, TIGHT, " | bool"),
        fix="read the text as a boolean",
        field=field,
    )


_DOTTED = (nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Call)


def _behind(
    walk: Inference, node: nodes.Expr, tight: tuple[type[nodes.Expr], ...], text: str
) -> tuple[Change, ...]:
    """Text behind an expression, which is put in brackets unless it is one of the `tight` kinds."""
    start, end = walk.template.span(node)
    if isinstance(node, tight):
        return (Change(end, end, text),)
    return Change(start, start, "("), Change(end, end, f"){text}")


def _flag_meant(walk: Inference, node: nodes.Expr, kind: Type) -> dict[str, object]:
    """The fix for a condition on a whole answer: its only boolean property was probably meant."""
    if not isinstance(kind, Record):
        values = values_of(kind)
        return {"help": "compare it: `== " + repr(values[0]) + "`"} if values else {}
    flags = [prop.name for prop in kind.properties if prop.type == BOOL and prop.required]
    if len(flags) == 1 and kind_of(kind) == "object":
        text = walk.source(node) if isinstance(node, _DOTTED) else f"({walk.source(node)})"
        return {
            "help": f"did you mean `{text}.{flags[0]}`?",
            "changes": _behind(walk, node, _DOTTED, f".{flags[0]}"),
            "fix": f"test {flags[0]}",
        }
    if kind.get("exit_code"):
        return {"help": f"did you mean `{walk.source(node)}.exit_code == 0`?"}
    return {"help": "test one of its properties"}


# Outcomes that follow from known values: `state.tries < 3` right after tries was set to 0.

Range = tuple[float, float]
"""The smallest and the largest value that a number may have."""
_LARGEST = 1 << 50
"""Larger integers are not exact as floats."""
_UNBOUNDED: Range = (-inf, inf)


@struct(frozen=True)
class Values:
    """The values known at a point."""

    state: Callable[[str], Type]
    inputs: Callable[[str, bool], Range]
    """The bounds of an input that is a number or, if the second argument is true, of the length of an input."""


def decide(node: nodes.Expr, values: Values) -> bool | None:
    """The outcome of a condition; None if it is not known."""
    match node:
        case nodes.Not():
            return _opposite(decide(node.node, values))
        case nodes.And():
            return _both(decide(node.left, values), decide(node.right, values))
        case nodes.Or():
            # De Morgan: `a or b` is false exactly if both are.
            found = _both(_opposite(decide(node.left, values)), _opposite(decide(node.right, values)))
            return _opposite(found)
        case nodes.Compare():
            return _compared(node, values)
        case nodes.Test() if node.name in ("none", "defined", "undefined"):
            return _tested(node, values)
    kind = _type_of(node, values)
    if kind is not None:
        return _truth_of(kind)
    least, most = _range(node, values)
    return True if least > 0 or most < 0 else False if least == most == 0 else None


def _truth_of(kind: Type) -> bool | None:
    if isinstance(kind, Exact):
        return bool(kind.value)
    return False if kind in (NULL, EMPTY_LIST) else True if least_of(kind) else None


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
    # Only exact values decide a test.
    if not isinstance(kind, Exact) and kind not in (NULL, UNDEFINED):
        return None
    if node.name == "none":
        return kind == NULL if kind != UNDEFINED else None
    return (kind == UNDEFINED) == (node.name == "undefined")


def _compared(node: nodes.Compare, values: Values) -> bool | None:
    """The outcome of a comparison. `a < b < c` holds if both of its parts do."""
    found: bool | None = True
    left = node.expr
    for operand in node.ops:
        found = _both(found, _pair(left, operand.op, operand.expr, values))
        left = operand.expr
    return found


def _pair(left: nodes.Expr, sign: str, right: nodes.Expr, values: Values) -> bool | None:
    if sign in ("in", "notin"):
        there = _member(left, right, values)
        return there if sign == "in" else _opposite(there)
    if sign in ("eq", "ne"):
        same = _same(left, right, values)
        return same if sign == "eq" else _opposite(same)
    # Two of the four comparisons are the others with exchanged sides.
    if sign in ("gt", "gteq"):
        left, right, sign = right, left, "lt" if sign == "gt" else "lteq"
    (least, most), (other_least, other_most) = _range(left, values), _range(right, values)
    if most < other_least or (sign == "lteq" and most == other_least):
        return True
    return False if least > other_most or (sign == "lt" and least == other_most) else None


def _same(left: nodes.Expr, right: nodes.Expr, values: Values) -> bool | None:
    one, other = _type_of(left, values), _type_of(right, values)
    if all(isinstance(kind, Exact) or kind == NULL for kind in (one, other)):
        return _value_of(one) == _value_of(other)
    (least, most), (other_least, other_most) = _range(left, values), _range(right, values)
    if most < other_least or other_most < least:
        return False
    return True if least == most == other_least == other_most else None


def _member(node: nodes.Expr, listed: nodes.Expr, values: Values) -> bool | None:
    """Whether a known value is one of the constants of a list."""
    kind = _type_of(node, values)
    if not isinstance(listed, nodes.List | nodes.Tuple) or not (isinstance(kind, Exact) or kind == NULL):
        return None
    constants = [item.value for item in listed.items if isinstance(item, nodes.Const)]
    if _value_of(kind) in constants:
        return True
    # A list with a computed item may contain the value.
    return False if len(constants) == len(listed.items) else None


def _value_of(kind: Type | None) -> object:
    return kind.value if isinstance(kind, Exact) else None


def _range(node: nodes.Expr, values: Values) -> Range:
    """The bounds of a number."""
    match node:
        case nodes.Neg():
            least, most = _range(node.node, values)
            return -most, -least
        case nodes.Add() | nodes.Sub() | nodes.Mul():
            return _computed(node, _range(node.left, values), _range(node.right, values))
        case nodes.Filter(name="length" | "count") if node.node is not None:
            return _length(node.node, values)
        case nodes.Filter(name="int") if node.node is not None:
            least, most = _range(node.node, values)
            return _whole(least), _whole(most)
        case nodes.Getattr() if isinstance(node.node, nodes.Name) and node.node.name == "inputs":
            return values.inputs(node.attr, False)
    kind = _type_of(node, values)
    found = [_value_of(option) for option in options(kind)] if kind is not None else [None]
    # Beyond this size a float is not exact, so nothing is concluded.
    numbers = [float(one) for one in found if isinstance(one, int | float) and abs(one) < _LARGEST]
    return (min(numbers), max(numbers)) if len(numbers) == len(found) else _UNBOUNDED


def _whole(bound: float) -> float:
    """What the filter `int` makes of it: it rounds towards zero."""
    return float(int(bound)) if isfinite(bound) else bound


def _length(node: nodes.Expr, values: Values) -> Range:
    if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name) and node.node.name == "inputs":
        return values.inputs(node.attr, True)
    kind = _type_of(node, values)
    if kind is None:
        return 0, inf
    is_exact = isinstance(_value_of(kind), str) or kind == EMPTY_LIST
    return least_of(kind), least_of(kind) if is_exact else inf


def _computed(node: nodes.BinExpr, left: Range, right: Range) -> Range:
    if isinstance(node, nodes.Add):
        return left[0] + right[0], left[1] + right[1]
    if isinstance(node, nodes.Sub):
        return left[0] - right[1], left[1] - right[0]
    # Infinity times zero is not a number.
    if any(isinf(bound) for bound in (*left, *right)):
        return _UNBOUNDED
    products = [one * other for one in left for other in right]
    return min(products), max(products)
