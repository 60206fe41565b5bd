"""Static types of values. `ANY` means unknown: nothing is reported about it."""

from __future__ import annotations

import types as python_types
import typing
from typing import Any, NotRequired

from typing_extensions import get_type_hints, is_typeddict

from wfc.caching import cached
from wfc.struct import struct
from wfc.template import parse_template


@struct(frozen=True, eq=False)
class Simple:
    """text, int, number, bool, null or any. There is one instance of each, so that they compare by identity."""

    name: str

    def __str__(self) -> str:
        return self.name


@struct(frozen=True)
class ListType:
    item: Type
    least: int = 0
    """The minimum number of items."""

    def __str__(self) -> str:
        return f"list of {self.item}"


@struct(frozen=True, slots=True)
class Property:
    name: str
    type: Type
    required: bool = True


@struct(frozen=True)
class Record:
    """An object with known properties, and others if `open`. `name` is that of a result in the contract, or empty."""

    name: str
    properties: tuple[Property, ...]
    open: bool = True
    loose: bool = False
    """Whether other properties are expected and not only possible, so that an unknown name is not reported."""
    declared: bool = False
    """Whether the properties are declared as inputs are: one that is not required is missing unless it is given."""

    def get(self, name: str) -> Property | None:
        return next((prop for prop in self.properties if prop.name == name), None)

    def __str__(self) -> str:
        return self.name or "{" + ", ".join(prop.name for prop in self.properties) + "}"


@struct(frozen=True)
class MapType:
    """An object with unknown keys."""

    item: Type

    def __str__(self) -> str:
        return "object"


@struct(frozen=True)
class Choice:
    """One of a fixed set of texts."""

    values: tuple[str, ...]

    def __str__(self) -> str:
        return " or ".join(repr(value) for value in self.values)


@struct(frozen=True)
class Exact:
    """A literal text, number or boolean. `kind` distinguishes 1 from true, which are equal in Python."""

    value: str | int | float | bool
    kind: str

    def __str__(self) -> str:
        return repr(self.value) if isinstance(self.value, str) else str(self.value).lower()


@struct(frozen=True)
class Fixed:
    """A list of known length, such as a pair. Its items may also have `names`."""

    items: tuple[Type, ...]
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "[" + ", ".join(map(str, self.items)) + "]"


@struct(frozen=True)
class Union:
    options: tuple[Type, ...]

    def __str__(self) -> str:
        return " or ".join(map(str, self.options))


Type = Simple | ListType | Record | MapType | Choice | Exact | Fixed | Union

ANY = Simple("any")
TEXT = Simple("text")
INT = Simple("int")
NUMBER = Simple("number")
BOOL = Simple("bool")
NULL = Simple("null")
OBJECT = MapType(ANY)
LIST = ListType(ANY)


def union(*options: Type) -> Type:
    """The simplest type that includes them all."""
    flat: dict[Type, None] = {}
    for option in options:
        for part in option.options if isinstance(option, Union) else (option,):
            flat[part] = None
    if ANY in flat:
        return ANY
    # Every int is a number.
    if NUMBER in flat:
        flat.pop(INT, None)
    if TEXT in flat:
        # A choice of texts adds nothing to text.
        flat = {part: None for part in flat if not isinstance(part, Choice)}
    return next(iter(flat)) if len(flat) == 1 else Union(tuple(flat)) if flat else ANY


def covers_empty(kind: Type, start: Type) -> bool:
    """Whether an initial value is an empty value of this type: `[]` for a list, `{"results": []}` for such a record."""
    # A value that is equal to the type gives no information about emptiness, and neither does `any`.
    if kind in (start, ANY):
        return kind != ANY
    if isinstance(kind, ListType):
        return start == LIST
    if isinstance(kind, MapType):
        return isinstance(start, MapType | Record)
    if isinstance(kind, Record):
        if not isinstance(start, Record):
            return start == OBJECT
        found = [(prop, start.get(prop.name)) for prop in kind.properties]
        return all(
            other is not None and covers_empty(prop.type, other.type)
            for prop, other in found
            if prop.required
        )
    return False


def fits(value: Any, kind: Type) -> bool:
    """Whether a constant is a value of the type, as a type checker sees it: an object has all required properties."""
    match kind:
        case Union():
            containers = [one for one in kind.options if isinstance(one, ListType | Fixed | MapType | Record)]
            # Of several kinds of container, a type checker can't tell which one a constant is.
            if isinstance(value, list | dict) and len(containers) > 1:
                return False
            return any(fits(value, option) for option in kind.options)
        case ListType() | Fixed():
            items = union(*kind.items) if isinstance(kind, Fixed) else kind.item
            return isinstance(value, list) and all(fits(item, items) for item in value)
        case MapType():
            return isinstance(value, dict) and all(fits(item, kind.item) for item in value.values())
        case Record():
            named = {prop.name: prop for prop in kind.properties}
            return (
                isinstance(value, dict)
                and all(name in value for name, prop in named.items() if prop.required)
                # A constant with a key that the record lacks would be an error for a type checker.
                and all(name in named and fits(item, named[name].type) for name, item in value.items())
            )
        case Choice():
            return value in kind.values
        case Exact():
            return fits(value, of_value(kind.value))
    return kind == ANY or _is_simple(value, kind)


def _is_simple(value: Any, kind: Type) -> bool:
    # Before the table below: a bool is an int for Python.
    if isinstance(value, bool) or value is None:
        return kind == (BOOL if value is not None else NULL)
    wanted = {str: (TEXT,), int: (INT, NUMBER), float: (NUMBER,)}
    return kind in wanted.get(type(value), ())


