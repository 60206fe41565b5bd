"""Lists, mappings, and what has fields of its own."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any

from wfc.core.fields.base import FieldType, Mismatch, Reader, T, kind_of
from wfc.core.fields.scalars import ID, NAME, TEXT, WORD
from wfc.core.fields.trees import ANYTHING, Constants
from wfc.core.values import Text, Tree, Word
from wfc.structs import struct
from wfc.yaml import Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from wfc.core.shape import Shape


@struct(eq=False)
class ListOf(FieldType[list[T]]):
    item: FieldType[T]
    words: str
    least: int = 0

    def read(self, node: Node, reader: Reader) -> list[T] | None:
        if not isinstance(node, Sequence):
            return None
        values = [self.item.read(item, reader) for item in node.items]
        return [value for value in values if value is not None]

    def mismatches(self, node: Node) -> list[Mismatch]:
        if not isinstance(node, Sequence):
            hint = (
                "put it in brackets: `[...]`" if isinstance(node, Scalar) and node.value is not None else ""
            )
            return [Mismatch(node.span, f"expected {self.words}, found {kind_of(node)}", hint)]
        if len(node.items) < self.least:
            return [Mismatch(node.span, f"expected {self.words}, found an empty list")]
        return [bad for item in node.items for bad in self.item.mismatches(item)]

    def schema(self) -> dict[str, Any]:
        least = {"minItems": self.least} if self.least else {}
        return {"type": "array", "items": self.item.schema(), **least}


@struct(eq=False)
class MapOf(FieldType[dict[str, T]]):
    """A mapping whose keys the author chooses."""

    item: FieldType[T]
    words: str
    least: int = 0
    key: FieldType[Word] | None = None
    """What the keys must be; None for any text."""

    def read(self, node: Node, reader: Reader) -> dict[str, T] | None:
        if not isinstance(node, Mapping):
            return None
        values = {entry.key.text: self.item.read(entry.value, reader) for entry in node.entries}
        return {key: value for key, value in values.items() if value is not None}

    def mismatches(self, node: Node) -> list[Mismatch]:
        if not isinstance(node, Mapping):
            return [Mismatch(node.span, f"expected {self.words}, found {kind_of(node)}")]
        if len(node.entries) < self.least:
            return [Mismatch(node.span, f"expected {self.words}, found an empty mapping")]
        keys = [bad for entry in node.entries if self.key for bad in self.key.mismatches(entry.key)]
        return keys + [bad for entry in node.entries for bad in self.item.mismatches(entry.value)]

    def schema(self) -> dict[str, Any]:
        least: dict[str, Any] = {"minProperties": self.least} if self.least else {}
        if self.key:
            least["propertyNames"] = self.key.schema()
        return {"type": "object", "additionalProperties": self.item.schema(), **least}


class Nested(FieldType[Any]):
    """A mapping with fields of its own. Its fields are checked as a shape, not here."""

    def __init__(self, shape: Callable[[], type[Shape]], words: str) -> None:
        self._shape = shape
        self.words = words

    def read(self, node: Node, reader: Reader) -> Any:
        return reader.shape(self._shape(), node) if isinstance(node, Mapping) else None

    def mismatches(self, node: Node) -> list[Mismatch]:
        if isinstance(node, Mapping):
            return []
        return [Mismatch(node.span, f"expected {self.words}, found {kind_of(node)}")]

    def schema(self) -> dict[str, Any]:
        return {"$ref": f"#/definitions/{self._shape().__name__}"}

    def inner_keys(self) -> Container[str]:
        return self._shape().FIELDS


class StepType(FieldType[Any]):
    words = "a step"

    def read(self, node: Node, reader: Reader) -> Any:
        return reader.step(node)

    def mismatches(self, node: Node) -> list[Mismatch]:
        if isinstance(node, Mapping):
            return []
        return [
            Mismatch(node.span, f"expected a step (a mapping with `id` and `type`), found {kind_of(node)}")
        ]

    def schema(self) -> dict[str, Any]:
        return {"$ref": "#/definitions/Step"}


BLOCK: FieldType[list[Any]] = ListOf(StepType(), "a list of steps")
STEPS: FieldType[list[Any]] = ListOf(StepType(), "a list of steps", least=1)
"""Read as list[Step]; the step classes, which know Step, say so."""

BRANCHES: FieldType[dict[str, list[Any]]] = MapOf(
    STEPS, "a mapping of branch name to a list of steps", least=1, key=ID
)
OPTIONS: FieldType[list[Text]] = ListOf(TEXT, "a list of options (text)", least=1)
WORDS: FieldType[list[Word]] = ListOf(WORD, "a list of names")
UPDATES: FieldType[dict[str, Tree]] = MapOf(ANYTHING, "a mapping of field to value", least=1, key=NAME)
BINDINGS: FieldType[dict[str, Tree]] = MapOf(ANYTHING, "a mapping of name to value")
TEXTS: FieldType[dict[str, Text]] = MapOf(TEXT, "a mapping of name to text")
CONSTANTS: FieldType[dict[str, Tree]] = MapOf(Constants(), "a mapping of name to value", key=NAME)
