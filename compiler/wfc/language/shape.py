"""Shapes: mappings with declared fields.

Parsing, checks, JSON Schema and documentation are derived from the fields.
"""

from __future__ import annotations

from collections.abc import Container
from collections.abc import Mapping as ReadOnly
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from wfc.caching import cached_property
from wfc.language import types
from wfc.language.fields import (
    AMOUNT,
    ANYTHING,
    BOOLEAN,
    COUNT,
    NUMBER,
    SECONDS,
    SIZE,
    WORD,
    WORDS,
    FieldType,
    MapOf,
    Nested,
    OneOf,
)
from wfc.language.types import Type
from wfc.yaml import Entry, Mapping, Span

T = TypeVar("T")


class Field(Generic[T]):
    """One key of a shape. A trailing underscore in Python (`if_`) is not part of the key."""

    name: str
    attribute: str

    def __init__(
        self,
        type_: FieldType[T],
        doc: str,
        *,
        required: bool = False,
        default: Any = None,
        example: Any = None,
    ) -> None:
        self.type = type_
        self.doc = doc
        self.required = required
        self.default = default
        self.example = example

    def __set_name__(self, owner: type, name: str) -> None:
        # `if`, `else` and `with` are keywords of Python, so their fields are called `if_` and so on.
        self.name = name.rstrip("_")
        self.attribute = name

    @overload
    def __get__(self, shape: None, owner: type) -> Self: ...
    @overload
    def __get__(self, shape: Shape, owner: type) -> T | None: ...
    def __get__(self, shape: Shape | None, owner: type) -> Self | T | None:
        # Field values are instance attributes, so this is reached only for a field that the class excludes.
        return self if shape is None else None


class Shape:
    """A mapping of the file, read by its fields. Values that could not be read are missing; rules report them."""

    label: ClassVar[str] = "a mapping"
    FIELDS: ClassVar[dict[str, Field[Any]]] = {}
    REQUIRED: ClassVar[tuple[str, ...]] = ()
    """The names of the required fields."""
    ONE_OF: ClassVar[tuple[str, ...]] = ()
    """Fields of which one must be present, the usual one first."""
    _EMPTY: ClassVar[dict[str, None]] = {}
    """The attributes of a shape without any field."""
    without: ClassVar[tuple[str, ...]] = ()
    """Inherited fields that this shape does not have."""

    def __init_subclass__(cls) -> None:
        # In the order of the bases, and own fields last: that is the order in documentation and schema.
        inherited = {
            name: field
            for base in reversed(cls.__mro__[1:])
            for name, field in vars(base).get("FIELDS", {}).items()
        }
        own = {field.name: field for field in vars(cls).values() if isinstance(field, Field)}
        # A step may leave out an inherited field that makes no sense for it.
        cls.FIELDS = {name: field for name, field in {**inherited, **own}.items() if name not in cls.without}
        cls.REQUIRED = tuple(name for name, field in cls.FIELDS.items() if field.required)
        cls._EMPTY = dict.fromkeys(field.attribute for field in cls.FIELDS.values())

    def __init__(self, node: Mapping, values: dict[str, Any]) -> None:
        self.node = node
        self.values: ReadOnly[str, Any] = values
        # Rules read the same fields again and again, and instance attributes are the fastest.
        self.__dict__.update(self._EMPTY)
        for name, value in values.items():
            self.__dict__[self.FIELDS[name].attribute] = value

    def put(self, name: str, value: Any) -> None:
        """Replace the value of a field."""
        # A new mapping, since values may be shared with the shape that a dialect made this one from.
        self.values = {**self.values, name: value}
        self.__dict__[self.FIELDS[name].attribute] = value

    @property
    def span(self) -> Span:
        """The span that stands for the whole mapping in findings: its first key."""
        # The whole mapping would mark dozens of lines.
        return self.node.entries[0].key.span if self.node.entries else self.node.span

    def key_span(self, name: str) -> Span:
        entry = self.node.entry(name)
        return entry.key.span if entry else self.span

    def value_span(self, name: str) -> Span:
        entry = self.node.entry(name)
        return entry.value.span if entry else self.span

    def setting(self, name: str) -> Any:
        """A plain number, boolean or word, or the field's default."""
        value = self.values.get(name)
        if value is None:
            return self.FIELDS[name].default
        return value.value if hasattr(value, "value") else value.text

    @cached_property
    def unknown(self) -> list[Entry]:
        """The entries with unknown keys."""
        return [entry for entry in self.node.entries if entry.key.text not in self.FIELDS]

    misplaced: Container[str] = ()
    """Fields written one level too high. They are reported there, so they are not also missing here."""

    def inside(self, key: str) -> str:
        """The field that contains the mapping in which an unknown key belongs, or an empty text."""
        return next((name for name, field in self.FIELDS.items() if key in field.type.inner_keys()), "")

    def shapes(self) -> list[Shape]:
        """This shape and all shapes in it, in source order."""
        found: list[Shape] = []
        _add_shapes(self, found)
        return found


