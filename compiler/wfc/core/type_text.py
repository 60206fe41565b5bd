"""Types in words, for people."""

from __future__ import annotations

from wfc.core.types import ListType, MapType, Record, Type, Union

_DEEPEST = 3
"""How many objects inside each other are shown with their properties."""


def shown(kind: Type, depth: int = 0) -> str:
    """A type with the properties of the objects in it."""
    match kind:
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
