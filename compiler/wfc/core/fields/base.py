"""What a kind of value is: how it is read, what is wrong with one, and its JSON Schema."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from wfc.structs import struct
from wfc.yaml import Mapping, Node, Scalar, Sequence, Span

if TYPE_CHECKING:
    from wfc.core.shape import Shape

T = TypeVar("T")


@struct(frozen=True)
class Mismatch:
    """Why a node is not the kind of value its field takes."""

    span: Span
    message: str
    help: str = ""


class Reader(Protocol):
    """What a dialect lends to the fields that hold more of it."""

    def shape(self, kind: type[Shape], node: Mapping) -> Any: ...
    def step(self, node: Node) -> Any: ...


class FieldType(Generic[T]):
    words: str
    """What the field takes, as a message says it: "a number"."""

    def read(self, node: Node, reader: Reader) -> T | None:
        raise NotImplementedError

    def mismatches(self, node: Node) -> list[Mismatch]:
        raise NotImplementedError

    def schema(self) -> dict[str, Any]:
        raise NotImplementedError

    def inner_keys(self) -> Container[str]:
        """The fields of what it takes, where that is a mapping with fields of its own."""
        return ()


def kind_of(node: Node) -> str:
    """A node's kind in words."""
    match node:
        case Sequence():
            return "a list"
        case Mapping():
            return "a mapping"
        case Scalar(value=None):
            return "nothing"
        case Scalar(value=bool()):
            return f"the boolean `{node.text}`"
        case Scalar(value=int() | float()):
            return f"the number `{node.text[:40]}`"
    return f"the text `{_short(node.text)}`"


def _short(text: str) -> str:
    line = text.split("\n", 1)[0]
    return line if len(line) <= 40 and line == text else line[:37] + "..."
