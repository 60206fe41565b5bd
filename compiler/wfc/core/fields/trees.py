"""Any JSON value, whatever is in it."""

from __future__ import annotations

from math import isfinite
from typing import Any

from wfc.core.fields.base import FieldType, Mismatch, Reader, kind_of
from wfc.core.values import Constant, Tree
from wfc.structs import struct
from wfc.yaml import Mapping, Node, Scalar, Sequence


def not_json(node: Node) -> list[Mismatch]:
    """The numbers in a value that YAML knows and JSON does not: a run could not be stored with them."""
    match node:
        case Scalar(value=float() as number) if not isfinite(number):
            message = f"expected a value that JSON can hold, found {kind_of(node)}"
            return [Mismatch(node.span, message, "quote it if it is text")]
        case Sequence():
            return [bad for item in node.items for bad in not_json(item)]
        case Mapping():
            return [bad for entry in node.entries for bad in not_json(entry.value)]
    return []


@struct(eq=False)
class Anything(FieldType[Tree]):
    """Any JSON value, with templates in its strings."""

    words: str = "a value"

    def read(self, node: Node, reader: Reader) -> Tree | None:
        return Tree(node)

    def mismatches(self, node: Node) -> list[Mismatch]:
        return not_json(node)

    def schema(self) -> dict[str, Any]:
        return {}


ANYTHING = Anything()


@struct(eq=False)
class Constants(Anything):
    """Any JSON value, never rendered."""

    def read(self, node: Node, reader: Reader) -> Tree | None:
        return Constant(node)


@struct(eq=False)
class Items(Anything):
    """A list, or an expression that gives one."""

    words: str = "a list, or an expression that gives one"

    def mismatches(self, node: Node) -> list[Mismatch]:
        if isinstance(node, Sequence) or (isinstance(node, Scalar) and isinstance(node.value, str)):
            return not_json(node)
        return [Mismatch(node.span, f"expected {self.words}, found {kind_of(node)}")]

    def schema(self) -> dict[str, Any]:
        return {"type": ["string", "array"]}


ITEMS = Items()
