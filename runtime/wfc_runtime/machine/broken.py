"""Every rule that a value breaks: pydantic stops at the first one of each text and of each list."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Annotated, Any

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from wfc_runtime.contract import Json


def every_broken_rule(error: ValidationError, model: type[BaseModel], given: Json) -> list[ErrorDetails]:
    """The errors, with the pattern of texts of a wrong length and the items of lists that are too long."""
    found: list[ErrorDetails] = []
    rest = deepcopy(given)
    is_cut = False
    for one in error.errors():
        found.append(one)
        if one["type"] in ("string_too_short", "string_too_long"):
            found += _pattern_errors(one, model)
        elif one["type"] == "too_long":
            is_cut = _cut(rest, one["loc"], one["ctx"]["max_length"]) or is_cut
    if is_cut:
        found += _items_errors(model, rest, {one["loc"] for one in found})
    return found


def _pattern_errors(error: ErrorDetails, model: type[BaseModel]) -> Iterator[ErrorDetails]:
    schema = model.model_json_schema()
    for place in _at(schema, error["loc"], schema):
        if "pattern" in place:
            try:
                TypeAdapter(Annotated[str, Field(pattern=place["pattern"])]).validate_python(error["input"])
            except ValidationError as broken:
                for one in broken.errors():
                    yield {**one, "loc": error["loc"]}


def _items_errors(model: type[BaseModel], shortened: Json, known: set[Any]) -> list[ErrorDetails]:
    try:
        model.model_validate(shortened)
    except ValidationError as error:
        return [one for one in every_broken_rule(error, model, shortened) if one["loc"] not in known]
    return []


def _cut(value: Json, location: tuple[int | str, ...], length: int) -> bool:
    """Shorten the list at a place, which may have names of a union's members in it."""
    for part in location:
        in_list = isinstance(value, list) and isinstance(part, int)
        if in_list or (isinstance(value, dict) and part in value):
            value = value[part]
    if not isinstance(value, list) or len(value) <= length:
        return False
    del value[length:]
    return True


def _at(
    schema: dict[str, Any], location: tuple[int | str, ...], whole: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """The schemas that hold for a place."""
    if "$ref" in schema:
        yield from _at(whole["$defs"][schema["$ref"].rpartition("/")[2]], location, whole)
        return
    for member in schema.get("anyOf", ()):
        yield from _at(member, location, whole)
    if not location:
        yield schema
        return
    part, *rest = location
    inner = schema.get("items") if isinstance(part, int) else schema.get("properties", {}).get(part)
    if inner is not None:
        yield from _at(inner, tuple(rest), whole)
