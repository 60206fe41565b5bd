"""The values that an expression works on: plain JSON, and a few classes of this package for intermediate values.

No Python object with behaviour is among them. That is the sandbox: an attribute is a key of an object or a name in one
of the tables of this package, and a template can reach nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, NoReturn

from .errors import ExpressionError, Reason
from .run import Meter, size_of

if TYPE_CHECKING:
    from jinja2 import nodes

CONTAINER_COST = 6
"""Fuel for a list or object, besides that for its items: a deeply nested value may have many small ones."""

Value = Any
"""None, bool, int, float, str, list or dict; inside an expression also date, datetime and the classes below."""


def is_template(text: str) -> bool:
    """Whether the text has tags. A text without any is its own value."""
    return "{" in text and ("{{" in text or "{%" in text or "{#" in text)


class Undefined:
    """The result of looking up a name, key or item that does not exist. `default`, `is defined` and `.` accept it."""

    __slots__ = ("_explain", "blank", "node", "reason")

    def __init__(
        self,
        explain: Callable[[], str],
        node: nodes.Node | None = None,
        blank: bool = False,
        reason: Reason = "undefined",
    ) -> None:
        # A function, because finding the nearest name takes time and `default` never needs it.
        self._explain = explain
        self.node = node
        # The result of `x if y` without an else: empty text when printed, null as a value, false in a test.
        self.blank = blank
        self.reason: Reason = reason

    def fail(self) -> NoReturn:
        raise ExpressionError(self._explain(), self.reason, self.node)


class Namespace:
    """The result of `namespace()`: the only value whose fields `{% set ns.field = ... %}` may change."""

    __slots__ = ("fields",)

    def __init__(self, fields: dict[str, Value]) -> None:
        self.fields = fields


class Macro:
    """A macro that `{% macro %}` defines."""

    __slots__ = ("call",)

    def __init__(self, call: Callable[[list[Value], dict[str, Value]], str]) -> None:
        self.call = call


class Group(list[Value]):
    """One group of `groupby`: a pair whose items also have names."""

    FIELDS = ("grouper", "list")


def kind_of(value: Value) -> str:
    """The type of a value, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    for types, name in _KINDS:
        if isinstance(value, types):
            return name
    return f"a {type(value).__name__}"


_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    ((int, float), "a number"),
    (str, "text"),
    ((list, tuple), "a list"),
    (dict, "an object"),
    ((date, datetime), "a date"),
    (Namespace, "a namespace"),
    (Macro, "a macro"),
    (Undefined, "undefined"),
)


def is_number(value: Value) -> bool:
    return isinstance(value, (int, float))


def truth(value: Value) -> bool:
    """Python's truth: empty and zero are false."""
    if isinstance(value, Undefined) and not value.blank:
        value.fail()
    return False if isinstance(value, Undefined) else bool(value)


def defined(value: Value) -> Value:
    """The value, unless it is undefined."""
    if isinstance(value, Undefined):
        value.fail()
    return value


def items_of(meter: Meter, value: Value, use: str = "loop over") -> list[Value]:
    """The items, keys or characters that a loop over the value iterates over."""
    if isinstance(value, list):
        return value
    if isinstance(value, (dict, str, tuple)):
        meter.make_list(len(value))
        return list(value)
    if meter.lenient and isinstance(value, Undefined) and value.blank:
        return []
    defined(value)
    raise ExpressionError(f"can't {use} {kind_of(value)}: it is not a list", "type")


def digits_of(number: int) -> int:
    """An upper bound of the digits of a whole number. The exact count takes as long as the conversion to text."""
    return 1 + number.bit_length() * 302 // 1000


def plain(meter: Meter, value: Value, limit: int) -> Value:
    """A copy that is plain JSON, of at most `limit` bytes."""
    return _Copy(meter, limit).copy(value, meter.limits.depth)


class _Copy:
    """Copies a value and counts its size."""

    __slots__ = ("_left", "_limit", "_meter")

    def __init__(self, meter: Meter, limit: int) -> None:
        self._meter = meter
        self._limit = self._left = limit

    def copy(self, value: Value, depth: int) -> Value:
        if isinstance(value, str):
            self._pay(size_of(value))
            return value
        if value is None or isinstance(value, int):
            self._pay(1 if value is None else digits_of(value))
            return value
        if isinstance(value, float):
            if not math.isfinite(value):
                raise ExpressionError("the result is not a finite number")
            self._pay(1)
            return value
        if isinstance(value, (date, datetime)):
            return value.isoformat()
        if isinstance(value, Undefined) and value.blank:
            return None
        if isinstance(value, (list, tuple, dict)):
            if depth <= 0:
                limit = self._meter.limits.depth
                raise ExpressionError(f"the value is nested too deeply: the limit is {limit} levels", "limit")
            self._meter.spend(CONTAINER_COST + len(value))
            self._pay(2 + len(value))
            if isinstance(value, dict):
                return {self._key(key): self.copy(item, depth - 1) for key, item in value.items()}
            return [self.copy(item, depth - 1) for item in value]
        raise ExpressionError(f"{kind_of(defined(value))} can't be given back: it is not JSON", "type")

    def _key(self, key: Value) -> str:
        if not isinstance(key, str):
            raise ExpressionError(f"the keys of an object are text, not {kind_of(key)}", "type")
        self._pay(size_of(key))
        return key

    def _pay(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ExpressionError(f"the value is too large: the limit is {self._limit:,} bytes", "limit")


def text_of(meter: Meter, value: Value) -> str:
    """The value as text, as Jinja and Python print it."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple, dict)):
        text = repr(plain(meter, value, meter.limits.text))
        meter.make_text(len(text))
        return text
    if isinstance(value, Undefined) and value.blank:
        return ""
    if isinstance(value, int):
        meter.hold(digits_of(value))
        return str(value)
    if value is None or isinstance(value, (float, date, datetime)):
        return str(value)
    raise ExpressionError(f"{kind_of(defined(value))} can't be printed", "type")
