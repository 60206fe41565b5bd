"""Expressions of the core under construction: their text in pieces, and what is known about their value."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from wfc.caching import cached_property
from wfc.dialects.base import Piece
from wfc.struct import replace, struct

UNKNOWN = object()
"""The constant of an expression whose value only a run determines."""

CHOICE, OR, AND, NOT, COMPARISON, ATOM = range(6)
"""Precedence levels, loosest first."""
_IN_A_ROW = 60
"""The most operands of one `and` or `or`. Each nests one level deeper in the parser, so more are put in brackets."""


METHODS = {
    **dict.fromkeys(("lower", "upper", "strip", "lstrip", "rstrip", "replace"), "str"),
    **dict.fromkeys(("startswith", "endswith", "isdigit"), "bool"),
    **dict.fromkeys(("count", "find"), "int"),
}
"""The methods that texts have in conditions, with the types of their results."""


@struct(frozen=True)
class Expr:
    """An expression, its type (str, int, float, bool, list, dict, any), and its value if that is constant."""

    pieces: tuple[Piece, ...]
    type: str = "any"
    level: int = ATOM
    constant: Any = UNKNOWN
    reads: frozenset[str] = frozenset()
    """The state fields that it reads."""

    @cached_property
    def start(self) -> int:
        return min(piece.start for piece in self.pieces)

    @cached_property
    def end(self) -> int:
        return max(piece.end for piece in self.pieces)

    @property
    def is_constant(self) -> bool:
        return self.constant is not UNKNOWN

    def within(self, level: int) -> tuple[Piece, ...]:
        """Its pieces as an operand of an operator of that precedence, in brackets if needed."""
        if self.level >= level:
            return self.pieces
        return (Piece("(", self.start, self.end), *self.pieces, Piece(")", self.start, self.end))


def all_reads(values: Iterable[Expr]) -> frozenset[str]:
    return frozenset[str]().union(*(value.reads for value in values))


def literal(value: Any, start: int, end: int) -> Expr:
    words = {True: "true", False: "false", None: "none"}
    is_word = value is None or isinstance(value, bool)
    text = words[value] if is_word else repr(value)
    kind = "any" if value is None else type(value).__name__
    return Expr((Piece(text, start, end),), kind, constant=value)


def piped(value: Expr, filter_: str, type_: str) -> Expr:
    pieces = (*value.within(ATOM), Piece(f" | {filter_}", value.start, value.end))
    return Expr(pieces, type_, reads=value.reads)


NO_CONDITIONS = {"int": "a number", "float": "a number", "list": "a list", "dict": "an object"}
"""Types that can't be conditions, and the words for them."""


def as_bool(value: Expr, strict: bool = False) -> Expr:
    """The value as a boolean. The texts `true` and `false` count as booleans; with `strict`, no other text does."""
    if value.type == "bool":
        return value
    if value.is_constant:
        said = _truth_of(value)
        if said is not None or not strict or not isinstance(value.constant, str):
            return literal(bool(value.constant) if said is None else said, value.start, value.end)
    return piped(value, "condition" if strict and value.type in ("str", "any") else "truth", "bool")


def negation(value: Expr, start: int) -> Expr:
    inner = as_bool(value)
    if inner.is_constant:
        return literal(not inner.constant, start, value.end)
    pieces = (Piece("not ", start, value.start), *inner.within(NOT))
    return Expr(pieces, "bool", NOT, reads=inner.reads)


def combination(word: str, values: list[Expr]) -> Expr:
    """Values joined by `and` or `or`, without those that do not affect the result."""
    decisive = word == "or"
    # The last operand is the result unless an earlier one decides, so only that must be a boolean.
    parts = [as_bool(value, strict=value is values[-1]) for value in values]
    # `false and x` is false for every x, even if x could not be evaluated.
    for part in parts:
        if part.is_constant and part.constant is decisive:
            return part
    open_ = [part for part in parts if not part.is_constant]
    if not open_:
        return parts[0]
    level = AND if word == "and" else OR
    if len(open_) == 1:
        return open_[0]
    if len(open_) > _IN_A_ROW:
        rows = [open_[start : start + _IN_A_ROW] for start in range(0, len(open_), _IN_A_ROW)]
        return combination(word, [replace(combination(word, row), level=CHOICE) for row in rows])
    pieces: list[Piece] = []
    for before, part in zip([None, *open_], open_, strict=False):
        if before is not None:
            pieces.append(Piece(f" {word} ", before.end, max(part.start, before.end)))
        pieces += part.within(level)
    return Expr(tuple(pieces), "bool", level, reads=all_reads(open_))