def of_value(value: Any) -> Type:
    """The type of a literal. An empty list or object tells nothing about its later contents."""
    match value:
        case None:
            return NULL
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return NUMBER
        case str():
            return TEXT
        case list():
            return ListType(union(*(of_value(item) for item in value))) if value else LIST
        case dict():
            return (
                # Open, because steps may add properties to an initial value.
                Record("", tuple(Property(key, of_value(item)) for key, item in value.items()))
                if value
                else OBJECT
            )
    return ANY


_SCHEMA_TYPES: dict[str, Type] = {
    "string": TEXT,
    "integer": INT,
    "number": NUMBER,
    "boolean": BOOL,
    "null": NULL,
    "array": LIST,
    "object": OBJECT,
}


_COMBINING = frozenset({"$ref", "allOf", "anyOf", "dependentSchemas", "if", "oneOf", "patternProperties"})
"""Keywords that can add properties to those in `properties`."""


def of_schema(schema: Any) -> Type:
    """The type that a JSON Schema describes. Keywords beyond the common ones give `any`."""
    if not isinstance(schema, dict):
        return ANY
    if (
        isinstance(schema.get("enum"), list)
        and schema["enum"]
        and all(isinstance(v, str) for v in schema["enum"])
    ):
        return Choice(tuple(schema["enum"]))
    kind = schema.get("type")
    # A list of types is a union.
    if isinstance(kind, list):
        return union(*(of_schema({**schema, "type": one}) for one in kind))
    if kind == "array":
        least = schema.get("minItems")
        return ListType(of_schema(schema.get("items")), least if isinstance(least, int) else 0)
    properties = schema.get("properties")
    if isinstance(properties, dict) and kind in (None, "object"):
        required = schema.get("required")
        needed = (
            set(required)
            # A malformed `required` is reported by another rule.
            if isinstance(required, list) and all(isinstance(r, str) for r in required)
            else set()
        )
        return Record(
            "",
            tuple(
                Property(str(name), of_schema(value), name in needed) for name, value in properties.items()
            ),
            # JSON Schema allows other properties unless it says otherwise.
            open=schema.get("additionalProperties") is not False,
            loose=bool(schema.get("additionalProperties")) or not _COMBINING.isdisjoint(schema),
        )
    return _SCHEMA_TYPES.get(kind, ANY) if isinstance(kind, str) else ANY


_PYTHON: dict[Any, Type] = {str: TEXT, int: INT, float: NUMBER, bool: BOOL, type(None): NULL}


@cached(64)
def of_python(kind: Any) -> Type:
    """The type of a result class of the contract."""
    if kind in _PYTHON:
        return _PYTHON[kind]
    if is_typeddict(kind):
        hints = get_type_hints(kind)
        return Record(
            kind.__name__,
            tuple(
                Property(name, of_python(hint), name in kind.__required_keys__)
                for name, hint in hints.items()
            ),
            # Results of the contract have exactly these properties.
            open=False,
        )
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return Choice(arguments)
    if origin in (typing.Union, python_types.UnionType):
        return union(*(of_python(argument) for argument in arguments))
    if origin is list:
        return ListType(of_python(arguments[0]))
    if origin is dict:
        return MapType(of_python(arguments[1]))
    if origin is NotRequired:
        return of_python(arguments[0])
    return ANY


# Types as text.

_DEEPEST = 3
"""The nesting depth to which objects are shown with their properties."""


def shown(kind: Type, depth: int = 0) -> str:
    """A type as text, with the properties of its objects."""
    match kind:
        # Named records are shown by their name, which the documentation explains.
        case Record() if not kind.name and depth < _DEEPEST:
            parts = (
                f"{prop.name}{'' if prop.required else '?'}: {shown(prop.type, depth + 1)}"
                for prop in kind.properties
            )
            return "{" + ", ".join(parts) + "}"
        case ListType():
            inner = shown(kind.item, depth)
            return f"list of ({inner})" if isinstance(kind.item, Union) else f"list of {inner}"
        case MapType():
            return f"object of {shown(kind.item, depth)}"
        case Union():
            return " or ".join(shown(option, depth) for option in kind.options)
    return str(kind)


# Members: what can follow a dot.


def member(kind: Type, name: str | int | None) -> Type | None:
    """The type of `value.name` or `value[name]`. None stands for a name that is computed."""
    match kind:
        case Record():
            prop = kind.get(str(name))
            return prop.type if prop else None
        case MapType():
            return kind.item
        case ListType():
            # Without a default, an optional input that is not given is null.
            return kind.item if not isinstance(name, str) else None
        case Fixed():
            return union(*kind.items) if kind.items else ANY
        case Union():
            found = [part for option in kind.options if (part := member(option, name)) is not None]
            return union(*found) if found else None
    return None


def properties(kind: Type | None) -> dict[str, Type]:
    """The names that can follow the dot, each with its type."""
    match kind:
        case Record():
            return {
                prop.name: prop.type if prop.required else union(prop.type, NULL) for prop in kind.properties
            }
        case Union():
            found: dict[str, Type] = {}
            for option in kind.options:
                for name, one in properties(option).items():
                    found[name] = union(found[name], one) if name in found else one
            return found
    return {}


# The type of a value with templates, without evaluating them.


def type_of(value: Any) -> Type:
    """A text that mixes words and expressions is text, and a single expression can be anything."""
    match value:
        case str():
            return ANY if parse_template(value).lone else TEXT
        case list() if value:
            return ListType(union(*(type_of(item) for item in value)))
        case dict() if value:
            return Record("", tuple(Property(key, type_of(item)) for key, item in value.items()))
    return of_value(value)
