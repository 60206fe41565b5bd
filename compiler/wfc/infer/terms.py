"""Types as the inference handles them: a few more terms, joined, narrowed and put into words."""

from __future__ import annotations

from collections.abc import Iterable

from wfc.core.types import (
    ANY,
    BOOL,
    INT,
    NULL,
    NUMBER,
    OBJECT,
    TEXT,
    Choice,
    Exact,
    Fixed,
    ListType,
    MapType,
    Property,
    Record,
    Simple,
    Type,
    Union,
)

UNDEFINED = Simple("undefined")
"""Not there. Only `default` and `is defined` may touch it."""
NOTHING = Simple("nothing")
"""No value has come to this place yet: an item of `[]`, a field that only itself is written from."""
DATE = Simple("date")
MOMENT = Simple("moment")
"""A date with a time, as `now()` gives."""

EMPTY_LIST = ListType(NOTHING)
EMPTY_OBJECT = MapType(NOTHING)
_MOST_EXACT = 12
_MOST_RECORDS = 8

KINDS = {
    "text": "text", "int": "number", "number": "number", "bool": "bool", "null": "null", "any": "any",
    "undefined": "undefined", "nothing": "nothing", "date": "date", "moment": "date",
}  # fmt: skip
_EXACT_KINDS = {"str": "text", "int": "number", "float": "number", "bool": "bool"}
_BASES: dict[str, Type] = {"str": TEXT, "int": INT, "float": NUMBER, "bool": BOOL}


def exact(value: str | int | float | bool) -> Exact:
    return Exact(value, type(value).__name__)


def options(kind: Type) -> tuple[Type, ...]:
    """What a value of this type can be, one by one."""
    return kind.options if type(kind) is Union else (kind,)


_CLASSES: dict[type, str] = {
    Choice: "text", ListType: "list", Fixed: "list", Record: "object", MapType: "object"
}  # fmt: skip


def kind_of(option: Type) -> str:
    """text, number, bool, null, list, object, date, undefined, nothing or any."""
    if isinstance(option, Simple):
        return KINDS[option.name]
    if isinstance(option, Exact):
        return _EXACT_KINDS[option.kind]
    return _CLASSES.get(type(option), "any")


def kinds_of(kind: Type) -> set[str]:
    return {kind_of(option) for option in kind.options} if isinstance(kind, Union) else {kind_of(kind)}


def is_known(kind: Type) -> bool:
    """Whether something is known of every value that it can be."""
    if isinstance(kind, Union):
        return ANY not in kind.options and NOTHING not in kind.options
    return kind is not ANY and kind is not NOTHING


def base_of(option: Type) -> Type:
    """What an exact value is one of."""
    return _BASES[option.kind] if isinstance(option, Exact) else option


def join(*kinds: Type) -> Type:
    """One type that covers them all. Unlike a plain union it remembers null and undefined beside any."""
    first = kinds[0] if kinds else NOTHING
    if len(kinds) < 2 or all(kind is first or kind == first for kind in kinds[1:]):
        return first
    if len(kinds) == 2 and first is NOTHING and type(kinds[1]) is not Union:
        return kinds[1]
    flat = dict.fromkeys([option for kind in kinds for option in options(kind)])
    flat.pop(NOTHING, None)
    if ANY in flat:
        flat = {option: None for option in (ANY, NULL, UNDEFINED) if option in flat}
    elif len(flat) > 1:
        flat = dict.fromkeys(_merged(list(flat)))
    return Union(tuple(flat)) if len(flat) > 1 else next(iter(flat), NOTHING)


def _merged(found: list[Type]) -> Iterable[Type]:
    """The options without those that others cover, lists made one, long rows of values made plain."""
    values = [option for option in found if isinstance(option, Exact)]
    plain: list[Type] = [option for option in found if not isinstance(option, Exact)]
    if len(values) > _MOST_EXACT or {True, False} <= {v.value for v in values if v.kind == "bool"}:
        plain += dict.fromkeys(base_of(value) for value in values)
        values = []
    if NUMBER in plain or (INT in plain and any(value.kind == "float" for value in values)):
        plain = [NUMBER, *(option for option in plain if option not in (NUMBER, INT))]
    covered = {kind_of(option) for option in plain if isinstance(option, Simple)}
    plain = [option for option in plain if not (isinstance(option, Choice) and "text" in covered)]
    rows = [option for option in plain if isinstance(option, ListType | Fixed)]
    if len(rows) > 1:
        plain = [option for option in plain if option not in rows]
        plain.append(ListType(join(*(item_of_list(row) for row in rows))))
    records = [option for option in plain if isinstance(option, Record)]
    if len(records) > 1:
        others = [option for option in plain if not isinstance(option, Record)]
        alike = _merged_records(records)
        plain = [*others, *alike] if len(alike) <= _MOST_RECORDS else [OBJECT, *others]
    return [*plain, *(value for value in values if kind_of(value) not in covered)]


def _merged_records(records: list[Record]) -> list[Record]:
    """Objects with the same properties made one."""
    groups: dict[object, list[Record]] = {}
    for record in records:
        names = frozenset(prop.name for prop in record.properties)
        groups.setdefault((record.name, record.open, record.loose, names), []).append(record)
    return [same[0] if len(same) == 1 else _merged_record(same) for same in groups.values()]


def _merged_record(records: list[Record]) -> Record:
    first, *others = records
    properties = []
    for prop in first.properties:
        parts = [prop, *(found for record in others if (found := record.get(prop.name)))]
        needed = all(part.required for part in parts)
        properties.append(Property(prop.name, join(*(part.type for part in parts)), needed))
    return Record(first.name, tuple(properties), first.open, first.loose)


def item_of_list(row: ListType | Fixed) -> Type:
    return row.item if isinstance(row, ListType) else join(*row.items)


def without(kind: Type, *unwanted: Type) -> Type:
    if not isinstance(kind, Union):
        return NOTHING if kind in unwanted else kind
    kept = [option for option in kind.options if option not in unwanted]
    if len(kept) == len(kind.options):
        return kind
    return join(*kept)


def present(kind: Type) -> Type:
    return without(kind, NULL, UNDEFINED)


def truthy(kind: Type) -> Type:
    """What is left where a test of it came out true."""
    if isinstance(kind, Union):
        return join(*(one for one in kind.options if one not in (NULL, UNDEFINED) and not _is_false(one)))
    return NOTHING if kind is NULL or kind is UNDEFINED or _is_false(kind) else kind


def falsy(kind: Type) -> Type:
    if isinstance(kind, Union):
        return join(*(option for option in kind.options if not always_true(option)))
    return NOTHING if always_true(kind) else kind


def _is_false(option: Type) -> bool:
    return isinstance(option, Exact) and not option.value


def always_true(option: Type) -> bool:
    """Whether no value of it is empty, zero or null."""
    if isinstance(option, Simple):
        return option is DATE or option is MOMENT
    if isinstance(option, Record):
        return any(prop.required for prop in option.properties)
    if isinstance(option, Exact):
        return bool(option.value)
    if isinstance(option, Choice):
        return all(option.values)
    return isinstance(option, Fixed) and bool(option.items)
