"""Arithmetic: what can be computed with what, and division by what may be zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wfc.core.types import ANY, INT, LIST, NULL, NUMBER, TEXT, Exact, ListType, Type
from wfc.infer.comparison import report_null
from wfc.infer.environment import Held
from wfc.infer.problems import Kind
from wfc.infer.results import is_int, item_of
from wfc.infer.terms import NOTHING, join, kind_of, kinds_of, options, without
from wfc.infer.views import describe
from wfc_runtime.expr import nodes

if TYPE_CHECKING:
    from wfc.infer.expressions import Inference

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
        return _meant(left)
    for operand, kind in ((node.left, left), (node.right, right)):
        if NULL in options(kind):
            report_null(walk, operand, kind)
    if sign in _DIVISIONS:
        _check_zero(walk, node.right, right, sign)
    return result


def combined(sign: str, left: Type, right: Type) -> Type | None:
    """What comes out, over all pairs that fit; None where no pair does."""
    if NOTHING in (left, right):
        return NOTHING
    found = [_pair(sign, one, other) for one in options(left) for other in options(right)]
    fitting = [kind for kind in found if kind is not None]
    return join(*fitting) if fitting else None


def _pair(sign: str, left: Type, right: Type) -> Type | None:
    kinds = {kind_of(left), kind_of(right)}
    if kinds == {"number"}:
        whole = is_int(left) and is_int(right) and sign not in ("/", "**")
        return INT if whole else NUMBER
    if "any" in kinds or "nothing" in kinds:
        return _with_unknown(sign, (kinds - {"any", "nothing"}) or {"any"}, left, right)
    if sign == "+" and kinds == {"text"}:
        return TEXT
    if sign == "+" and kinds == {"list"}:
        return ListType(join(item_of(left), item_of(right)))
    if sign == "*" and "number" in kinds and kinds & {"text", "list"}:
        return TEXT if "text" in kinds else ListType(item_of(left if kind_of(left) == "list" else right))
    return None


def _with_unknown(sign: str, known: set[str], left: Type, right: Type) -> Type | None:
    """One operand is not known: the other may still say what comes out, if anything does."""
    if sign not in ("+", "*"):
        return NUMBER if known <= {"number", "any"} else None
    if sign == "*":
        return ANY if known <= {"number", "text", "list", "any"} else None
    if known <= {"any"}:
        return ANY
    sums: dict[str, Type] = {"number": NUMBER, "text": TEXT, "list": LIST}
    return sums.get(next(iter(known)))


def _meant(left: Type) -> Type:
    """What a sum that can't be made was meant to be: were it any, a counter in a loop would hide its own mistake."""
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
        hint = f"make it a number first: `{walk.source(text)} | int`"
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
    """Only for what is known to be a number and may well be zero: a field, an input, a count."""
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
        "this divides by zero" if zero else f"`{text}` may be 0: dividing by it fails then",
        help="" if zero else f"say what then: `... {sign} {divisor} if {divisor} else 0`",
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
    # Compared with something that is not known: the author has thought about how large it is.
    if not isinstance(value, int | float):
        return True
    return _rules_out_zero(test.ops[0].op, held.outcome, value, flipped=right == node)


def _rules_out_zero(sign: str, outcome: bool, value: float, flipped: bool) -> bool:
    """Whether zero would have made the comparison come out the other way."""
    left, right = (value, 0.0) if flipped else (0.0, value)
    holds = {
        "eq": left == right, "ne": left != right, "lt": left < right, "lteq": left <= right,
        "gt": left > right, "gteq": left >= right,
    }.get(sign)  # fmt: skip
    return holds is not None and holds != outcome


def _subject(node: nodes.Expr) -> nodes.Expr | None:
    """Of `x | length` also a test of x itself will do."""
    return node.node if isinstance(node, nodes.Filter) and node.name in ("length", "count") else None
