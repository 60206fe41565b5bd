"""Field types: how a value is read and checked, and its JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from math import isfinite
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeGuard, TypeVar, cast

from wfc.caching import pattern
from wfc.language.values import Constant, Literal, Text, Tree, Word
from wfc.struct import struct
from wfc.yaml import Mapping, Node, Scalar, Sequence, Span

if TYPE_CHECKING:
    from wfc.language.shape import Shape


T = TypeVar("T")


@struct(frozen=True)
class Mismatch:
    """Why a node is not a value of the field's type."""

    span: Span
    message: str
    help: str = ""


class Reader(Protocol):
    """Reads nested mappings and steps. The dialect provides it, since only it knows how they are written."""

    def shape(self, kind: type[Shape], node: Mapping) -> Any: ...
    def step(self, node: Node) -> Any: ...


class FieldType(Generic[T]):
    words: str
    """The type in messages: "a number"."""

    def read(self, node: Node, reader: Reader) -> T | None:
        raise NotImplementedError

    def mismatches(self, node: Node) -> list[Mismatch]:
        raise NotImplementedError

    def schema(self) -> dict[str, Any]:
        raise NotImplementedError

    def inner_keys(self) -> Container[str]:
        """The fields of the value, if it is a mapping with declared fields."""
        return ()


def kind_of(node: Node) -> str:
    """The kind of a node in messages."""
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
    # A message is one line, however long the value is.
    return line if len(line) <= 40 and line == text else line[:37] + "..."


# Scalars: texts, names, numbers, booleans, enumerations.


@struct(eq=False)
class ScalarType(FieldType[T]):
    """A scalar that `accepts` allows; `wrap` converts it to the value."""

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
    # A boolean is an int in Python.
    return isinstance(node.value, int | float) and not isinstance(node.value, bool)


def _is_count(node: Scalar) -> bool:
    return isinstance(node.value, int) and not isinstance(node.value, bool) and node.value >= 1


_LONGEST = 1_000_000_000
"""Thirty years in seconds. Longer times overflow dates."""


def _is_positive(node: Scalar) -> bool:
    return _between(node, 0, _LONGEST) and node.value != 0


def _is_not_negative(node: Scalar) -> bool:
    return _between(node, 0, _LONGEST)


def _between(node: Scalar, least: int, most: int) -> bool:
    """Compares without conversion: an integer of hundreds of digits can't become a float."""
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
AMOUNT: FieldType[Literal] = ScalarType(
    "a number above 0",
    _is_positive,
    Literal,
    {"type": "number", "exclusiveMinimum": 0, "maximum": _LONGEST},
)
FACTOR: FieldType[Literal] = ScalarType(
    "a number from 1 to 1,000",
    lambda node: _between(node, 1, 1000),
    Literal,
    {"type": "number", "minimum": 1, "maximum": 1000},
)


@struct(eq=False)
class Computed(FieldType["T | Text"], Generic[T]):
    """A plain value of another field type, or an expression that is evaluated when the step starts."""

    inner: FieldType[T]

    @property
    def words(self) -> str:  # type: ignore[override]  # made on demand
        return f"{self.inner.words}, or an expression `{{{{ ... }}}}`"

    def read(self, node: Node, reader: Reader) -> T | Text | None:
        # Only `{{` makes a template: a plain number keeps the checks of the field's own type.
        return Text(node) if is_template(node) else self.inner.read(node, reader)

    def mismatches(self, node: Node) -> list[Mismatch]:
        return [] if is_template(node) else self.inner.mismatches(node)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.inner.schema(), {"type": "string", "pattern": r"\{\{"}]}


def is_template(node: Node) -> TypeGuard[Scalar]:
    return isinstance(node, Scalar) and isinstance(node.value, str) and "{{" in node.value