_TRUTH = {"true": True, "false": False}
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda item, items: item in items,
    "not in": lambda item, items: item not in items,
}


_SAME = {"is": "==", "is not": "!="}


def comparison(left: Expr, word: str, right: Expr, word_start: int, word_end: int) -> Expr:
    word = _SAME.get(word, word)
    left, right = _alike(left, right), _alike(right, left)
    if word in ("==", "!="):
        left, right = _in_letters(left, right)
    if left.is_constant and right.is_constant:
        try:
            return literal(
                bool(_OPERATORS[word](left.constant, right.constant)),
                min(left.start, right.start),
                max(left.end, right.end),
            )
        except TypeError:
            # Values that can't be compared stay in the expression, so that the type check reports them.
            pass
    middle = Piece(f" {word} ", word_start, word_end)
    pieces = (*left.within(ATOM), middle, *right.within(ATOM))
    return Expr(pieces, "bool", COMPARISON, reads=left.reads | right.reads)


def _alike(value: Expr, other: Expr) -> Expr:
    """The value, as a boolean if it is a text such as `true` that is compared with a boolean."""
    truth = _truth_of(other)
    if value.is_constant and isinstance(value.constant, str) and value.constant.lower() in _TRUTH:
        wants_bool = truth is not None or (other.type == "bool" and not other.is_constant)
        # Compared with anything else, the text `true` stays a text.
        return literal(_TRUTH[value.constant.lower()], value.start, value.end) if wants_bool else value
    return value


def _truth_of(value: Expr) -> bool | None:
    """The boolean that a literal means, also as text."""
    if not value.is_constant:
        return None
    if isinstance(value.constant, bool):
        return value.constant
    return _TRUTH.get(value.constant.lower()) if isinstance(value.constant, str) else None


def _in_letters(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Compare a value that may be any text as text: a text that is neither `true` nor `false` is not an error."""
    for value, other in ((left, right), (right, left)):
        truth = _truth_of(other)
        if value.is_constant or value.type not in ("str", "any"):
            continue
        if truth is not None or other.type == "bool":
            text = value if value.type == "str" else piped(value, "text", "str")
            lower = piped(text, "lower", "str")
            known = truth is not None
            word = (
                literal(str(truth).lower(), other.start, other.end) if known else piped(other, "text", "str")
            )
            return (lower, word) if value is left else (word, lower)
    return left, right


def choice(yes: Expr, test: Expr, no: Expr) -> Expr:
    """`yes if test else no`, simplified if the test is constant."""
    if test.is_constant:
        return yes if test.constant else no
    start, end = test.start, test.end
    pieces = (*yes.within(ATOM), Piece(" if ", start, end), *test.within(OR), Piece(" else ", start, end))
    kind = yes.type if yes.type == no.type else "any"
    return Expr((*pieces, *no.within(ATOM)), kind, CHOICE, reads=all_reads([yes, test, no]))


def collected(kind: str, values: list[tuple[str, Expr]], start: int, end: int) -> Expr:
    """A list, or an object whose keys are the texts before the values."""
    opening, closing = "[]" if kind == "list" else "{}"
    pieces = [Piece(opening, start, end)]
    for number, (key, value) in enumerate(values):
        pieces += [Piece(f"{', ' if number else ''}{key}", start, end), *value.pieces]
    return Expr((*pieces, Piece(closing, start, end)), kind, reads=all_reads(value for _, value in values))


def asked(value: Expr, method: str, arguments: list[Expr], start: int, end: int) -> Expr:
    """A method call on the value as text."""
    # In brackets if it ends with a filter: a dot after the filter would belong to its name.
    text = value if value.type == "str" else piped(value, "text", "str")
    text = replace(text, level=COMPARISON) if any(" | " in piece.text for piece in text.pieces) else text
    pieces = [*text.within(ATOM), Piece(f".{method}(", start, end)]
    for number, argument in enumerate(arguments):
        pieces += [Piece(", ", argument.start, argument.start)] if number else []
        pieces += argument.pieces
    pieces.append(Piece(")", end, end))
    return Expr(tuple(pieces), METHODS[method], reads=all_reads([value, *arguments]))


def extended(value: Expr, name: str, start: int, end: int) -> Expr:
    """A property of the value."""
    is_plain = name.isidentifier() or name.isdigit()
    access = (
        (Piece(".", start, start), Piece(name, start, end))
        if is_plain
        else (Piece(f"[{name!r}]", start, end),)
    )
    return replace(value, pieces=(*value.within(ATOM), *access), type="any")