def _add_shapes(value: Any, found: list[Shape]) -> None:
    if isinstance(value, Shape):
        found.append(value)
        # Nested shapes are found in the values; plain values are skipped for speed.
        value = value.values
    for item in value if isinstance(value, list) else value.values():
        if isinstance(item, _HOLDERS):
            _add_shapes(item, found)


_HOLDERS = (Shape, list, dict)


# Declared inputs of a workflow or task, with their validation rules.

INPUT_TYPES = ("string", "number", "integer", "boolean", "array", "object")
INPUT_TYPE = OneOf(INPUT_TYPES)

_TYPES: dict[str, Type] = {
    "string": types.TEXT,
    "number": types.NUMBER,
    "integer": types.INT,
    "boolean": types.BOOL,
    "array": types.LIST,
    "object": types.OBJECT,
}


class Validation(Shape):
    """Constraints on a value beyond its type."""

    label = "a validation"

    pattern = Field(
        WORD,
        "A regular expression that must match somewhere in the text; use `^` and `$` for the whole text.",
        example="^[a-z][a-z0-9-]*$",
    )
    min_length = Field(SIZE, "The minimum number of characters.")
    max_length = Field(SIZE, "The maximum number of characters.")
    enum = Field(ANYTHING, "The allowed values.", example=["staging", "production"])
    min = Field(NUMBER, "The smallest number.")
    max = Field(NUMBER, "The largest number.")
    min_items = Field(SIZE, "The minimum number of elements of an array.")
    max_items = Field(SIZE, "The maximum number of elements of an array.")
    item_type = Field(INPUT_TYPE, "The type of each element of an array.")
    required_keys = Field(WORDS, "The keys that an object must have.")
    properties = Field(
        MapOf(
            Nested(lambda: InputDecl, "an input declaration (`type: ...`)"),
            "a mapping of keys to declarations",
        ),
        "Declarations of an object's keys, each with its own validation. "
        "A key that is omitted is missing, unless it has a default.",
    )


RULES_FOR = {
    "string": ("pattern", "min_length", "max_length", "enum"),
    "number": ("min", "max", "enum"),
    "integer": ("min", "max", "enum"),
    "boolean": ("enum",),
    "array": ("min_items", "max_items", "item_type"),
    "object": ("required_keys", "properties"),
}


NUMERIC = ("number", "integer")


class Budget(Shape):
    """The budget of a run or a step. When it is used up, a person is asked whether as much again may be spent."""

    label = "`budget`"

    usd = Field(AMOUNT, "US dollars, as the agent's program reports them.", example=5)
    tokens = Field(COUNT, "Tokens, as the agent reports them.", example=200000)
    steps = Field(COUNT, "Answered actions, without prompts and waits.", example=40)
    seconds = Field(SECONDS, "Seconds since the run or the step began.", example=3600)

    def limits(self) -> dict[str, Any]:
        return {
            kind: self.setting(kind) for kind in ("usd", "tokens", "steps", "seconds") if kind in self.values
        }


