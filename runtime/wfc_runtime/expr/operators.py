"""Arithmetic, comparison, membership and sorting.

The size of a result is known, and charged, before the result is made. Comparison is charged per item: a list that
holds another list many times over takes no time to make and exponential time to compare.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from datetime import date
from functools import cmp_to_key

from .errors import ExpressionError
from .run import Meter
from .values import CONTAINER_COST, Value, defined, is_number, kind_of

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
    """`*`: numbers, or a text or list repeated."""
    if is_number(left) and is_number(right):
        if isinstance(left, int) and isinstance(right, int):
            _check_bits(meter, left.bit_length() + right.bit_length())
        return _computed(meter, operator.mul, left, right)
    # `3 * 'ab'` is the same as `'ab' * 3`.
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
    # A negative power gives a fraction, which is a float and has a fixed size.
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
    # A negative number to a fractional power is complex.
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        raise ExpressionError("the result is not a finite number")
    if isinstance(value, int):
        _check_bits(meter, value.bit_length())
        meter.make_number(value)
    return value


def _check_bits(meter: Meter, bits: int) -> None:
    # A sum of two numbers within the limit may need one bit more than they have.
    if bits > meter.limits.bits + 1:
        raise ExpressionError(f"the number is too large: the limit is {meter.limits.bits:,} bits", "limit")


def _check_numbers(verb: str, word: str, left: Value, right: Value) -> None:
    if not (is_number(left) and is_number(right)):
        raise _mismatch(verb, word, left, right)


def _mismatch(verb: str, word: str, left: Value, right: Value, hint: str = "") -> ExpressionError:
    message = f"can't {verb} {kind_of(defined(left))} {word} {kind_of(defined(right))}{hint}"
    return ExpressionError(message, "type")


# Equality, order and membership.


def equal(meter: Meter, left: Value, right: Value) -> bool:
    """`==`."""
    # Identity first: shared parts of large values need not be compared.
    if left is right:
        return True
    if isinstance(left, list) and isinstance(right, list):
        meter.spend(CONTAINER_COST + len(left))
        return len(left) == len(right) and all(equal(meter, a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        meter.spend(CONTAINER_COST + len(left))
        return left.keys() == right.keys() and all(equal(meter, left[key], right[key]) for key in left)
    # A list is never equal to anything else, and comparing it could be expensive.
    if isinstance(left, (list, dict)) or isinstance(right, (list, dict)):
        return False
    if isinstance(left, str) and isinstance(right, str) and len(left) == len(right):
        meter.read(len(left))
    return bool(defined(left) == defined(right))


def less(meter: Meter, left: Value, right: Value) -> bool:
    """`<`, for numbers, texts, dates, and lists of these."""
    if is_number(left) and is_number(right):
        return bool(left < right)
    if isinstance(left, str) and isinstance(right, str):
        meter.read(min(len(left), len(right)))
        return left < right
    if isinstance(left, list) and isinstance(right, list):
        meter.spend(CONTAINER_COST + min(len(left), len(right)))
        for a, b in zip(left, right, strict=False):
            if not equal(meter, a, b):
                return less(meter, a, b)
        return len(left) < len(right)
    if isinstance(left, date) and type(left) is type(right):
        try:
            # A date without a time zone can't be compared with one that has one.
            return bool(left < right)
        except TypeError:
            pass
    message = f"can't compare {kind_of(defined(left))} with {kind_of(defined(right))}"
    raise ExpressionError(message, "type")


def contains(meter: Meter, container: Value, item: Value) -> bool:
    """`in`."""
    if isinstance(container, str):
        if not isinstance(item, str):
            raise ExpressionError(f"can't look for {kind_of(defined(item))} in text", "type")
        meter.read(len(container))
        return item in container
    if isinstance(container, dict):
        return not isinstance(defined(item), (list, dict)) and item in container
    if isinstance(container, (list, tuple)):
        # A long text may have to be compared with many others of the same length.
        width = 1 + len(item) // 64 if isinstance(item, str) else 1
        meter.spend(len(container) * width)
        return any(equal(meter, item, other) for other in container)
    raise ExpressionError(f"can't look into {kind_of(defined(container))}: it is not a list", "type")


# Sorting.

Key = Callable[[Value], Value]


def folded(meter: Meter, value: Value, case_sensitive: bool) -> Value:
    """The key that a value is sorted by: text in lower case, unless case_sensitive."""
    if not isinstance(value, str) or case_sensitive:
        return value
    meter.make_text(len(value))
    return value.lower()


def sort_by(meter: Meter, items: list[Value], key: Key, reverse: bool = False) -> list[Value]:
    """The items in order. The sort is stable."""
    meter.make_list(len(items), slots=3)
    # About the number of comparisons, in units of fuel.
    meter.spend(len(items) * max(1, len(items).bit_length()) // 4)
    keys = [key(item) for item in items]
    if all(map(is_number, keys)):
        order = sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
    else:
        # Comparing lists and texts takes time, so each comparison is charged.
        compare = cmp_to_key(lambda a, b: -1 if less(meter, a, b) else int(less(meter, b, a)))
        order = sorted(range(len(items)), key=lambda index: compare(keys[index]), reverse=reverse)
    return [items[index] for index in order]
