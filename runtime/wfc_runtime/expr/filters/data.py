"""Filters for values of any kind: defaults, JSON, hashes, conversions and numbers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, Literal, NoReturn

from wfc_runtime.expr.access import find_attribute
from wfc_runtime.expr.builtins import FILTERS, define, is_ok
from wfc_runtime.expr.errors import ExpressionError, shorten
from wfc_runtime.expr.operators import BINARY
from wfc_runtime.expr.run import Run
from wfc_runtime.expr.values import Undefined, Value, is_number, kind_of, plain, text_of
from wfc_runtime.expr.values import truth as is_true

# Possessive quantifiers: a text of backticks alone would backtrack without limit.
_FENCE = re.compile(r"^[ \t]*+(```++|~~~++)[^\n]*+\n", re.M)
TRUE_WORDS = frozenset({"true", "yes", "on", "y", "t", "1"})
FALSE_WORDS = frozenset({"false", "no", "off", "n", "f", "0"})
_MAX_INDENT = 16
_HASH_LENGTH = 16


@define(FILTERS, "default", "d", takes_undefined=True)
def default(run: Run, value: Value, default_value: Value = "", boolean: bool = False) -> Value:
    """`x | default('none')`: a fallback if the value is undefined; with `, true` also if it is empty."""
    if isinstance(value, Undefined) or (boolean and not is_true(value)):
        return default_value
    return value


@define(FILTERS, "bool")
def bool_(run: Run, value: Value) -> bool:
    """`x | bool`: the texts 'yes', 'true', 'on', '1' become true; 'no', 'false', 'off', '0' and '' become false."""
    if not isinstance(value, str):
        return is_true(value)
    word = value.strip().lower() if len(value) < 64 else value
    if word and word not in TRUE_WORDS | FALSE_WORDS:
        raise ExpressionError(f"'{shorten(value)}' is neither true nor false")
    return word in TRUE_WORDS


@define(FILTERS, "tojson")
def tojson(run: Run, value: Value, indent: int | None = None) -> str:
    """`x | tojson`, `x | tojson(indent=2)`: the value as JSON text."""
    if indent is not None and (not isinstance(indent, int) or not 0 <= indent <= _MAX_INDENT):
        raise ExpressionError(f"tojson takes an indent of 0 to {_MAX_INDENT}")
    copy = plain(run, value, run.limits.text)
    if indent:
        # Indentation is counted in advance: it can make a deeply nested value many times longer.
        run.make_text(_indented(copy, indent, 1))
    text = json.dumps(copy, ensure_ascii=False, allow_nan=False, indent=indent)
    run.make_text(len(text))
    return text


@define(FILTERS, "pprint")
def pprint(run: Run, value: Value) -> str:
    """`x | pprint`: the value as Python prints it; a long one is wrapped over several lines."""
    from pprint import pformat

    copy = plain(run, value, run.limits.text)
    # A nested value is visited once for each list and object around it.
    run.read(len(repr(copy)) * (8 + _depth(copy)))
    text = pformat(copy)
    run.make_text(len(text))
    return text


def _depth(value: Value) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


@define(FILTERS, "attr")
def attr(run: Run, value: Value, name: str) -> Value:
    """`x | attr('name')`: the same as `x.name`."""
    if not isinstance(name, str):
        raise ExpressionError(f"attr takes a name, not {kind_of(name)}", "type")
    return find_attribute(run, value, name, None)


def _indented(value: Value, indent: int, level: int) -> int:
    """The number of characters that line breaks and indentation add."""
    if not isinstance(value, (dict, list)) or not value:
        return 0
    items = value.values() if isinstance(value, dict) else value
    margins = (len(value) + 1) * (indent * level + 1)
    return margins + sum(_indented(item, indent, level + 1) for item in items)


@define(FILTERS, "parse_json")
def parse_json(run: Run, value: Value) -> Value:
    """`x | parse_json`: the value of a JSON text; a fenced code block around it is removed."""
    if not isinstance(value, str):
        raise ExpressionError(f"parse_json works on text, not on {kind_of(value)}", "type")
    run.make_text(len(value))
    # Values take more time to make than text takes to read, and many times its memory.
    run.spend(len(value) // 4)
    # The whole text is tried first, since a string in valid JSON may contain a fence.
    try:
        result = _load(value)
    except ValueError as error:
        fenced = _fenced(value)
        try:
            if fenced is None:
                raise error
            result = _load(fenced)
        except ValueError as why:
            message = f"this is not JSON: {_reason(why)}; the text begins '{shorten(value, 80)}'"
            raise ExpressionError(message) from None
    return plain(run, result, run.limits.text)


def _load(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _fenced(text: str) -> str | None:
    """The content of the first fenced code block: agents often send JSON in one."""
    opening = _FENCE.search(text)
    if opening is None:
        return None
    end = text.find(opening[1], opening.end())
    return text[opening.end() :] if end < 0 else text[opening.end() : end]


def _reason(error: ValueError) -> str:
    # Python refuses to convert very long numbers, with a message about its own settings.
    if "digits" in str(error):
        return "a number is too long"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.lower()} in line {error.lineno}, column {error.colno}"
    return str(error)


@define(FILTERS, "hash")
def hash_(run: Run, value: Value) -> str:
    """`x | hash`: the first 16 hexadecimal digits of its SHA-256; the same on every machine."""
    import hashlib

    if not isinstance(value, str):
        copy = plain(run, value, run.limits.text)
        value = json.dumps(copy, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    run.make_text(len(value))
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]


# Conversions. A value that can't be converted is an error.

_WORDS = {"true": True, "false": False}
_LONG = 64
"""A text of this length is neither word, even with white space around it."""


@define(FILTERS, "text")
def text(run: Run, value: Value) -> str:
    """`x | text`: as text for a shell: 'true' and 'false', JSON for lists and objects, '' for null."""
    if value is None:
        return ""
    if isinstance(value, (bool, list, dict)):
        return tojson(run, value)
    return text_of(run, value)


@define(FILTERS, "scalar_text")
def scalar_text(run: Run, value: Value) -> Value:
    """`x | scalar_text`: the same as `text`, but lists and objects are not converted."""
    return value if isinstance(value, (list, dict)) else text(run, value)


@define(FILTERS, "outcome", takes_undefined=True)
def outcome(run: Run, value: Value) -> str:
    """`state.build | outcome`: 'success' if the result `is ok`, 'failure' if it is not, 'n/a' without one."""
    if value is None or isinstance(value, Undefined):
        return "n/a"
    return "success" if is_ok(run, value) else "failure"


@define(FILTERS, "condition")
def condition(run: Run, value: Value) -> bool:
    """`x | condition`: true or false, also from text; null is false, any other value is an error."""
    found = _said(value)
    if found is None:
        raise _unfit(value, "true or false")
    return found


@define(FILTERS, "truth")
def truth(run: Run, value: Value) -> bool:
    """`x | truth`: the texts 'true' and 'false' become true and false; other values are true unless empty or 0."""
    found = _said(value)
    return is_true(value) if found is None else found


def _said(value: Value) -> bool | None:
    """The boolean that a value means, also as text; None for any other value."""
    if isinstance(value, str):
        return _WORDS.get(value.strip().lower()) if len(value) < _LONG else None
    return False if value is None else value if isinstance(value, bool) else None


@define(FILTERS, "convert")
def convert(run: Run, value: Value, to: str, keep: bool = False) -> Value:
    """`x | convert('int')`: converted to str, int, float, num, bool, list, dict or json; an error if that fails.

    With `keep=true`, a value that can't be converted stays as it is.
    """
    found = _CONVERSIONS.get(to)
    if found is None:
        known = ", ".join(f"'{name}'" for name in _CONVERSIONS)
        raise ExpressionError(f"convert takes one of {known}, not '{shorten(str(to))}'", "type")
    try:
        return found(run, value)
    except ExpressionError as error:
        # Exceeding a limit always fails.
        if keep and error.reason in ("type", "value"):
            return value
        raise


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
        # Through a float, a whole number above 2**53 would lose its last digits.
        if value.strip().lstrip("+-").isdecimal():
            return int(value)
        number = float(value)
    except ValueError:
        raise _unfit(value, "a number") from None
    if not math.isfinite(number):
        raise _unfit(value, "a number")
    return number


def _num(run: Run, value: Value) -> Value:
    """A number without a decimal point if it is whole: 10, not 10.0."""
    number = _float(run, value)
    return int(number) if number == int(number) else number


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
    "num": _num,
    "bool": bool_,
    "list": _made_of(list, "a list"),
    "dict": _made_of(dict, "an object"),
    "json": _json,
}


# Numbers.

_MAX_PRECISION = 100
_UNITS = ("k", "M", "G", "T", "P", "E", "Z", "Y")


def _number(value: Value, name: str) -> Value:
    if not is_number(value):
        raise ExpressionError(f"{name} works on numbers, not on {kind_of(value)}", "type")
    return value


@define(FILTERS, "int")
def int_(run: Run, value: Value, default: Value = 0, base: int = 10) -> Value:
    """`x | int`: converted to a whole number; the default, 0, if that fails."""
    try:
        if isinstance(value, str):
            run.read(len(value))
            # As in Jinja, '3.7' becomes 3.
            try:
                number = int(value, base)
            except ValueError:
                number = int(float(value))
        else:
            number = int(value)
    except (TypeError, ValueError, OverflowError):
        return default
    # Adding zero checks the size of the number.
    return BINARY["+"](run, number, 0)


@define(FILTERS, "float")
def float_(run: Run, value: Value, default: Value = 0.0) -> Value:
    """`x | float`: converted to a number; the default, 0.0, if that fails."""
    if isinstance(value, str):
        run.read(len(value))
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return default
    return number if math.isfinite(number) else default


@define(FILTERS, "abs")
def abs_(run: Run, value: Value) -> Value:
    """`x | abs`: the absolute value."""
    return abs(_number(value, "abs"))


@define(FILTERS, "round")
def round_(
    run: Run, value: Value, precision: int = 0, method: Literal["common", "ceil", "floor"] = "common"
) -> Value:
    """`x | round(2)`: rounded to that many decimals; the method is 'common', 'ceil' or 'floor'."""
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
    """`x | filesizeformat`: a number of bytes in readable form, such as 13.0 kB."""
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