BUDGET = Nested(lambda: Budget, "a mapping with `usd`, `tokens`, `steps` or `seconds`")


class InputDecl(Shape):
    """One input: its type, whether it is required, and its validation."""

    label = "an input"

    type = Field(INPUT_TYPE, "The type of the value.", required=True, example="string")
    required = Field(BOOLEAN, "Whether a run can't start without it.", default=False)
    default = Field(ANYTHING, "The value if none is given.")
    description = Field(WORD, "Its purpose; shown when a run is started.")
    secret = Field(
        BOOLEAN,
        "Whether the value is redacted in history, state, errors and logs.",
        default=False,
    )
    convert = Field(
        BOOLEAN,
        "Whether to convert text to a declared number or boolean, and a number to declared text.",
        default=False,
    )
    validation = Field(
        Nested(lambda: Validation, "a mapping of validation rules"), "Constraints on the value."
    )
    # The specification also writes the rules beside `type`, in nested declarations.
    pattern = Validation.pattern
    min_length = Validation.min_length
    max_length = Validation.max_length
    enum = Validation.enum
    min = Validation.min
    max = Validation.max
    min_items = Validation.min_items
    max_items = Validation.max_items
    item_type = Validation.item_type
    required_keys = Validation.required_keys
    properties = Validation.properties

    @property
    def kind(self) -> str:
        return self.type.text if self.type else "any"

    @property
    def is_required(self) -> bool:
        return bool(self.setting("required"))

    @property
    def is_given(self) -> bool:
        """Whether a run always has a value: it is required, or has a default that is not null."""
        # A default of null is the same as none.
        return self.is_required or ("default" in self.values and self.values["default"].data is not None)

    @property
    def is_secret(self) -> bool:
        return bool(self.setting("secret"))

    def holds_secret(self, *path: str | int | None) -> bool:
        """Whether the input, or the part of it at a path, is or contains a secret."""
        inside: dict[str, InputDecl] = self.rule("properties") or {}
        # Without a path, or with a computed one, any part of the input may be meant.
        if self.is_secret or not path or not isinstance(path[0], str):
            return self.is_secret or any(decl.holds_secret() for decl in inside.values())
        return path[0] in inside and inside[path[0]].holds_secret(*path[1:])

    def rule(self, name: str) -> Any:
        """The value of a validation rule, from `validation` or from beside `type`, with its position."""
        # `validation` wins over the rules beside `type`.
        inner = self.validation.values.get(name) if self.validation else None
        return inner if inner is not None else self.values.get(name)

    def rule_value(self, name: str) -> Any:
        found = self.rule(name)
        if found is None:
            return None
        if isinstance(found, list):
            return [word.text for word in found]
        if isinstance(found, dict):
            return found
        # A rule may be a number, a value or a text, each in its own class.
        return next(getattr(found, key) for key in ("value", "data", "text") if hasattr(found, key))

    @property
    def value_type(self) -> Type:
        """The type of a given value."""
        enum = self.rule_value("enum")
        if (
            # Only choices among texts have their own type.
            self.kind == "string"
            and isinstance(enum, list)
            and enum
            and all(isinstance(v, str) for v in enum)
        ):
            return types.Choice(tuple(enum))
        if self.kind == "array":
            item = _TYPES.get(self.rule_value("item_type"), types.ANY)
            return types.ListType(item, self.rule_value("min_items") or 0)
        properties = self.rule("properties")
        if self.kind == "object" and properties:
            needed = set(self.rule_value("required_keys") or ())
            return types.Record(
                "",
                tuple(
                    types.Property(name, decl.value_type, name in needed or decl.is_given)
                    for name, decl in properties.items()
                ),
                declared=True,
            )
        return _TYPES.get(self.kind, types.ANY)

    @property
    def read_type(self) -> Type:
        """The type in expressions: it may be null if it is optional and has no default."""
        if self.is_required or "default" in self.values:
            return self.value_type
        return types.union(self.value_type, types.NULL)
