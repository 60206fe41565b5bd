"""Python names for inputs and state fields."""

from __future__ import annotations

import keyword

MODEL_NAMES = frozenset(
    """
    construct copy dict from_orm json parse_file parse_obj parse_raw schema schema_json update_forward_refs validate
    """.split()
)
"""Attributes of pydantic's BaseModel, which a field may not be called; a test compares them with the real thing."""

ANNOTATION_NAMES = frozenset(("Annotated", "Any", "Field", "Literal", "bool", "dict", "float", "int", "list", "str"))
"""A field of that name would stand before the type in the annotations after it."""


def field_name(name: str) -> str:
    """The attribute that holds a field: its own name, with an underscore behind it where Python or pydantic objects."""
    taken = name in MODEL_NAMES or name in ANNOTATION_NAMES or name.startswith("model_")
    return f"{name}_" if taken or keyword.iskeyword(name) else name
