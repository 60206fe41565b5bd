"""The lattice of types: additional terms, join, narrowing, and how a type is stored, generated and described.

`NOTHING` is the bottom of the lattice, the type of a value that no path has produced yet, and `ANY` is the top. `join`
gives the least type that covers both operands; inference joins the types that reach a point from several definitions.
Chains are short: exact values are merged after a few (`_MOST_EXACT`) and nesting is cut at `_DEEPEST`, so a fixpoint
over a loop is reached after a few rounds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from wfc.language import types
from wfc.language.types import (
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
from wfc.yaml import Mapping, Node, Scalar, Sequence

UNDEFINED = Simple("undefined")
"""The type of a value that is missing. Only `default` and `is defined` accept one."""
NOTHING = Simple("nothing")
"""The bottom: no value has been seen yet, as for the items of `[]` or a field computed only from itself."""
DATE = Simple("date")
MOMENT = Simple("moment")
"""A date with a time, the result of `now()`."""

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
    """The alternatives of a union; any other type is its own only alternative."""
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
    """Whether no alternative is `ANY`: findings are reported for known types only."""
    if isinstance(kind, Union):
        return ANY not in kind.options and NOTHING not in kind.options
    return kind is not ANY and kind is not NOTHING


def base_of(option: Type) -> Type:
    """The general type of an exact value: `int` for `1`."""
    return _BASES[option.kind] if isinstance(option, Exact) else option


def join(*kinds: Type) -> Type:
    """The least type that covers all of them. Unlike a plain union, it keeps null and undefined beside any."""
    first = kinds[0] if kinds else NOTHING
    # Fast paths: inference joins the same types over and over.
    if len(kinds) < 2 or all(kind is first or kind == first for kind in kinds[1:]):
        return first
    # Joining to the bottom gives the other operand. A union takes the long way, since it may contain NOTHING itself.
    if len(kinds) == 2 and first is NOTHING and type(kinds[1]) is not Union:
        return kinds[1]
    flat = dict.fromkeys([option for kind in kinds for option in options(kind)])
    # No value has been seen on that path, so it adds no alternative.
    flat.pop(NOTHING, None)
    if ANY in flat:
        # Null and undefined are kept, so that a value of unknown type can still be reported as maybe missing.
        flat = {option: None for option in (ANY, NULL, UNDEFINED) if option in flat}
    elif len(flat) > 1:
        flat = dict.fromkeys(_merged(list(flat)))
    return Union(tuple(flat)) if len(flat) > 1 else next(iter(flat), NOTHING)


def _merged(found: list[Type]) -> Iterable[Type]:
    """The alternatives without those that others cover. Lists are merged, and many exact values become their base."""
    values = [option for option in found if isinstance(option, Exact)]
    plain: list[Type] = [option for option in found if not isinstance(option, Exact)]
    # Both booleans are no more exact than `bool`. Many exact values are widened: a counter would add one per round.
    if len(values) > _MOST_EXACT or {True, False} <= {v.value for v in values if v.kind == "bool"}:
        plain += dict.fromkeys(base_of(value) for value in values)
        values = []
    # Every int is a number, so keeping both would let equal types compare as different.
    if NUMBER in plain or (INT in plain and any(value.kind == "float" for value in values)):
        plain = [NUMBER, *(option for option in plain if option not in (NUMBER, INT))]
    covered = {kind_of(option) for option in plain if isinstance(option, Simple)}
    plain = [option for option in plain if not (isinstance(option, Choice) and "text" in covered)]
    # Lists of different items become one list of the union: the state of a loop would otherwise grow one alternative
    # per round.
    rows = [option for option in plain if isinstance(option, ListType | Fixed)]
    if len(rows) > 1:
        plain = [option for option in plain if option not in rows]
        plain.append(ListType(join(*map(item_of_list, rows)), min(map(least_of, rows))))
    records = [option for option in plain if isinstance(option, Record)]
    if len(records) > 1:
        others = [option for option in plain if not isinstance(option, Record)]
        alike = _merged_records(records)
        # Too many different shapes say no more than that the value is an object.
        plain = [*others, *alike] if len(alike) <= _MOST_RECORDS else [OBJECT, *others]
    return [*plain, *(value for value in values if kind_of(value) not in covered)]


def _merged_records(records: list[Record]) -> list[Record]:
    """Merge records that have the same property names."""
    groups: dict[object, list[Record]] = {}
    for record in records:
        # Only records with the same names are merged. Merging others would make every property optional and lose what
        # the conditions of a path can tell apart.
        names = frozenset(prop.name for prop in record.properties)
        groups.setdefault((record.name, record.open, record.loose, names), []).append(record)
    return [same[0] if len(same) == 1 else _merged_record(same) for same in groups.values()]


def _merged_record(records: list[Record]) -> Record:
    first, *others = records
    properties = []
    for prop in first.properties:
        parts = [prop, *(found for record in others if (found := record.get(prop.name)))]
        # A property that one of the records may lack may be missing from the merged one.
        needed = all(part.required for part in parts)
        properties.append(Property(prop.name, join(*(part.type for part in parts)), needed))
    return Record(first.name, tuple(properties), first.open, first.loose, first.declared)


def item_of_list(row: ListType | Fixed) -> Type:
    return row.item if isinstance(row, ListType) else join(*row.items)


def least_of(kind: Type) -> int:
    """The number of items or characters that a value has at least."""
    match kind:
        case ListType():
            return kind.least
        case Fixed():
            return len(kind.items)
        case Exact(value=str(text)):
            return len(text)
        case Choice():
            return min(map(len, kind.values))
        case Union():
            return min(map(least_of, kind.options))
    return 0


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
    """The part of a type for which a test of the value is true."""
    if isinstance(kind, Union):
        return join(*map(truthy, kind.options))
    # A list that tested true has at least one item, which makes `| first` safe.
    if isinstance(kind, ListType) and not kind.least:
        return ListType(kind.item, 1)
    return NOTHING if kind is NULL or kind is UNDEFINED or _is_false(kind) else kind


def falsy(kind: Type) -> Type:
    if isinstance(kind, Union):
        return join(*(option for option in kind.options if not always_true(option)))
    return NOTHING if always_true(kind) else kind


def _is_false(option: Type) -> bool:
    return isinstance(option, Exact) and not option.value


def always_true(option: Type) -> bool:
    """Whether every value of the type is true: none is empty, zero or null."""
    if isinstance(option, Simple):
        return option is DATE or option is MOMENT
    if isinstance(option, Record):
        # An object is false only if it is empty, which a required property rules out.
        return any(prop.required for prop in option.properties)
    if isinstance(option, Exact):
        return bool(option.value)
    if isinstance(option, Choice):
        return all(option.values)
    return isinstance(option, Fixed) and bool(option.items)


# Types for other purposes: as part of the state, in a generated module, in a message.

_DEEPEST = 6


def widened(kind: Type) -> Type:
    """The type without exact values: a list of `1` and `2` becomes a list of ints."""
    match kind:
        case Union():
            return join(*map(widened, kind.options))
        case ListType():
            return ListType(widened(kind.item), kind.least)
        case Record() if not kind.name:
            return _with_properties(kind, widened)
    return base_of(kind)


def stored(kind: Type, depth: int = _DEEPEST) -> Type:
    """The type of a value after it was written to the state, which holds JSON. Deep nesting becomes any."""
    if depth == 0:
        return ANY
    if isinstance(kind, Simple):
        # The state is JSON, which has no dates: they are stored as ISO text.
        return TEXT if kind is DATE or kind is MOMENT else kind
    match kind:
        case Union():
            return join(*(stored(option, depth) for option in kind.options if option != UNDEFINED))
        case ListType():
            return ListType(stored(kind.item, depth - 1), kind.least)
        case Fixed():
            return Fixed(tuple(stored(item, depth - 1) for item in kind.items))
        case MapType():
            return MapType(stored(kind.item, depth - 1))
        # A named record is a result of the contract, which is JSON already and never nested deeply.
        case Record() if not kind.name:
            return _with_properties(kind, lambda part: stored(part, depth - 1))
    return kind


def plain(kind: Type) -> Type:
    """The type as a generated module declares it: `1` is an int, and an unknown type is any."""
    match kind:
        case Union():
            return types.union(*(plain(option) for option in kind.options if option != UNDEFINED))
        case ListType():
            return ListType(plain(kind.item))
        case Fixed():
            return ListType(types.union(*map(plain, kind.items)) if kind.items else ANY)
        case MapType():
            return MapType(plain(kind.item))
        case Record() if not kind.name:
            return _with_properties(kind, plain)
        case Exact():
            return base_of(kind)
    return kind if not isinstance(kind, Simple) or kind.name in _PLAIN else ANY


_PLAIN = frozenset({"text", "int", "number", "bool", "null", "any"})


def _with_properties(record: Record, change: Callable[[Type], Type]) -> Record:
    properties = tuple(Property(prop.name, change(prop.type), prop.required) for prop in record.properties)
    return Record(record.name, properties, record.open, record.loose, record.declared)


WORDS = {
    "text": "text", "number": "a number", "bool": "a boolean", "null": "null", "list": "a list",
    "object": "an object", "date": "a date", "undefined": "undefined", "nothing": "nothing", "any": "a value",
}  # fmt: skip


def describe(kind: Type) -> str:
    """A type as messages name it."""
    return " or ".join(dict.fromkeys(_describe(option) for option in options(kind)))


def _describe(option: Type) -> str:
    if isinstance(option, Record) and option.name and option.name != "Loop":
        words = re.sub(r"(?<!^)(?=[A-Z])", " ", option.name).lower()
        return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"
    return WORDS[kind_of(option)]


# Types of values in the file: literals, and trees of them with templates in their strings.


def tree_type(node: Node, text_type: Callable[[Scalar], Type]) -> Type:
    """The type of a value of the file; `text_type` gives the types of the strings in it."""
    match node:
        case Scalar():
            if isinstance(node.value, str):
                return text_type(node)
            return NULL if node.value is None else exact(node.value)
        case Sequence():
            items = [tree_type(item, text_type) for item in node.items]
            return ListType(join(*items), len(items)) if items else EMPTY_LIST
        case Mapping():
            parts = {entry.key.text: tree_type(entry.value, text_type) for entry in node.entries}
            properties = tuple(Property(name, kind) for name, kind in parts.items())
            return Record("", properties, open=False) if parts else EMPTY_OBJECT


def literal_type(node: Node, *, exactly: bool) -> Type:
    """The type of a value without templates; with `exactly`, the value itself.

    A field that no step writes is a setting, which may be edited: its type is not exact, so that conditions on it are
    not reported as constant.
    """
    kind = tree_type(node, lambda scalar: exact(scalar.text))
    return kind if isinstance(node, Scalar) and exactly else widened(kind)
