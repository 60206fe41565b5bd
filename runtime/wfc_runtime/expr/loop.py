"""The variable `loop` inside a `for`."""

from __future__ import annotations

from collections.abc import Callable

from .comparison import equal
from .errors import ExpressionError
from .limits import Meter
from .values import Undefined, Value


class Loop:
    """Where a loop is. All items are known from the start: a loop goes over a list."""

    __slots__ = ("index0", "items", "seen")

    def __init__(self, items: list[Value]) -> None:
        self.items = items
        self.index0 = 0
        self.seen: list[Value] | None = None


def _neighbour(loop: Loop, index: int, word: str) -> Value:
    if 0 <= index < len(loop.items):
        return loop.items[index]
    return Undefined(lambda: f"there is no {word} item")


LOOP_FIELDS: dict[str, Callable[[Loop], Value]] = {
    "index": lambda loop: loop.index0 + 1,
    "index0": lambda loop: loop.index0,
    "revindex": lambda loop: len(loop.items) - loop.index0,
    "revindex0": lambda loop: len(loop.items) - loop.index0 - 1,
    "first": lambda loop: loop.index0 == 0,
    "last": lambda loop: loop.index0 == len(loop.items) - 1,
    "length": lambda loop: len(loop.items),
    "previtem": lambda loop: _neighbour(loop, loop.index0 - 1, "previous"),
    "nextitem": lambda loop: _neighbour(loop, loop.index0 + 1, "next"),
}


def cycle(meter: Meter, loop: Loop, *values: Value) -> Value:
    """`loop.cycle('odd', 'even')`: the arguments in turn."""
    if not values:
        raise ExpressionError("cycle needs something to cycle through", "type")
    return values[loop.index0 % len(values)]


def changed(meter: Meter, loop: Loop, *values: Value) -> bool:
    """`loop.changed(x)`: is it another value than in the turn before?"""
    now = list(values)
    same = loop.seen is not None and equal(meter, loop.seen, now)
    loop.seen = now
    return not same
