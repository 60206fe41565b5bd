"""Filters for numbers."""

from __future__ import annotations

import math
from typing import Literal

from wfc_runtime.expr.errors import ExpressionError
from wfc_runtime.expr.operators import BINARY
from wfc_runtime.expr.registry import FILTERS, define
from wfc_runtime.expr.run import Run
from wfc_runtime.expr.values import Value, is_number, kind_of

_MAX_PRECISION = 100
_UNITS = ("k", "M", "G", "T", "P", "E", "Z", "Y")


def _number(value: Value, name: str) -> Value:
    if not is_number(value):
        raise ExpressionError(f"{name} works on numbers, not on {kind_of(value)}", "type")
    return value


@define(FILTERS, "int")
def int_(run: Run, value: Value, default: Value = 0, base: int = 10) -> Value:
    """`x | int`: a whole number; the default, 0, where the text is none."""
    try:
        if isinstance(value, str):
            run.read(len(value))
            try:
                number = int(value, base)
            except ValueError:
                number = int(float(value))
        else:
            number = int(value)
    except (TypeError, ValueError, OverflowError):
        return default
    return BINARY["+"](run, number, 0)


@define(FILTERS, "float")
def float_(run: Run, value: Value, default: Value = 0.0) -> Value:
    """`x | float`: a number; the default, 0.0, where the text is none."""
    if isinstance(value, str):
        run.read(len(value))
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return default
    return number if math.isfinite(number) else default


@define(FILTERS, "abs")
def abs_(run: Run, value: Value) -> Value:
    """`x | abs`: without its sign."""
    return abs(_number(value, "abs"))


@define(FILTERS, "round")
def round_(
    run: Run, value: Value, precision: int = 0, method: Literal["common", "ceil", "floor"] = "common"
) -> Value:
    """`x | round(2)`: to so many decimals; the method is 'common', 'ceil' or 'floor'."""
    number = _number(value, "round")
    if not isinstance(precision, int) or abs(precision) > _MAX_PRECISION:
        raise ExpressionError(f"round takes a precision of at most {_MAX_PRECISION}")
    if method == "common":
        return round(number, precision)
    if method not in ("ceil", "floor"):
        raise ExpressionError("round has the methods 'common', 'ceil' and 'floor'")
    scale = 10**precision
    return (math.ceil if method == "ceil" else math.floor)(number * scale) / scale


@define(FILTERS, "filesizeformat")
def filesizeformat(run: Run, value: Value, binary: bool = False) -> str:
    """`x | filesizeformat`: a number of bytes for people, as 13.0 kB."""
    size = float(value)
    base = 1024 if binary else 1000
    if size == 1:
        return "1 Byte"
    if size < base:
        return f"{int(size)} Bytes"
    for unit in _UNITS:
        size /= base
        if size < base or unit == _UNITS[-1]:
            break
    return f"{size:.1f} {unit.upper() + 'iB' if binary else unit + 'B'}"
