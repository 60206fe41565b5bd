"""Sorting, paid for before it is done."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key

from .comparison import less
from .limits import Meter
from .values import Value, is_number

Key = Callable[[Value], Value]


def folded(meter: Meter, value: Value, case_sensitive: bool) -> Value:
    """What a value is sorted by: texts without regard to capitals, unless asked."""
    if not isinstance(value, str) or case_sensitive:
        return value
    meter.make_text(len(value))
    return value.lower()


def sort_by(meter: Meter, items: list[Value], key: Key, reverse: bool = False) -> list[Value]:
    """The items in order. Equal ones stay in the order they had."""
    meter.make_list(len(items), slots=3)
    meter.spend(len(items) * max(1, len(items).bit_length()) // 4)
    keys = [key(item) for item in items]
    if all(map(is_number, keys)):
        order = sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
    else:
        # Comparing lists and texts has a price of its own, so that each comparison goes through the meter.
        compare = cmp_to_key(lambda a, b: -1 if less(meter, a, b) else int(less(meter, b, a)))
        order = sorted(range(len(items)), key=lambda index: compare(keys[index]), reverse=reverse)
    return [items[index] for index in order]
