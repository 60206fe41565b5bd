"""Filters that turn one kind of value into another, or say why they can't."""

from __future__ import annotations

import math
from collections.abc import Callable

from wfc_runtime.expr.errors import ExpressionError, shorten
from wfc_runtime.expr.filters.data import bool_, parse_json, tojson
from wfc_runtime.expr.registry import FILTERS, define
from wfc_runtime.expr.run import Run
from wfc_runtime.expr.values import Value, kind_of, text_of
from wfc_runtime.expr.values import truth as is_true

_WORDS = {"true": True, "false": False}
_LONG = 64
"""No text of this length is a word, whatever stands around it."""


@define(FILTERS, "text")
def text(run: Run, value: Value) -> str:
    """`x | text`: as a shell has it: true and false in small letters, JSON for lists and objects, '' for null."""
    if value is None:
        return ""
    if isinstance(value, (bool, list, dict)):
        return tojson(run, value)
    return text_of(run, value)


@define(FILTERS, "scalar_text")
def scalar_text(run: Run, value: Value) -> Value:
    """`x | scalar_text`: as `text` has it, but lists and objects stay what they are."""
    return value if isinstance(value, (list, dict)) else text(run, value)


@define(FILTERS, "condition")
def condition(run: Run, value: Value) -> bool:
    """`x | condition`: true or false, also as text; null is false, and anything else an error."""
    found = _said(value)
    if found is None:
        raise _unfit(value, "true or false")
    return found


@define(FILTERS, "truth")
def truth(run: Run, value: Value) -> bool:
    """`x | truth`: the texts 'true' and 'false' are what they say; other values are true unless empty or 0."""
    found = _said(value)
    return is_true(value) if found is None else found


def _said(value: Value) -> bool | None:
    """What a value says of true or false, if that is what it is."""
    if isinstance(value, str):
        return _WORDS.get(value.strip().lower()) if len(value) < _LONG else None
    return False if value is None else value if isinstance(value, bool) else None


@define(FILTERS, "convert")
def convert(run: Run, value: Value, to: str) -> Value:
    """`x | convert('int')`: as str, int, float, bool, list, dict or json; what can't be that is an error."""
    found = _CONVERSIONS.get(to)
    if found is None:
        known = ", ".join(f"'{name}'" for name in _CONVERSIONS)
        raise ExpressionError(f"convert takes one of {known}, not '{shorten(str(to))}'", "type")
    return found(run, value)


def _int(run: Run, value: Value) -> int:
    number = _float(run, value)
    if number != int(number):
        raise _unfit(value, "a whole number")
    return value if isinstance(value, int) and not isinstance(value, bool) else int(number)


def _float(run: Run, value: Value) -> Value:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise _unfit(value, "a number")
    run.read(len(value))
    try:
        number = float(value)
    except ValueError:
        raise _unfit(value, "a number") from None
    if not math.isfinite(number):
        raise _unfit(value, "a number")
    return int(number) if number == int(number) and value.strip().lstrip("+-").isdigit() else number


def _json(run: Run, value: Value) -> Value:
    return parse_json(run, value) if isinstance(value, str) else value


def _made_of(kind: type, words: str) -> Callable[[Run, Value], Value]:
    def made(run: Run, value: Value) -> Value:
        found = _json(run, value)
        if not isinstance(found, kind):
            raise _unfit(value, words)
        return found

    return made


def _unfit(value: Value, words: str) -> ExpressionError:
    shown = f"'{shorten(value)}'" if isinstance(value, str) else kind_of(value)
    return ExpressionError(f"{shown} is not {words}", "type")


_CONVERSIONS: dict[str, Callable[[Run, Value], Value]] = {
    "str": text,
    "int": _int,
    "float": _float,
    "bool": bool_,
    "list": _made_of(list, "a list"),
    "dict": _made_of(dict, "an object"),
    "json": _json,
}
