"""Filters for values of any kind: defaults, JSON, hashes, truth."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from wfc_runtime.expr.errors import ExpressionError, shorten
from wfc_runtime.expr.lookup import find_attribute
from wfc_runtime.expr.registry import FILTERS, define
from wfc_runtime.expr.run import Run
from wfc_runtime.expr.values import Undefined, Value, kind_of, plain, truth

# Nothing is given back: a text of backticks alone would take for ever.
_FENCE = re.compile(r"^[ \t]*+(```++|~~~++)[^\n]*+\n", re.M)
TRUE_WORDS = frozenset({"true", "yes", "on", "y", "t", "1"})
FALSE_WORDS = frozenset({"false", "no", "off", "n", "f", "0"})
_MAX_INDENT = 16
_HASH_LENGTH = 16


@define(FILTERS, "default", "d", takes_undefined=True)
def default(run: Run, value: Value, default_value: Value = "", boolean: bool = False) -> Value:
    """`x | default('none')`: another value where there is none; with `, true` also where it is empty."""
    if isinstance(value, Undefined) or (boolean and not truth(value)):
        return default_value
    return value


@define(FILTERS, "bool")
def bool_(run: Run, value: Value) -> bool:
    """`x | bool`: text as 'yes', 'true', 'on', '1' is true; 'no', 'false', 'off', '0' and '' are false."""
    if not isinstance(value, str):
        return truth(value)
    word = value.strip().lower() if len(value) < 64 else value
    if word and word not in TRUE_WORDS | FALSE_WORDS:
        raise ExpressionError(f"'{shorten(value)}' is neither true nor false")
    return word in TRUE_WORDS


@define(FILTERS, "tojson")
def tojson(run: Run, value: Value, indent: int | None = None) -> str:
    """`x | tojson`, `x | tojson(indent=2)`: as JSON text."""
    if indent is not None and (not isinstance(indent, int) or not 0 <= indent <= _MAX_INDENT):
        raise ExpressionError(f"tojson takes an indent of 0 to {_MAX_INDENT}")
    copy = plain(run, value, run.limits.text)
    if indent:
        run.make_text(_indented(copy, indent, 1))
    text = json.dumps(copy, ensure_ascii=False, allow_nan=False, indent=indent)
    run.make_text(len(text))
    return text


@define(FILTERS, "pprint")
def pprint(run: Run, value: Value) -> str:
    """`x | pprint`: as Python would show it, over several lines where it is long."""
    from pprint import pformat

    copy = plain(run, value, run.limits.text)
    # What is inside is looked at once for each list and object around it.
    run.read(len(repr(copy)) * (8 + _depth(copy)))
    text = pformat(copy)
    run.make_text(len(text))
    return text


def _depth(value: Value) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


@define(FILTERS, "attr")
def attr(run: Run, value: Value, name: str) -> Value:
    """`x | attr('name')`: what `x.name` is."""
    if not isinstance(name, str):
        raise ExpressionError(f"attr takes a name, not {kind_of(name)}", "type")
    return find_attribute(run, value, name, None)


def _indented(value: Value, indent: int, level: int) -> int:
    """How many characters the line breaks and margins of a value take."""
    if not isinstance(value, (dict, list)) or not value:
        return 0
    items = value.values() if isinstance(value, dict) else value
    margins = (len(value) + 1) * (indent * level + 1)
    return margins + sum(_indented(item, indent, level + 1) for item in items)


@define(FILTERS, "parse_json")
def parse_json(run: Run, value: Value) -> Value:
    """`x | parse_json`: the value that a JSON text stands for; a fenced code block around it is no matter."""
    if not isinstance(value, str):
        raise ExpressionError(f"parse_json works on text, not on {kind_of(value)}", "type")
    run.make_text(len(value))
    # Values take more time to make than text takes to read, and many times its memory.
    run.spend(len(value) // 4)
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
    """What stands in the first fenced code block, as agents like to send JSON."""
    opening = _FENCE.search(text)
    if opening is None:
        return None
    end = text.find(opening[1], opening.end())
    return text[opening.end() :] if end < 0 else text[opening.end() : end]


def _reason(error: ValueError) -> str:
    if "digits" in str(error):
        return "a number is too long"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.lower()} in line {error.lineno}, column {error.colno}"
    return str(error)


@define(FILTERS, "hash")
def hash_(run: Run, value: Value) -> str:
    """`x | hash`: 16 hexadecimal digits of its SHA-256; the same on every machine."""
    import hashlib

    if not isinstance(value, str):
        copy = plain(run, value, run.limits.text)
        value = json.dumps(copy, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    run.make_text(len(value))
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
