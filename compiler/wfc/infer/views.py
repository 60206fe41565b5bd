"""Types seen from outside: as part of the state, in a generated module, in the words of a message."""

from __future__ import annotations

import re
from collections.abc import Callable

from wfc.core import types
from wfc.core.types import ANY, TEXT, Exact, Fixed, ListType, MapType, Property, Record, Simple, Type, Union
from wfc.infer.terms import DATE, MOMENT, UNDEFINED, base_of, join, kind_of, options

_DEEPEST = 6


def widened(kind: Type) -> Type:
    """The same without exact values: a list of `1` and `2` is one of ints."""
    match kind:
        case Union():
            return join(*map(widened, kind.options))
        case ListType():
            return ListType(widened(kind.item))
        case Record() if not kind.name:
            return _with_properties(kind, widened)
    return base_of(kind)


def stored(kind: Type, depth: int = _DEEPEST) -> Type:
    """What is left of it once it is part of the state: JSON, and known to a certain depth only."""
    if depth == 0:
        return ANY
    if isinstance(kind, Simple):
        return TEXT if kind is DATE or kind is MOMENT else kind
    match kind:
        case Union():
            return join(*(stored(option, depth) for option in kind.options if option != UNDEFINED))
        case ListType():
            return ListType(stored(kind.item, depth - 1))
        case Fixed():
            return Fixed(tuple(stored(item, depth - 1) for item in kind.items))
        case MapType():
            return MapType(stored(kind.item, depth - 1))
        case Record() if not kind.name:
            return _with_properties(kind, lambda part: stored(part, depth - 1))
    return kind


def plain(kind: Type) -> Type:
    """The type as a generated module shows it: `1` is an int, and what is not known is any."""
    match kind:
        case Union():
            return types.union(*(plain(option) for option in kind.options if option != UNDEFINED))
        case ListType():
            return ListType(plain(kind.item))
        case Fixed():
            return ListType(types.union(*map(plain, kind.items)) if kind.items else ANY)
        case MapType():
            return MapType(plain(kind.item))
        case Record() if not kind.name:
            return _with_properties(kind, plain)
        case Exact():
            return base_of(kind)
    return kind if not isinstance(kind, Simple) or kind.name in _PLAIN else ANY


_PLAIN = frozenset({"text", "int", "number", "bool", "null", "any"})


def _with_properties(record: Record, change: Callable[[Type], Type]) -> Record:
    properties = tuple(Property(prop.name, change(prop.type), prop.required) for prop in record.properties)
    return Record(record.name, properties, record.open, record.loose)


WORDS = {
    "text": "text", "number": "a number", "bool": "a boolean", "null": "null", "list": "a list",
    "object": "an object", "date": "a date", "undefined": "undefined", "nothing": "nothing", "any": "a value",
}  # fmt: skip


def describe(kind: Type) -> str:
    """A type in the words of a message."""
    return " or ".join(dict.fromkeys(_describe(option) for option in options(kind)))


def _describe(option: Type) -> str:
    if isinstance(option, Record) and option.name and option.name != "Loop":
        words = re.sub(r"(?<!^)(?=[A-Z])", " ", option.name).lower()
        return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"
    return WORDS[kind_of(option)]
