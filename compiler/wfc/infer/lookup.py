"""Properties and items: which values have them, and what they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from wfc.core.types import ANY, INT, NULL, TEXT, Fixed, ListType, MapType, Property, Record, Type
from wfc.infer.results import item_of
from wfc.infer.terms import DATE, MOMENT, NOTHING, UNDEFINED, join, kind_of, options
from wfc.structs import struct
from wfc_runtime.expr.lookup import DATE_FIELDS, TIME_FIELDS

FAILED_CHILD = Record("FailedChild", (Property("error", ANY),), open=False)
"""What stands in a foreach's list in the place of a child that failed."""

LOOP = Record(
    "Loop",
    (
        *(Property(name, INT) for name in ("index", "index0", "revindex", "revindex0", "length")),
        *(Property(name, ANY) for name in ("first", "last", "previtem", "nextitem")),
    ),
    open=False,
)
"""The variable `loop` inside a `for`."""

_MOMENT_FIELDS = (*DATE_FIELDS, *TIME_FIELDS)


@struct(slots=True)
class Found:
    """What looking up a name or a number brought, over all that the value can be."""

    types: list[Type] = field(default_factory=list)
    lacking: list[Type] = field(default_factory=list)
    """What it can be that never has it."""
    optional: Record | None = None
    """What it can be that need not have it."""
    null: bool = False
    loose: bool = False
    """Whether nobody can say that it is there, as with an item of a list by its number."""

    @property
    def type(self) -> Type:
        return join(*self.types) if self.types else ANY


def find_property(kind: Type, name: str) -> Found:
    found = Found()
    for option in options(kind):
        if option == NULL:
            found.null = True
        elif isinstance(option, Record):
            _find_in_record(option, name, found)
        elif option != UNDEFINED:
            part = _part_of(option, name)
            found.loose |= isinstance(option, MapType)
            if part is None:
                found.lacking.append(option)
            else:
                found.types.append(part)
    return found


def _find_in_record(record: Record, name: str, found: Found) -> None:
    prop = record.get(name)
    if prop is not None:
        found.types.append(prop.type)
        found.loose |= not prop.required
        # A schema that demands nothing at all was not written to say what may be missing.
        if not prop.required and any(other.required for other in record.properties):
            found.optional = record
    elif record.loose or (record.open and not record.properties):
        found.types.append(ANY)
        found.loose = True
    else:
        found.lacking.append(record)


def _part_of(option: Type, name: str) -> Type | None:
    match option:
        case MapType():
            return ANY if option.item == NOTHING else option.item
        case Fixed():
            return option.items[option.names.index(name)] if name in option.names else None
    if option in (DATE, MOMENT):
        return INT if name in (_MOMENT_FIELDS if option == MOMENT else DATE_FIELDS) else None
    return option if kind_of(option) in ("any", "nothing") else None


def find_item(kind: Type, index: int | None) -> Found:
    """An item by its number; by one that is not known, if there is none."""
    found = Found(loose=True)
    for option in options(kind):
        if option == NULL:
            found.null = True
            continue
        match option:
            case Fixed() if index is not None and -len(option.items) <= index < len(option.items):
                found.types.append(option.items[index])
            case ListType() | Fixed():
                found.types.append(item_of(option))
            case MapType():
                found.types.append(ANY)
            case Record() if index is None:
                found.types.append(ANY)
            case _ if kind_of(option) == "text":
                found.types.append(TEXT)
            case _ if kind_of(option) in ("any", "nothing"):
                found.types.append(option)
            case _ if option != UNDEFINED:
                found.lacking.append(option)
    return found


def may_have(option: Type, name: str, there: bool) -> bool:
    """Whether a value can pass a test that asks for a property to be there, or not to be."""
    found = find_property(option, name)
    if there:
        return bool(found.types)
    return bool(found.lacking or found.optional or found.null or found.loose) or kind_of(option) == "any"


def with_part(option: Type, name: str) -> Type:
    """A value of which a property has been found to be there."""
    if not isinstance(option, Record):
        return option
    properties = (
        Property(prop.name, prop.type, prop.required or prop.name == name) for prop in option.properties
    )
    return Record(option.name, tuple(properties), option.open, option.loose)


def property_names(kinds: list[Type]) -> Iterator[str]:
    """What one could have meant instead."""
    for option in kinds:
        if isinstance(option, Record):
            yield from (prop.name for prop in option.properties)
        elif isinstance(option, Fixed):
            yield from option.names
        elif option in (DATE, MOMENT):
            yield from _MOMENT_FIELDS if option == MOMENT else DATE_FIELDS
