"""Changes of fields or of parts of fields, as steps list them."""

from __future__ import annotations

from typing import Any

from wfc.ir import Make
from wfc.language import types
from wfc.language.fields import (
    ANYTHING,
    NAME,
    FieldType,
    ListOf,
    Mismatch,
    Nested,
    OneOf,
    Reader,
    kind_of,
)
from wfc.language.shape import Field, Shape
from wfc.language.types import Type
from wfc.language.values import Tree
from wfc.yaml import Node, Scalar, Sequence, Span

OPERATIONS: dict[str, Type] = {
    "set": types.ANY,
    "append": types.LIST,
    "increment": types.NUMBER,
    "decrement": types.NUMBER,
    "multiply": types.NUMBER,
    "merge": types.OBJECT,
}


class PathType(FieldType[Tree]):
    """A field, or a list of a field and the keys that lead to a part of it. A key may be an expression."""

    words = "a field, or a list of a field and the keys inside it"

    def read(self, node: Node, reader: Reader) -> Tree | None:
        return None if self.mismatches(node) else Tree(node)

    def mismatches(self, node: Node) -> list[Mismatch]:
        parts = node.items if isinstance(node, Sequence) else [node]
        if not parts or not isinstance(node, Sequence | Scalar):
            return [Mismatch(node.span, f"expected {self.words}, found {kind_of(node)}")]
        wrong = [
            Mismatch(part.span, f"expected a key (text or a whole number), found {kind_of(part)}")
            for part in parts[1:]
            if not isinstance(part, Scalar)
            or isinstance(part.value, bool)
            or not isinstance(part.value, str | int)
        ]
        return [*NAME.mismatches(parts[0]), *wrong]

    def schema(self) -> dict[str, Any]:
        keys: dict[str, Any] = {"type": "array", "items": {"type": ["string", "integer"]}, "minItems": 1}
        return {"anyOf": [NAME.schema(), keys]}


class Update(Shape):
    """One change of a field, or of a part of it.

    Objects on the way are created where there is nothing or null. A whole number is an index of a list. If a value on
    the way is text or a number, or the operation does not fit the existing value, the step fails.
    """

    label = "a change"

    path = Field(
        PathType(),
        "The field, or a list of the field and the keys inside it; a key may be an expression.",
        required=True,
        example=["seen", "{{ item }}"],
    )
    operation = Field(
        OneOf(tuple(OPERATIONS)),
        "What to do: `set` the value, `append` it to a list, `increment`, `decrement` or `multiply` a number by it, or "
        "`merge` an object into another one.",
        default="set",
    )
    value = Field(ANYTHING, "The value; by default null, and 1 for `increment` and `decrement`.")

    @property
    def parts(self) -> list[Any]:
        found = self.path.data if self.path else ""
        return found if isinstance(found, list) else [found]

    @property
    def field(self) -> str:
        return str(self.parts[0])

    @property
    def field_span(self) -> Span:
        node = self.path.node if self.path else self.node
        return node.items[0].span if isinstance(node, Sequence) else node.span

    @property
    def is_whole(self) -> bool:
        """Whether it sets a whole field."""
        return len(self.parts) == 1 and self.setting("operation") == "set"

    @property
    def kind(self) -> Type:
        """The type of the field after it, as far as the operation determines it."""
        return OPERATIONS[self.setting("operation")] if len(self.parts) == 1 else types.ANY

    def lowered(self) -> Make:
        operation = self.setting("operation")
        return Make(
            "FieldUpdate",
            {
                "path": tuple(self.parts),
                **({"operation": operation} if operation != "set" else {}),
                **({"value": self.value.data} if self.value is not None else {}),
            },
        )


CHANGES: FieldType[list[Update]] = ListOf(
    Nested(lambda: Update, "a change (a mapping with `path`)"), "a list of changes", least=1
)


def lowered(changes: list[Update] | None) -> tuple[Make, ...] | None:
    return tuple(one.lowered() for one in changes if one.path) if changes else None
