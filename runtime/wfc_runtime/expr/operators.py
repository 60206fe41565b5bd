"""Arithmetic and comparison. The size of a result is known, and paid for, before it is made."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from .comparison import contains, equal, less
from .errors import ExpressionError
from .limits import Meter
from .values import Value, defined, is_number, kind_of

Binary = Callable[[Meter, Value, Value], Value]


def add(meter: Meter, left: Value, right: Value) -> Value:
    """`+`: numbers, or two texts, or two lists."""
    if is_number(left) and is_number(right):
        return _computed(meter, operator.add, left, right)
    if isinstance(left, str) and isinstance(right, str):
        meter.make_text(len(left) + len(right))
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        meter.make_list(len(left) + len(right))
        return [*left, *right]
    hint = "; `~` joins anything as text" if isinstance(left, str) or isinstance(right, str) else ""
    raise _mismatch("add", "and", left, right, hint)


def multiply(meter: Meter, left: Value, right: Value) -> Value:
    """`*`: numbers, or a text or list so many times."""
    if is_number(left) and is_number(right):
        if isinstance(left, int) and isinstance(right, int):
            _check_bits(meter, left.bit_length() + right.bit_length())
        return _computed(meter, operator.mul, left, right)
    if isinstance(left, int) and isinstance(right, (str, list)):
        left, right = right, left
    if isinstance(right, int) and isinstance(left, str):
        meter.make_text(len(left) * max(0, right))
        return left * right
    if isinstance(right, int) and isinstance(left, list):
        meter.make_list(len(left) * max(0, right))
        return left * right
    raise _mismatch("multiply", "and", left, right)


def power(meter: Meter, left: Value, right: Value) -> Value:
    """`**`."""
    _check_numbers("raise", "to the power of", left, right)
    if isinstance(left, int) and isinstance(right, int) and right > 0:
        _check_bits(meter, left.bit_length() * right)
    return _computed(meter, operator.pow, left, right)


def _arithmetic(verb: str, word: str, compute: Callable[[Value, Value], Value]) -> Binary:
    def apply(meter: Meter, left: Value, right: Value) -> Value:
        _check_numbers(verb, word, left, right)
        return _computed(meter, compute, left, right)

    return apply


def _computed(meter: Meter, compute: Callable[[Value, Value], Value], left: Value, right: Value) -> Value:
    try:
        return _number(meter, compute(left, right))
    except ZeroDivisionError:
        raise ExpressionError("division by zero") from None
    except OverflowError:
        raise ExpressionError("the number is too large", "limit") from None


BINARY: dict[str, Binary] = {
    "+": add,
    "-": _arithmetic("subtract", "and", operator.sub),
    "*": multiply,
    "/": _arithmetic("divide", "by", operator.truediv),
    "//": _arithmetic("divide", "by", operator.floordiv),
    "%": _arithmetic("take the remainder of", "by", operator.mod),
    "**": power,
}

COMPARISONS: dict[str, Binary] = {
    "eq": lambda meter, left, right: equal(meter, defined(left), defined(right)),
    "ne": lambda meter, left, right: not equal(meter, defined(left), defined(right)),
    "lt": lambda meter, left, right: less(meter, left, right),
    "lteq": lambda meter, left, right: not less(meter, right, left),
    "gt": lambda meter, left, right: less(meter, right, left),
    "gteq": lambda meter, left, right: not less(meter, left, right),
    "in": lambda meter, left, right: contains(meter, right, left),
    "notin": lambda meter, left, right: not contains(meter, right, left),
}


def negate(value: Value) -> Value:
    """Unary `-`."""
    if not is_number(defined(value)):
        raise ExpressionError(f"can't negate {kind_of(value)}", "type")
    return -value


def affirm(value: Value) -> Value:
    """Unary `+`."""
    if not is_number(defined(value)):
        raise ExpressionError(f"{kind_of(value)} is not a number", "type")
    return +value


def _number(meter: Meter, value: Value) -> Value:
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        raise ExpressionError("the result is not a finite number")
    if isinstance(value, int):
        _check_bits(meter, value.bit_length())
        meter.make_number(value)
    return value


def _check_bits(meter: Meter, bits: int) -> None:
    # One bit more than the operands have is what a sum or product of two small numbers may need.
    if bits > meter.limits.bits + 1:
        raise ExpressionError(f"the number is too large: the limit is {meter.limits.bits:,} bits", "limit")


def _check_numbers(verb: str, word: str, left: Value, right: Value) -> None:
    if not (is_number(left) and is_number(right)):
        raise _mismatch(verb, word, left, right)


def _mismatch(verb: str, word: str, left: Value, right: Value, hint: str = "") -> ExpressionError:
    message = f"can't {verb} {kind_of(defined(left))} {word} {kind_of(defined(right))}{hint}"
    return ExpressionError(message, "type")
