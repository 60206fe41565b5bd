"""The type of a value whose strings may be templates, as far as its outside shows."""

from __future__ import annotations

from typing import Any

from wfc.core import types
from wfc.core.types import Type
from wfc.template import parse_template


def type_of(value: Any) -> Type:
    """A literal is what it is, text with holes is text, and a lone expression can be anything."""
    match value:
        case str():
            return types.ANY if parse_template(value).lone else types.TEXT
        case list() if value:
            return types.ListType(types.union(*(type_of(item) for item in value)))
        case dict() if value:
            return types.Record("", tuple(types.Property(key, type_of(item)) for key, item in value.items()))
    return types.of_value(value)
