"""Python names for inputs, state fields and the keys of objects."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

from wfc.lazy import remembered

MODEL_NAMES = frozenset(
    (
        "construct",
        "copy",
        "dict",
        "from_orm",
        "json",
        "model_computed_fields",
        "model_config",
        "model_construct",
        "model_copy",
        "model_dump",
        "model_dump_json",
        "model_extra",
        "model_fields",
        "model_fields_set",
        "model_json_schema",
        "model_parametrized_name",
        "model_post_init",
        "model_rebuild",
        "model_validate",
        "model_validate_json",
        "model_validate_strings",
        "parse_file",
        "parse_obj",
        "parse_raw",
        "schema",
        "schema_json",
        "update_forward_refs",
        "validate",
    )
)
"""Attributes of pydantic's BaseModel, which no field may be called; a test compares them with it."""

PROTECTED = ("model_dump", "model_validate")
"""What a field's name may not begin with."""

ANNOTATION_NAMES = frozenset(("bool", "dict", "float", "int", "list", "str"))
"""A field of that name would hide the type from the annotations after it, as one with a capital would."""

_NOT_NAME = re.compile(r"[^A-Za-z0-9_]")


@remembered(4096)
def field_name(name: str) -> str:
    """The attribute for a field: its own name, or one close to it where Python or pydantic objects.

    An underscore goes behind a name that is taken, and behind one that has an underscore there already: thus
    `dict` and `dict_` stay apart.
    """
    made = _NOT_NAME.sub("_", name)
    bare = made.rstrip("_")
    if not made[:1].isalpha() or made.startswith(PROTECTED):
        return f"field_{made}"
    return f"{made}_" if bare[:1].isupper() or _is_taken(bare) else made


def field_names(names: Iterable[str]) -> dict[str, str]:
    """The attributes of one model. Keys of objects can be any text, so two of them may come too close."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        made, number = field_name(name), 2
        while made in taken:
            made, number = f"{field_name(name)}_{number}", number + 1
        taken.add(made)
        found[name] = made
    return found


def _is_taken(name: str) -> bool:
    return name in MODEL_NAMES or name in ANNOTATION_NAMES or keyword.iskeyword(name)
