"""Equality, order and membership, paid for step by step.

A list that holds another one many times over takes no time to make, and for ever to compare.
"""

from __future__ import annotations

from datetime import date

from .errors import ExpressionError
from .limits import Meter
from .values import CONTAINER_COST, Value, defined, is_number, kind_of


def equal(meter: Meter, left: Value, right: Value) -> bool:
    """`==`."""
    if left is right:
        return True
    if isinstance(left, list) and isinstance(right, list):
        meter.spend(CONTAINER_COST + len(left))
        return len(left) == len(right) and all(equal(meter, a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        meter.spend(CONTAINER_COST + len(left))
        return left.keys() == right.keys() and all(equal(meter, left[key], right[key]) for key in left)
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
        width = 1 + len(item) // 64 if isinstance(item, str) else 1
        meter.spend(len(container) * width)
        return any(equal(meter, item, other) for other in container)
    raise ExpressionError(f"can't look into {kind_of(defined(container))}: it is not a list", "type")
