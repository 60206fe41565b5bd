"""Values in the file: literals, and trees of them with templates in their strings."""

from __future__ import annotations

from collections.abc import Callable

from wfc.core.types import NULL, ListType, Property, Record, Type
from wfc.infer.terms import EMPTY_LIST, EMPTY_OBJECT, exact, join
from wfc.infer.views import widened
from wfc.yaml import Mapping, Node, Scalar, Sequence


def tree_type(node: Node, text_type: Callable[[Scalar], Type]) -> Type:
    """The type of a value; `text_type` knows what the strings in it give."""
    match node:
        case Scalar():
            if isinstance(node.value, str):
                return text_type(node)
            return NULL if node.value is None else exact(node.value)
        case Sequence():
            items = [tree_type(item, text_type) for item in node.items]
            return ListType(join(*items)) if items else EMPTY_LIST
        case Mapping():
            parts = {entry.key.text: tree_type(entry.value, text_type) for entry in node.entries}
            properties = tuple(Property(name, kind) for name, kind in parts.items())
            return Record("", properties, open=False) if parts else EMPTY_OBJECT


def literal_type(node: Node, *, exactly: bool) -> Type:
    """The type of a value without templates. A field that nobody writes is a setting: it may be edited."""
    kind = tree_type(node, lambda scalar: exact(scalar.text))
    return kind if isinstance(node, Scalar) and exactly else widened(kind)
