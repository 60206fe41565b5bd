"""Operators: comparisons, membership and arithmetic, with the operand types that each of them accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jinja2 import nodes

from wfc.analysis.types.access import Reached, follow, report_fraction
from wfc.analysis.types.builtins import is_fraction, is_int, item_of
from wfc.analysis.types.constants import field_of, is_switch, report_stringified, values_of
from wfc.analysis.types.environment import Change, Held, Kind
from wfc.analysis.types.lattice import (
    NOTHING,
    describe,
    is_known,
    join,
    kind_of,
    kinds_of,
    least_of,
    options,
    without,
)
from wfc.language.types import ANY, BOOL, INT, LIST, NULL, NUMBER, TEXT, Exact, ListType, Type
from wfc.suggest import nearest

if TYPE_CHECKING:
    from wfc.analysis.types.expressions import Inference


_ORDER = {"lt": "<", "lteq": "<=", "gt": ">", "gteq": ">="}
_EQUALITY = {"eq": "==", "ne": "!="}
EQUALITY_TESTS = {**_EQUALITY, "equalto": "==", "==": "==", "!=": "!="}
"""Tests that are comparisons, each with its operator."""
_ORDERED = frozenset({"number", "text", "list", "date"})
_ALIKE = {"bool": "number"}
"""Kinds that can be equal although they differ: in Python, true equals 1."""


def compared(walk: Inference, node: nodes.Compare, guarded: bool) -> Type:
    check(walk, node)
    return BOOL


def check(walk: Inference, node: nodes.Compare) -> tuple[Reached, Reached]:
    """Check each pair of operands. Returns the first and the last operand."""
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
    """Check one pair of operands. `place` is the whole expression if it is more than the pair."""
    if not is_known(left[1]) or not is_known(right[1]):
        return
    # One common kind is enough: which alternatives meet in a run is unknown, and only certain failures are reported.
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
    """Report a value that may be null where null fails."""
    field = field_of(node)
    walk.report(
        Kind.UNSET if kind == NULL and field else Kind.NULLABLE,
        node,
        f"`{walk.source(node)}` {'is' if kind == NULL else 'may be'} null here",
        help=f"supply a fallback: `{walk.as_operand(node)} | default(..., true)`",
        field=field,
        sure=kind == NULL,
    )


def check_equality(
    walk: Inference, left: Operand, right: Operand, sign: str, place: nodes.Node | None = None
) -> None:
    """Report operands that can never be equal: values of different kinds, or a choice and a text that is not in it."""
    if (
        not is_known(left[1])
        or not is_known(right[1])
        or NULL in options(left[1])
        or NULL in options(right[1])
    ):
        return
    # Values that may be null are left out above: comparing with a missing value is a common test.
    if not _alike(left[1]) & _alike(right[1]):
        _never_equal(walk, left, right, place)
        return
    known, wanted = values_of(left[1]), values_of(right[1])
    if known and wanted and not set(known) & set(wanted):
        # The finding should be at the constant, whichever side it is written on.
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
        walk.report(Kind.MISMATCH, right[0], f"{words}: `in` searches lists, objects and texts")
        return
    if NULL in options(kind):
        report_null(walk, right[0], kind)
    item = item_of(kind)
    # `x in list` with a null `x` is false and does no harm.
    value = without(left[1], NULL)
    if is_known(item) and is_known(value) and not _alike(item) & _alike(value) and NULL not in options(item):
        words = f"`{walk.source(left[0])}` is {describe(value)}"
        inside = "text" if kinds_of(kind) == {"text"} else f"a list of {_plural(item)}"
        if kinds_of(kind) <= {"text", "list"}:
            walk.report(Kind.MISMATCH, left[0], f"{words}: it is never in {inside}")
        return
    _check_values(walk, (left[0], value), right, item)


def _check_values(walk: Inference, left: Operand, right: Operand, item: Type) -> None:
    """Report a list of which no text is in the choice."""
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
    """Advice on a conversion that makes the operands comparable."""
    for (node, kind), (other_node, other) in ((left, right), (right, left)):
        if kinds_of(kind) != {"text"}:
            continue
        if isinstance(node, nodes.Const) and kinds_of(other) <= {"number", "bool"}:
            return f"write `{str(node.value).strip()}` without quotes" if _is_plain(node.value, other) else ""
        if kinds_of(other) == {"number"}:
            return f"make it a number first: `{walk.as_operand(node)} | int`"
        if kinds_of(other) == {"bool"}:
            return f"read it as a boolean: `{walk.as_operand(node)} | bool`"
        if "object" in kinds_of(other):
            return f"compare one of its properties: `{walk.source(other_node)}.<name>`"
    return ""


def _is_plain(value: object, other: Type) -> bool:
    text = str(value).strip().lower()
    return text in ("true", "false") if kinds_of(other) == {"bool"} else text.lstrip("-").isdigit()


def _around(walk: Inference, left: nodes.Expr, right: nodes.Expr) -> tuple[int, int]:
    return walk.template.span(left)[0], walk.template.span(right)[1]


# Arithmetic, and division by a value that may be zero.

_VERBS = {
    "+": "be added", "-": "be subtracted", "*": "be multiplied", "/": "be divided", "//": "be divided",
    "**": "be raised to a power",
}  # fmt: skip
_DIVISIONS = frozenset({"/", "//", "%"})
_COUNTS = frozenset({"length", "count", "sum", "int", "float", "wordcount"})


def computed(walk: Inference, node: nodes.BinExpr, guarded: bool) -> Type:
    left, right = walk.type_of(node.left), walk.type_of(node.right)
    sign = node.operator or ""
    result = combined(sign, without(left, NULL), without(right, NULL))
    if result is None:
        _mismatch(walk, node, left, right, sign)
        # Not any: inference continues, and later findings would otherwise be hidden.
        return _meant(left)
    for operand, kind in ((node.left, left), (node.right, right)):
        if NULL in options(kind):
            report_null(walk, operand, kind)
    if sign in _DIVISIONS:
        _check_zero(walk, node.right, right, sign)
    if sign == "*":
        _check_repetition(walk, node, left, right)
    return result


def _check_repetition(walk: Inference, node: nodes.BinExpr, left: Type, right: Type) -> None:
    for number, kind, other in ((node.left, left, right), (node.right, right, left)):
        if is_fraction(number, kind) and kinds_of(without(other, NULL)) <= {"text", "list"}:
            report_fraction(walk, number, "text and lists are repeated a whole number of times")


def combined(sign: str, left: Type, right: Type) -> Type | None:
    """The join of the results over all pairs of alternatives that fit; None if none does."""
    # An operand without a value yet (a field computed from itself): the next round of the fixpoint knows more.
    if NOTHING in (left, right):
        return NOTHING
    found = [_pair(sign, one, other) for one in options(left) for other in options(right)]
    fitting = [kind for kind in found if kind is not None]
    return join(*fitting) if fitting else None


def _pair(sign: str, left: Type, right: Type) -> Type | None:
    kinds = {kind_of(left), kind_of(right)}
    if kinds == {"number"}:
        # Division gives a float even for whole operands, and so does a negative power.
        whole = is_int(left) and is_int(right) and sign not in ("/", "**")
        return INT if whole else NUMBER
    if "any" in kinds or "nothing" in kinds:
        return _with_unknown(sign, (kinds - {"any", "nothing"}) or {"any"}, left, right)
    if sign == "+" and kinds == {"text"}:
        return TEXT
    if sign == "+" and kinds == {"list"}:
        return ListType(join(item_of(left), item_of(right)), least_of(left) + least_of(right))
    if sign == "*" and "number" in kinds and kinds & {"text", "list"}:
        return TEXT if "text" in kinds else ListType(item_of(left if kind_of(left) == "list" else right))
    return None


def _with_unknown(sign: str, known: set[str], left: Type, right: Type) -> Type | None:
    """The result if one operand is unknown: the kind of the other one may determine it."""
    if sign not in ("+", "*"):
        return NUMBER if known <= {"number", "any"} else None
    if sign == "*":
        return ANY if known <= {"number", "text", "list", "any"} else None
    if known <= {"any"}:
        return ANY
    sums: dict[str, Type] = {"number": NUMBER, "text": TEXT, "list": LIST}
    return sums.get(next(iter(known)))


def _meant(left: Type) -> Type:
    """The intended type of an invalid sum. With any, a counter in a loop would hide its own error."""
    kinds = kinds_of(left)
    guesses: dict[str, Type] = {"number": NUMBER, "text": TEXT, "list": LIST}
    return guesses.get(next(iter(kinds)), ANY) if len(kinds) == 1 else ANY


def _mismatch(walk: Inference, node: nodes.BinExpr, left: Type, right: Type, sign: str) -> None:
    texts = "text" in kinds_of(left) | kinds_of(right)
    hint = ""
    if sign == "+" and texts:
        hint = "`~` joins anything as text"
    elif sign == "%" and kinds_of(left) == {"text"}:
        hint = "values go into a pattern with `| format(...)`"
    elif texts:
        text = node.left if "text" in kinds_of(left) else node.right
        hint = f"make it a number first: `{walk.as_operand(text)} | int`"
    words = f"`{walk.source(node.left)}` is {describe(left)}"
    words += f", `{walk.source(node.right)}` is {describe(right)}"
    verb = "`%` is for numbers" if sign == "%" else f"they can't {_VERBS[sign]}"
    walk.report(
        Kind.MISMATCH,
        (walk.template.span(node.left)[0], walk.template.span(node.right)[1]),
        f"{words}: {verb}",
        help=hint,
    )


def signed(walk: Inference, node: nodes.Neg | nodes.Pos, guarded: bool) -> Type:
    kind = walk.type_of(node.node)
    if isinstance(kind, Exact) and not isinstance(kind.value, str | bool):
        return Exact(-kind.value if isinstance(node, nodes.Neg) else kind.value, kind.kind)
    found = [one for one in options(kind) if kind_of(one) in ("number", "any", "nothing")]
    if not found:
        words = f"`{walk.source(node.node)}` is {describe(kind)}"
        walk.report(Kind.MISMATCH, node.node, f"{words}: only a number has a sign")
        return NUMBER
    return INT if is_int(join(*found)) else NUMBER


def _check_zero(walk: Inference, node: nodes.Expr, kind: Type, sign: str) -> None:
    """Report a divisor that is known to be a number and may be zero: a field, an input or a count."""
    is_count = isinstance(node, nodes.Filter) and node.name in _COUNTS
    is_path = isinstance(node, nodes.Name | nodes.Getattr | nodes.Getitem)
    if kinds_of(without(kind, NULL)) != {"number"} or not (
        is_count or is_path or isinstance(node, nodes.Const)
    ):
        return
    if all(isinstance(one, Exact) and one.value for one in options(kind)):
        return
    if _path_of(node) in walk.environment.around.nonzero or _is_guarded(walk, node):
        return
    zero = isinstance(node, nodes.Const)
    text = walk.source(node)
    divisor = f"({text})" if is_count else text
    walk.report(
        Kind.ZERO_DIVISION,
        node,
        "this divides by zero" if zero else f"`{text}` may be 0: the division would fail",
        help="" if zero else f"supply a fallback: `... {sign} {divisor} if {divisor} else 0`",
        sure=zero,
    )


def _path_of(node: nodes.Expr) -> tuple[str, ...]:
    if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name):
        return (node.node.name, node.attr)
    return (node.name,) if isinstance(node, nodes.Name) else ()


def _is_guarded(walk: Inference, node: nodes.Expr) -> bool:
    """Whether a test around the division has shown that the divisor is not zero."""
    return any(_excludes_zero(held, node) for held in walk.held)


def _excludes_zero(held: Held, node: nodes.Expr) -> bool:
    test = held.node
    inner = _subject(node)
    if test in (node, inner):
        return held.outcome
    if not isinstance(test, nodes.Compare) or len(test.ops) != 1:
        return False
    left, right = test.expr, test.ops[0].expr
    if node not in (left, right):
        return False
    other = right if left == node else left
    value = other.value if isinstance(other, nodes.Const) else None
    # A comparison with an unknown value counts as a guard, to avoid false findings.
    if not isinstance(value, int | float):
        return True
    return _rules_out_zero(test.ops[0].op, held.outcome, value, flipped=right == node)


def _rules_out_zero(sign: str, outcome: bool, value: float, flipped: bool) -> bool:
    """Whether the outcome of a comparison rules out zero."""
    left, right = (value, 0.0) if flipped else (0.0, value)
    holds = {
        "eq": left == right, "ne": left != right, "lt": left < right, "lteq": left <= right,
        "gt": left > right, "gteq": left >= right,
    }.get(sign)  # fmt: skip
    return holds is not None and holds != outcome


def _subject(node: nodes.Expr) -> nodes.Expr | None:
    """The operand of `x | length`: a test of `x` itself also rules out zero."""
    return node.node if isinstance(node, nodes.Filter) and node.name in ("length", "count") else None
