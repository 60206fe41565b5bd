"""Result types of generated modules as JSON Schema."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NotRequired, Union

from typing_extensions import get_type_hints, is_typeddict

from wfc_runtime.contract import Json

_SIMPLE: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
    dict: "object",
    list: "array",
}


def of(result: Any) -> Json:
    """The JSON Schema of a result type of a generated module."""
    if result is None:
        return None
    if isinstance(result, Mapping):
        return result
    return _of_type(result)


@lru_cache(maxsize=512)
def _of_type(kind: Any) -> Json:
    if kind is Any:
        return {}
    if kind in _SIMPLE:
        return {"type": _SIMPLE[kind]}
    if is_typeddict(kind):
        return _of_record(kind)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return _of_union(arguments)
    if origin is list:
        return {"type": "array", "items": _of_type(arguments[0])}
    if origin is dict:
        return {"type": "object"}
    if origin is NotRequired:
        return _of_type(arguments[0])
    raise TypeError(f"no JSON Schema for {kind!r}")


def _of_record(kind: Any) -> Json:
    hints = get_type_hints(kind)
    return {
        "type": "object",
        "properties": {name: _of_type(hint) for name, hint in hints.items()},
        "required": [name for name in hints if name in kind.__required_keys__],
    }


def _of_union(arguments: tuple[Any, ...]) -> Json:
    if set(arguments) == {int, float}:
        return {"type": "number"}
    return {"anyOf": [_of_type(argument) for argument in arguments]}


def narrowed(schema: Json, where: Mapping[str, Json]) -> Json:
    """The schema with further demands on some of its properties. What must have parts must be there itself."""
    if not where:
        return schema
    properties = {
        name: {**value, **where.get(name, {})} for name, value in schema.get("properties", {}).items()
    }
    needed = [name for name, demands in where.items() if "required" in demands]
    required = list(dict.fromkeys([*schema.get("required", ()), *needed]))
    return {**schema, "properties": properties, "required": required}


def describe(value: Json) -> str:
    """A value's kind in words, for messages."""
    match value:
        case None:
            return "null"
        case bool():
            return f"the boolean {str(value).lower()}"
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the text {value[:40]!r}"
        case list():
            return "a list"
        case _:
            return "an object"