SECONDS_COMPUTED: FieldType[Literal | Text] = Computed(SECONDS)
FLAG: FieldType[Literal | Text] = Computed(BOOLEAN)
# Ids become parts of file names, branch names and addresses, so separators and spaces are not allowed.
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,99}")
# A field is read as `state.name` in Jinja, JavaScript and Python.
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
    """One of a fixed set of words."""

    choices: tuple[str, ...]

    @property
    def words(self) -> str:  # type: ignore[override]  # made on demand
        return "one of " + ", ".join(f"`{choice}`" for choice in self.choices)

    def read(self, node: Node, reader: Reader) -> Word | None:
        return Word(node) if isinstance(node, Scalar) and node.value in self.choices else None

    def mismatches(self, node: Node) -> list[Mismatch]:
        from wfc.suggest import nearest  # Only wrong values need it, and checking should start fast.

        if isinstance(node, Scalar) and node.value in self.choices:
            return []
        near = nearest(node.text, self.choices) if isinstance(node, Scalar) else None
        hint = f"did you mean `{near}`?" if near else ""
        return [Mismatch(node.span, f"expected {self.words}, found {kind_of(node)}", hint)]

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.choices)}


ISOLATION = OneOf(("worktree",))
"""Where an agent works, if not in the folder of the project."""
JOIN = OneOf(("all", "fail_fast", "any"))
"""When a step with branches or children ends."""


# Arbitrary JSON values.


def not_json(node: Node) -> list[Mismatch]:
    """The numbers in a value that JSON does not have, such as `.inf`. A run with them could not be stored."""
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
    """A list, or an expression that yields one."""

    words: str = "a list, or an expression that gives one"

    def mismatches(self, node: Node) -> list[Mismatch]:
        if isinstance(node, Sequence) or (isinstance(node, Scalar) and isinstance(node.value, str)):
            return not_json(node)
        return [Mismatch(node.span, f"expected {self.words}, found {kind_of(node)}")]

    def schema(self) -> dict[str, Any]:
        return {"type": ["string", "array"]}


ITEMS = Items()


# Lists, mappings, and values with declared fields.


@struct(eq=False)
class ListOf(FieldType[list[T]]):
    item: FieldType[T]
    words: str
    least: int = 0

    def read(self, node: Node, reader: Reader) -> list[T] | None:
        if not isinstance(node, Sequence):
            return None
        values = [self.item.read(item, reader) for item in node.items]
        # A wrong item is left out: `mismatches` reports it, and checks see the others.
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
    """The type of the keys; None allows any text."""

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
    """A mapping with declared fields. Checks find it as a shape of its own, so its fields are not checked here."""

    def __init__(self, shape: Callable[[], type[Shape]], words: str) -> None:
        # The shape is given by a function, because a shape may contain itself or one that is defined later.
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
"""Typed as list[Any] because this module is below the step classes; they declare list[Step]."""

BRANCHES: FieldType[dict[str, list[Any]]] = MapOf(
    STEPS, "a mapping of branch name to a list of steps", least=1, key=ID
)
PATTERNS: FieldType[list[Text]] = ListOf(TEXT, "a list of patterns", least=1)
WORDS: FieldType[list[Word]] = ListOf(WORD, "a list of names")
# The same words as in the operator's file (`wfc_runtime.agents.settings`), which the runtime parses without
# the compiler.
_TOOL = r"read|edit|web|shell(\([^()]+\))?|mcp:[A-Za-z0-9_.-]+"
_AGENT_TOOL = pattern(_TOOL)
AGENT_TOOLS: FieldType[list[Word]] = ListOf(
    ScalarType(
        "`read`, `edit`, `web`, `shell`, `shell(<pattern>)` or `mcp:<server>`",
        lambda node: isinstance(node.value, str) and _AGENT_TOOL.fullmatch(node.value) is not None,
        Word,
        {"type": "string", "pattern": f"^({_TOOL})$"},
    ),
    "a list of tools",
)
UPDATES: FieldType[dict[str, Tree]] = MapOf(ANYTHING, "a mapping of fields to values", least=1, key=NAME)
BINDINGS: FieldType[dict[str, Tree]] = MapOf(ANYTHING, "a mapping of names to values")
TEXTS: FieldType[dict[str, Text]] = MapOf(TEXT, "a mapping of names to texts")
CONSTANTS: FieldType[dict[str, Tree]] = MapOf(Constants(), "a mapping of names to values", key=NAME)
