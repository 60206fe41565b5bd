"""The methods that values have: pure ones, by list. What isn't here does not exist."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from .comparison import equal
from .errors import ExpressionError
from .limits import Meter
from .loop import Loop, changed, cycle
from .values import Value, kind_of

Method = Callable[..., Value]

# These give at most a few times their input, never more.
_TO_TEXT = ["capitalize", "casefold", "lower", "lstrip", "removeprefix", "removesuffix", "rstrip", "strip"]
_TO_TEXT += ["swapcase", "title", "upper"]
_TO_FACT = ["count", "endswith", "find", "index", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit"]
_TO_FACT += ["isidentifier", "islower", "isnumeric", "isspace", "istitle", "isupper", "rfind", "rindex"]
_TO_FACT += ["startswith"]
_TO_LIST = ("partition", "rpartition", "rsplit", "split", "splitlines")
# Here Python takes up to as many looks as the text and what is wanted have characters, multiplied.
_TIMES_WANTED = frozenset({"lstrip", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "strip"})
_LOOKS_PER_UNIT = 1024
_PADDED = ("center", "ljust", "rjust", "zfill")


def _text_method(name: str) -> Method:
    method: Callable[..., Any] = getattr(str, name)
    pay = Meter.read if name in _TO_FACT else Meter.make_text

    def call(meter: Meter, text: str, *args: Value, **kwargs: Value) -> Value:
        pay(meter, len(text))
        _pay_search(meter, name, text, args, kwargs)
        # str takes tuples where a template has lists, as in `name.endswith(['.py', '.pyi'])`.
        plain = [tuple(arg) if isinstance(arg, list) else arg for arg in args]
        result = method(text, *plain, **kwargs)
        return list(result) if isinstance(result, tuple) else result

    return call


def _pay_search(
    meter: Meter, name: str, text: str, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> None:
    """Pay for what str takes more than one look at each character for."""
    wanted = args[0] if args else kwargs.get("sep")
    if isinstance(wanted, list):
        # Each may be like the text up to its last character.
        meter.spend(len(wanted))
        for item in wanted:
            meter.read(min(len(item), len(text)) if isinstance(item, str) else 0)
    elif isinstance(wanted, str) and name in _TIMES_WANTED:
        meter.spend(len(text) * len(wanted) // _LOOKS_PER_UNIT)


def _list_method(name: str) -> Method:
    split = _text_method(name)

    def call(meter: Meter, text: str, *args: Value, **kwargs: Value) -> Value:
        separator = args[0] if args else kwargs.get("sep")
        if isinstance(separator, str) and separator:
            meter.read(len(text))
            meter.make_list(text.count(separator) + 1)
            return split(meter, text, *args, **kwargs)
        parts = split(meter, text, *args, **kwargs)
        meter.make_list(len(parts))
        return parts

    return call


def _padded_method(name: str) -> Method:
    method: Callable[..., Any] = getattr(str, name)

    def call(meter: Meter, text: str, width: int, fill: str = " ") -> Value:
        if not isinstance(width, int):
            raise ExpressionError(f"{name} takes a whole number, not {kind_of(width)}", "type")
        meter.make_text(max(len(text), width))
        return method(text, width) if name == "zfill" else method(text, width, fill)

    return call


def join(meter: Meter, separator: str, items: Value) -> str:
    """One text of many, its length known before it is made."""
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise ExpressionError("join takes a list of texts; the filter join takes anything", "type")
    meter.make_text(sum(map(len, items)) + len(separator) * max(0, len(items) - 1))
    return separator.join(items)


def replace(meter: Meter, text: str, old: str, new: str, count: int = -1) -> str:
    """One text for another, the length of the result known before it is made."""
    if not (isinstance(old, str) and isinstance(new, str) and isinstance(count, int)):
        raise ExpressionError("replace takes a text to find and a text to put in its place", "type")
    meter.read(len(text))
    found = text.count(old)
    times = found if count < 0 else min(found, count)
    meter.make_text(len(text) + times * (len(new) - len(old)))
    return text.replace(old, new, count)


def _get(meter: Meter, mapping: dict[str, Value], key: Value, default: Value = None) -> Value:
    return default if isinstance(key, (list, dict)) else mapping.get(key, default)


def pairs(meter: Meter, mapping: dict[str, Value]) -> list[Value]:
    """The keys and values of an object, as a list of pairs."""
    meter.make_list(len(mapping), slots=12)
    return [[key, value] for key, value in mapping.items()]


def _keys(meter: Meter, mapping: dict[str, Value]) -> list[Value]:
    meter.make_list(len(mapping))
    return list(mapping)


def _values(meter: Meter, mapping: dict[str, Value]) -> list[Value]:
    meter.make_list(len(mapping))
    return list(mapping.values())


def _count(meter: Meter, items: list[Value], item: Value) -> int:
    meter.spend(len(items))
    return sum(equal(meter, item, other) for other in items)


def _index(meter: Meter, items: list[Value], item: Value) -> int:
    meter.spend(len(items))
    for index, other in enumerate(items):
        if equal(meter, item, other):
            return index
    raise ExpressionError("the list does not have this item")


_DIRECTIVE = re.compile(r"%(-?)(.?)", re.S)
_DIRECTIVES = frozenset("aAbBdfGHIjmMpSuUVwWyYzZ")
_SHORTHANDS = {"F": "%Y-%m-%d", "T": "%H:%M:%S", "R": "%H:%M", "D": "%m/%d/%y", "%": "%%"}


def _strftime(meter: Meter, when: date, form: str) -> str:
    """Only directives that mean the same on every machine: no locale, no local time zone, no widths."""
    meter.make_text(32 * len(form))

    def expand(match: re.Match[str]) -> str:
        flag, letter = match.groups()
        if letter == "s" and isinstance(when, datetime):
            return str(int(_timestamp(meter, when)))
        if letter not in _DIRECTIVES and letter not in _SHORTHANDS:
            raise ExpressionError(f"strftime has no '{match.group()}'")
        text = when.strftime(_SHORTHANDS.get(letter, f"%{letter}"))
        return (text.lstrip("0") or "0") if flag and text.isdigit() else text

    return _DIRECTIVE.sub(expand, form)


def _timestamp(meter: Meter, when: datetime) -> float:
    # A time without a zone counts as UTC. Python would take the machine's own.
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


_DATE: dict[str, Method] = {
    "isoformat": lambda meter, when, *args, **kwargs: when.isoformat(*args, **kwargs),
    "isoweekday": lambda meter, when: when.isoweekday(),
    "strftime": _strftime,
    "weekday": lambda meter, when: when.weekday(),
}

METHODS: dict[type, dict[str, Method]] = {
    str: {
        **{name: _text_method(name) for name in _TO_TEXT + _TO_FACT},
        **{name: _list_method(name) for name in _TO_LIST},
        **{name: _padded_method(name) for name in _PADDED},
        "join": join,
        "replace": replace,
    },
    dict: {"get": _get, "items": pairs, "keys": _keys, "values": _values},
    list: {"count": _count, "index": _index},
    # datetime before date, of which it is a kind.
    datetime: {**_DATE, "date": lambda meter, when: when.date(), "timestamp": _timestamp},
    date: _DATE,
    Loop: {"changed": changed, "cycle": cycle},
}
