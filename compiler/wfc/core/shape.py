"""Shapes: mappings with named fields, declared once. Reading, checks, JSON Schema and docs all come from the fields."""

from __future__ import annotations

from collections.abc import Container
from collections.abc import Mapping as ReadOnly
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from wfc.core.fields import FieldType
from wfc.lazy import lazy
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
        self.name = name.rstrip("_")
        self.attribute = name

    @overload
    def __get__(self, shape: None, owner: type) -> Self: ...
    @overload
    def __get__(self, shape: Shape, owner: type) -> T | None: ...
    def __get__(self, shape: Shape | None, owner: type) -> Self | T | None:
        # Asked for through a shape, this is a field that its class leaves out: the others are its own from the start.
        return self if shape is None else None


class Shape:
    """A mapping of the file read by its fields. What could not be read is simply not there; rules say why."""

    label: ClassVar[str] = "a mapping"
    FIELDS: ClassVar[dict[str, Field[Any]]] = {}
    REQUIRED: ClassVar[tuple[str, ...]] = ()
    """The fields that must be there."""
    _EMPTY: ClassVar[dict[str, None]] = {}
    """What its attributes are when none of the fields is there."""
    without: ClassVar[tuple[str, ...]] = ()
    """Fields of the base that this one does not take."""

    def __init_subclass__(cls) -> None:
        inherited = {
            name: field
            for base in reversed(cls.__mro__[1:])
            for name, field in vars(base).get("FIELDS", {}).items()
        }
        own = {field.name: field for field in vars(cls).values() if isinstance(field, Field)}
        cls.FIELDS = {name: field for name, field in {**inherited, **own}.items() if name not in cls.without}
        cls.REQUIRED = tuple(name for name, field in cls.FIELDS.items() if field.required)
        cls._EMPTY = dict.fromkeys(field.attribute for field in cls.FIELDS.values())

    def __init__(self, node: Mapping, values: dict[str, Any]) -> None:
        self.node = node
        self.values: ReadOnly[str, Any] = values
        # Rules ask for the same fields again and again: as attributes of its own they cost least.
        self.__dict__.update(self._EMPTY)
        for name, value in values.items():
            self.__dict__[self.FIELDS[name].attribute] = value

    def put(self, name: str, value: Any) -> None:
        """Give a field another value than the one that was read."""
        self.values = {**self.values, name: value}
        self.__dict__[self.FIELDS[name].attribute] = value

    @property
    def span(self) -> Span:
        """The place to point at when the thing as a whole is meant: its first key."""
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

    @lazy
    def unknown(self) -> list[Entry]:
        """The entries whose keys are no fields."""
        return [entry for entry in self.node.entries if entry.key.text not in self.FIELDS]

    misplaced: Container[str] = ()
    """Fields that stand one level above by mistake, and are told there."""

    def inside(self, key: str) -> str:
        """The field under which a key belongs that this one does not know; "" where there is none."""
        return next((name for name, field in self.FIELDS.items() if key in field.type.inner_keys()), "")

    def shapes(self) -> list[Shape]:
        """This one and all that it holds, in source order."""
        found: list[Shape] = []
        _add_shapes(self, found)
        return found


def _add_shapes(value: Any, found: list[Shape]) -> None:
    if isinstance(value, Shape):
        found.append(value)
        value = value.values
    for item in value if isinstance(value, list) else value.values():
        if isinstance(item, _HOLDERS):
            _add_shapes(item, found)


_HOLDERS = (Shape, list, dict)
