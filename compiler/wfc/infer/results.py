"""What those filters, functions and methods give whose result depends on what they are used on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wfc.core.types import (
    ANY,
    BOOL,
    INT,
    LIST,
    NULL,
    NUMBER,
    OBJECT,
    TEXT,
    Fixed,
    ListType,
    MapType,
    Property,
    Record,
    Type,
)
from wfc.infer.terms import (
    NOTHING,
    UNDEFINED,
    base_of,
    item_of_list,
    join,
    kind_of,
    kinds_of,
    options,
    truthy,
    without,
)
from wfc.lazy import pattern

if TYPE_CHECKING:
    from wfc.infer.use import Use

_LOOSE_GROUP = pattern(r"\)[?*{]|\|")
"""A group that a match may leave out, and that then is null."""


def item_of(kind: Type) -> Type:
    """What a loop over it goes through: items, keys or characters."""
    return join(*map(_item_of, options(kind)))


def _item_of(option: Type) -> Type:
    match option:
        case ListType() | Fixed():
            return item_of_list(option)
        case MapType():
            return NOTHING if option.item == NOTHING else TEXT
        case Record():
            return TEXT
    if option in (NOTHING, NULL):
        return NOTHING
    return TEXT if kind_of(option) == "text" else ANY


def is_int(kind: Type) -> bool:
    return all(base_of(option) == INT for option in options(kind))


def same_number(use: Use) -> Type:
    return INT if is_int(use.operand) else NUMBER


def rounded(use: Use) -> Type:
    return INT if is_int(use.operand) and use.given("method") is None else NUMBER


def converted_to_int(use: Use) -> Type:
    return join(INT, use.given("default") or INT)


def converted_to_number(use: Use) -> Type:
    return join(NUMBER, use.given("default") or NUMBER)


_CONVERTED: dict[str, Type] = {
    "str": TEXT,
    "int": INT,
    "float": NUMBER,
    "bool": BOOL,
    "list": LIST,
    "dict": OBJECT,
}


def converted(use: Use) -> Type:
    return _CONVERTED.get(str(use.constant("to")), ANY)


def scalars_as_text(use: Use) -> Type:
    kept = [ANY if kind_of(one) == "any" else one for one in options(use.operand)]
    return join(*(one if kind_of(one) in ("list", "object", "any") else TEXT for one in kept))


def defaulted(use: Use) -> Type:
    value = truthy(use.operand) if use.given("boolean") is not None else without(use.operand, UNDEFINED)
    return join(value, use.given("default_value") or TEXT)


def items(use: Use) -> Type:
    use.part(item_of(use.operand), "attribute")
    return ListType(item_of(use.operand))


def one_item(use: Use) -> Type:
    use.part(item_of(use.operand), "attribute")
    return join(item_of(use.operand), UNDEFINED)


def joined(use: Use) -> Type:
    use.part(item_of(use.operand), "attribute")
    return TEXT


def reversed_(use: Use) -> Type:
    if kinds_of(use.operand) == {"text"}:
        return TEXT
    return ListType(item_of(use.operand)) if "any" not in kinds_of(use.operand) else ANY


def batches(use: Use) -> Type:
    return ListType(ListType(join(item_of(use.operand), use.given("fill_with") or NOTHING)))


def groups(use: Use) -> Type:
    item = item_of(use.operand)
    key = use.part(item, "attribute", default=use.given("default"))
    return ListType(Fixed((key, ListType(item)), ("grouper", "list")))


def matched(use: Use) -> Type:
    pattern = use.constant("pattern")
    return ListType(TEXT) if isinstance(pattern, str) and not _LOOSE_GROUP.search(pattern) else LIST


def mapped(use: Use) -> Type:
    item = item_of(use.operand)
    if not use.positional:
        return ListType(use.part(item, "attribute", default=use.given("default")))
    return ListType(use.applied_to_each(item))


def picked(use: Use) -> Type:
    return ListType(use.passing(item_of(use.operand)))


def summed(use: Use) -> Type:
    item = use.part(item_of(use.operand), "attribute")
    return use.added(use.given("start"), item)


def pairs(use: Use) -> Type:
    return ListType(Fixed((TEXT, _values_of(use.operand))))


def values(use: Use) -> Type:
    return ListType(_values_of(use.operand))


def _values_of(kind: Type) -> Type:
    found: list[Type] = []
    for option in options(kind):
        if isinstance(option, Record):
            found += [ANY] if option.open else [prop.type for prop in option.properties]
        else:
            found.append(option.item if isinstance(option, MapType) else ANY)
    return join(*found)


def got(use: Use) -> Type:
    key = use.constant("key")
    fallback = use.given("default") or NULL
    if not isinstance(key, str):
        return ANY
    found: list[Type] = []
    for option in options(use.operand):
        prop = option.get(key) if isinstance(option, Record) else None
        if prop is not None:
            found += [prop.type] if prop.required else [prop.type, fallback]
        else:
            found.append(fallback if isinstance(option, Record) and not option.open else ANY)
    return join(*found)


def made_object(use: Use) -> Type:
    if use.positional:
        return OBJECT
    return Record("", tuple(Property(name, kind) for name, kind in use.named.items()), open=False)


def three_texts(use: Use) -> Type:
    return Fixed((TEXT, TEXT, TEXT))
