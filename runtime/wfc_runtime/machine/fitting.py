"""The quick answer for a result that fits an everyday schema, which is most of them.

It never says yes where the whole validator would say no. Where it does not say yes, that one decides, and words
the complaint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wfc_runtime.contract import Json

_TYPES: dict[Any, Callable[[Json], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
_KNOWN = {"type", "enum", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "items"}
_KNOWN |= {"properties", "required", "title", "description"}


def surely_fits(value: Json, schema: Json) -> bool:
    try:
        return _fits(value, schema)
    except (TypeError, AttributeError, LookupError, RecursionError):
        return False


def _fits(value: Json, schema: Json) -> bool:
    if not isinstance(schema, dict) or not schema.keys() <= _KNOWN:
        return False
    if "type" in schema and not _TYPES[schema["type"]](value):
        return False
    # Among other values 1, 1.0 and true look the same to Python.
    if "enum" in schema and not (isinstance(value, str) and value in schema["enum"]):
        return False
    if isinstance(value, str):
        return _within(len(value), schema, "minLength", "maxLength")
    if isinstance(value, dict):
        return _object_fits(value, schema)
    if isinstance(value, list):
        items = schema.get("items")
        return _within(len(value), schema, "minItems", "maxItems") and (
            items is None or all(_fits(item, items) for item in value)
        )
    return value is None or _within(value, schema, "minimum", "maximum")


def _object_fits(value: dict[str, Json], schema: dict[str, Json]) -> bool:
    properties = schema.get("properties", {})
    return all(name in value for name in schema.get("required", ())) and all(
        _fits(value[name], inner) for name, inner in properties.items() if name in value
    )


def _within(number: float, schema: dict[str, Json], least: str, most: str) -> bool:
    return not (least in schema and number < schema[least]) and not (most in schema and number > schema[most])
