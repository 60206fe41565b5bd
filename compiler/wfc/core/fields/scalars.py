"""Leaves: texts, names, numbers, booleans, words of a few."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeGuard, cast

from wfc.core.fields.base import FieldType, Mismatch, Reader, T, kind_of
from wfc.core.values import Literal, Text, Word
from wfc.structs import struct
from wfc.yaml import Node, Scalar


@struct(eq=False)
class ScalarType(FieldType[T]):
    """A leaf that `accepts` takes and `wrap` locates."""

    words: str
    accepts: Callable[[Scalar], bool]
    wrap: Callable[[Scalar], T]
    json_schema: Any
    help: str = ""

    def read(self, node: Node, reader: Reader) -> T | None:
        return self.wrap(node) if isinstance(node, Scalar) and self.accepts(node) else None

    def mismatches(self, node: Node) -> list[Mismatch]:
        if isinstance(node, Scalar) and self.accepts(node):
            return []
        return [Mismatch(node.span, f"expected {self.words}, found {kind_of(node)}", self.help)]

    def schema(self) -> dict[str, Any]:
        return dict(self.json_schema)


def _is_number(node: Scalar) -> bool:
    return isinstance(node.value, int | float) and not isinstance(node.value, bool)


def _is_count(node: Scalar) -> bool:
    return isinstance(node.value, int) and not isinstance(node.value, bool) and node.value >= 1


_LONGEST = 1_000_000_000
"""Thirty years of seconds: a moment further off is none that a calendar knows."""


def _is_positive(node: Scalar) -> bool:
    return _between(node, 0, _LONGEST) and node.value != 0


def _is_not_negative(node: Scalar) -> bool:
    return _between(node, 0, _LONGEST)


def _between(node: Scalar, least: int, most: int) -> bool:
    """Compared as it is: an integer of hundreds of digits can't become a float."""
    return _is_number(node) and least <= cast("int | float", node.value) <= most


def _is_text(node: Scalar) -> bool:
    return isinstance(node.value, str)


WORD: FieldType[Word] = ScalarType("text", _is_text, Word, {"type": "string"})
TEXT: FieldType[Text] = ScalarType("text", _is_text, Text, {"type": "string"})
CONDITION: FieldType[Text] = ScalarType(
    "an expression `{{ ... }}`",
    lambda node: isinstance(node.value, str | bool),
    Text,
    {"type": ["string", "boolean"]},
)
NUMBER: FieldType[Literal] = ScalarType(
    "a number",
    lambda node: _is_number(node) and abs(cast("int | float", node.value)) < float("inf"),
    Literal,
    {"type": "number"},
)
SECONDS: FieldType[Literal] = ScalarType(
    "a number of seconds above 0",
    _is_positive,
    Literal,
    {"type": "number", "exclusiveMinimum": 0, "maximum": _LONGEST},
    help="write a bare number of seconds, such as `30`, and a billion at most",
)
DELAY: FieldType[Literal] = ScalarType(
    "a number of seconds, 0 or more",
    _is_not_negative,
    Literal,
    {"type": "number", "minimum": 0, "maximum": _LONGEST},
    help="write a bare number of seconds, such as `5`, and a billion at most",
)
COUNT: FieldType[Literal] = ScalarType(
    "a whole number of 1 or more", _is_count, Literal, {"type": "integer", "minimum": 1}
)
SIZE: FieldType[Literal] = ScalarType(
    "a whole number of 0 or more",
    lambda node: isinstance(node.value, int) and not isinstance(node.value, bool) and node.value >= 0,
    Literal,
    {"type": "integer", "minimum": 0},
)
BOOLEAN: FieldType[Literal] = ScalarType(
    "`true` or `false`", lambda node: isinstance(node.value, bool), Literal, {"type": "boolean"}
)
FACTOR: FieldType[Literal] = ScalarType(
    "a number from 1 to 1,000",
    lambda node: _between(node, 1, 1000),
    Literal,
    {"type": "number", "minimum": 1, "maximum": 1000},
)


@struct(eq=False)
class Computed(FieldType["Literal | Text"]):
    """A plain value of another field type, or an expression that gives one when the step is reached."""

    inner: FieldType[Literal]

    @property
    def words(self) -> str:  # type: ignore[override]  # made on demand
        return f"{self.inner.words}, or an expression `{{{{ ... }}}}`"

    def read(self, node: Node, reader: Reader) -> Literal | Text | None:
        return Text(node) if is_template(node) else self.inner.read(node, reader)

    def mismatches(self, node: Node) -> list[Mismatch]:
        return [] if is_template(node) else self.inner.mismatches(node)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.inner.schema(), {"type": "string", "pattern": r"\{\{"}]}


def is_template(node: Node) -> TypeGuard[Scalar]:
    return isinstance(node, Scalar) and isinstance(node.value, str) and "{{" in node.value


SECONDS_COMPUTED: FieldType[Literal | Text] = Computed(SECONDS)
FLAG: FieldType[Literal | Text] = Computed(BOOLEAN)
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,99}")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")
ID: FieldType[Word] = ScalarType(
    "a name",
    lambda node: _is_text(node) and bool(_ID.fullmatch(node.text)),
    Word,
    {"type": "string", "pattern": f"^{_ID.pattern}$"},
    help="letters, digits, `-`, `_`, `.` and `:`, at most 100 characters; quote it if it looks like a number",
)
NAME: FieldType[Word] = ScalarType(
    "a field name",
    lambda node: _is_text(node) and bool(_NAME.fullmatch(node.text)),
    Word,
    {"type": "string", "pattern": f"^{_NAME.pattern}$"},
    help="letters, digits and `_`, beginning with a letter, at most 100 characters",
)
OPTIONAL_TEXT: FieldType[Word] = ScalarType(
    "text or `null`", lambda node: node.value is None or _is_text(node), Word, {"type": ["string", "null"]}
)


@struct(eq=False)
class OneOf(FieldType[Word]):
    """One of a few words."""

    choices: tuple[str, ...]

    @property
    def words(self) -> str:  # type: ignore[override]  # made on demand
        return "one of " + ", ".join(f"`{choice}`" for choice in self.choices)

    def read(self, node: Node, reader: Reader) -> Word | None:
        return Word(node) if isinstance(node, Scalar) and node.value in self.choices else None

    def mismatches(self, node: Node) -> list[Mismatch]:
        from wfc.suggest import nearest

        if isinstance(node, Scalar) and node.value in self.choices:
            return []
        near = nearest(node.text, self.choices) if isinstance(node, Scalar) else None
        hint = f"did you mean `{near}`?" if near else ""
        return [Mismatch(node.span, f"expected {self.words}, found {kind_of(node)}", hint)]

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.choices)}
