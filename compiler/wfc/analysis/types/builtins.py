"""Signatures of filters, tests, functions and methods, as data, and the types of their results.

A parameter is written `name: kinds`, with `?` after the name if it is optional. Kinds are those of `lattice.kind_of`; a
parameter without kinds accepts any value. The result is a type, or a function where it depends on the operand. A test
compares this table with the functions of the runtime.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jinja2 import nodes

from wfc.analysis.types.lattice import (
    DATE,
    MOMENT,
    NOTHING,
    UNDEFINED,
    base_of,
    item_of_list,
    join,
    kind_of,
    kinds_of,
    least_of,
    options,
    truthy,
    without,
)
from wfc.caching import pattern
from wfc.language.types import (
    ANY,
    BOOL,
    INT,
    LIST,
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
    Type,
    of_python,
)
from wfc.struct import struct
from wfc_runtime.contract import Report

if TYPE_CHECKING:
    from wfc.analysis.types.calls import Use


# Result types that depend on the value that a filter, function or method is applied to.

_LOOSE_GROUP = pattern(r"\)[?*{]|\|")
"""A pattern with a group that may not take part in a match, and is then null."""


def item_of(kind: Type) -> Type:
    """The type of an item in a loop over the value: an item, a key or a character."""
    return join(*map(_item_of, options(kind)))


def _item_of(option: Type) -> Type:
    match option:
        case ListType() | Fixed():
            return item_of_list(option)
        case MapType():
            # A loop over an object goes over its keys.
            return NOTHING if option.item == NOTHING else TEXT
        case Record():
            return TEXT
    if option in (NOTHING, NULL):
        return NOTHING
    return TEXT if kind_of(option) == "text" else ANY


def is_int(kind: Type) -> bool:
    return all(base_of(option) == INT for option in options(kind))


def is_fraction(node: nodes.Expr, kind: Type) -> bool:
    """Whether a number is never whole at run time: a literal such as 1.5, or a quotient, since `4 / 2` is 2.0."""
    if isinstance(node, nodes.Div):
        # Division never gives a whole number at run time, not even `4 / 2`.
        return all(base_of(option) in (INT, NUMBER) for option in options(kind))
    return all(isinstance(option, Exact) and isinstance(option.value, float) for option in options(kind))


def same_number(use: Use) -> Type:
    return INT if is_int(use.operand) else NUMBER


def rounded(use: Use) -> Type:
    # `ceil` and `floor` give floats, as in Jinja.
    return INT if is_int(use.operand) and use.given("method") is None else NUMBER


def converted_to_int(use: Use) -> Type:
    return join(INT, use.given("default") or INT)


def converted_to_number(use: Use) -> Type:
    return join(NUMBER, use.given("default") or NUMBER)


_CONVERTED: dict[str, Type] = {
    "str": TEXT,
    "int": INT,
    "float": NUMBER,
    "num": NUMBER,
    "bool": BOOL,
    "list": LIST,
    "dict": OBJECT,
}


def converted(use: Use) -> Type:
    return ANY if use.given("keep") is not None else _CONVERTED.get(str(use.constant("to")), ANY)


def scalars_as_text(use: Use) -> Type:
    kept = [ANY if kind_of(one) == "any" else one for one in options(use.operand)]
    return join(*(one if kind_of(one) in ("list", "object", "any") else TEXT for one in kept))


def defaulted(use: Use) -> Type:
    # With `boolean`, empty values are replaced as well.
    value = truthy(use.operand) if use.given("boolean") is not None else without(use.operand, UNDEFINED)
    return join(value, use.given("default_value") or TEXT)


def items(use: Use) -> Type:
    use.part(item_of(use.operand), "attribute")
    least = least_of(use.operand)
    # Removing duplicates leaves at least one item.
    return ListType(item_of(use.operand), min(least, 1) if use.name == "unique" else least)


def one_item(use: Use) -> Type:
    use.part(item_of(use.operand), "attribute")
    # Without items there is no such item; the caller reports that.
    return join(item_of(use.operand), NOTHING if least_of(use.operand) else UNDEFINED)


def joined(use: Use) -> Type:
    use.part(item_of(use.operand), "attribute")
    return TEXT


def reversed_(use: Use) -> Type:
    if kinds_of(use.operand) == {"text"}:
        return TEXT
    if "any" in kinds_of(use.operand):
        return ANY
    return ListType(item_of(use.operand), least_of(use.operand))


def batches(use: Use) -> Type:
    return ListType(ListType(join(item_of(use.operand), use.given("fill_with") or NOTHING)))


def groups(use: Use) -> Type:
    item = item_of(use.operand)
    key = use.part(item, "attribute", default=use.given("default"))
    return ListType(Fixed((key, ListType(item, 1)), ("grouper", "list")), min(least_of(use.operand), 1))


def matched(use: Use) -> Type:
    pattern = use.constant("pattern")
    # A group that takes part in every match is always text.
    return ListType(TEXT) if isinstance(pattern, str) and not _LOOSE_GROUP.search(pattern) else LIST


def mapped(use: Use) -> Type:
    item, least = item_of(use.operand), least_of(use.operand)
    if not use.positional:
        return ListType(use.part(item, "attribute", default=use.given("default")), least)
    return ListType(use.applied_to_each(item), least)


def picked(use: Use) -> Type:
    return ListType(use.passing(item_of(use.operand)))


def summed(use: Use) -> Type:
    item = use.part(item_of(use.operand), "attribute")
    return use.added(use.given("start"), item)


def parts(use: Use) -> Type:
    """The parts of a text. With a separator there is always one; between blanks there may be none."""
    return ListType(TEXT, 1 if isinstance(use.constant("sep"), str) else 0)


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
        elif isinstance(option, MapType):
            found += [option.item, fallback]
        else:
            # An open record may have the key although it is not declared.
            found.append(fallback if isinstance(option, Record) and not option.open else ANY)
    return join(*found)


def made_object(use: Use) -> Type:
    if use.positional:
        return OBJECT
    return Record("", tuple(Property(name, kind) for name, kind in use.named.items()), open=False)


def three_texts(use: Use) -> Type:
    return Fixed((TEXT, TEXT, TEXT))


Result = Type | Callable[[Any], Type]


@struct(frozen=True)
class Parameter:
    name: str
    takes: frozenset[str]
    required: bool


@struct(frozen=True)
class Signature:
    takes: frozenset[str]
    """The kinds of operand that it accepts; empty for any."""
    gives: Result
    parameters: tuple[Parameter, ...] = ()
    rest: bool = False
    """Whether it accepts any number of further arguments, including by name."""
    walks: bool = False
    """Whether it iterates over the operand. For a text, that would be its characters, which is reported."""


def _kinds(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _signature(
    takes: str, gives: Result, *parameters: str, rest: bool = False, walks: bool = False
) -> Signature:
    return Signature(_kinds(takes), gives, tuple(map(_parameter, parameters)), rest, walks)


def _parameter(text: str) -> Parameter:
    name, _, kinds = text.partition(":")
    return Parameter(name.rstrip("?"), _kinds(kinds), not name.endswith("?"))


_PRINTABLE = "text number bool date"
_SIZED = "text list object"
_NUMERIC = "number bool"
_TEXTS = ListType(TEXT)

_SHORTCOMINGS = Record("", (Property("problems", _TEXTS), Property("again", _TEXTS)), open=False)
_BY = ("case_sensitive?", "attribute?: text number null")

FILTERS: dict[str, Signature] = {
    "abs": _signature(_NUMERIC, same_number),
    "attr": _signature("", ANY, "name: text"),
    "batch": _signature(_SIZED, batches, "linecount: number", "fill_with?", walks=True),
    "bool": _signature("", BOOL),
    "capitalize": _signature(_PRINTABLE, TEXT),
    "center": _signature(_PRINTABLE, TEXT, "width?: number"),
    "condition": _signature("text bool null", BOOL),
    "truth": _signature("", BOOL),
    "convert": _signature("", converted, "to: text", "keep?"),
    "entries": _signature("list object", LIST),
    "keyed": _signature("list", OBJECT, "items: list"),
    "default": _signature("", defaulted, "default_value?", "boolean?"),
    "dictsort": _signature("object", pairs, "case_sensitive?", "by?: text", "reverse?"),
    "escape": _signature(_PRINTABLE, TEXT),
    "filesizeformat": _signature("number text bool", TEXT, "binary?"),
    "first": _signature(_SIZED, one_item),
    "float": _signature("text number bool null", converted_to_number, "default?"),
    "format": _signature(_PRINTABLE, TEXT, rest=True),
    "groupby": _signature(
        _SIZED, groups, "attribute: text number", "default?", "case_sensitive?", walks=True
    ),
    "hash": _signature("", TEXT),
    "indent": _signature(_PRINTABLE, TEXT, "width?: number text", "first?", "blank?"),
    "int": _signature("text number bool null", converted_to_int, "default?", "base?: number"),
    "items": _signature("object", pairs),
    "join": _signature(_SIZED, joined, f"d?: {_PRINTABLE}", "attribute?: text number null", walks=True),
    "last": _signature(_SIZED, one_item),
    "length": _signature(_SIZED, INT),
    "list": _signature(_SIZED, items),
    "lower": _signature(_PRINTABLE, TEXT),
    "map": _signature(_SIZED, mapped, rest=True, walks=True),
    "max": _signature(_SIZED, one_item, *_BY),
    "min": _signature(_SIZED, one_item, *_BY),
    "parse_json": _signature("text", ANY),
    "outcome": _signature("object null", Choice(("success", "failure", "n/a"))),
    "pprint": _signature("", TEXT),
    "random": _signature(_SIZED, one_item),
    "regex_findall": _signature("text", LIST, "pattern: text"),
    "regex_replace": _signature("text", TEXT, "pattern: text", "replacement?: text", "count?: number"),
    "regex_search": _signature("text", matched, "pattern: text"),
    "reject": _signature(_SIZED, picked, "test?: text null", rest=True, walks=True),
    "rejectattr": _signature(_SIZED, picked, "attribute: text", "test?: text null", rest=True, walks=True),
    "replace": _signature(_PRINTABLE, TEXT, "old: text", "new: text", "count?: number null"),
    "reverse": _signature(_SIZED, reversed_),
    "round": _signature(_NUMERIC, rounded, "precision?: number", "method?: text"),
    "safe": _signature(_PRINTABLE, TEXT),
    "reported": _signature("object null", of_python(Report)),
    "scalar_text": _signature("", scalars_as_text),
    "select": _signature(_SIZED, picked, "test?: text null", rest=True, walks=True),
    "selectattr": _signature(_SIZED, picked, "attribute: text", "test?: text null", rest=True, walks=True),
    "shortcomings": _signature(
        "object", _SHORTCOMINGS, "missing?: list null", "rule?: text", "outside?: list null"
    ),
    "shquote": _signature(f"{_PRINTABLE} list", TEXT),
    "slice": _signature(_SIZED, batches, "slices: number", "fill_with?", walks=True),
    "sort": _signature(_SIZED, items, "reverse?", *_BY),
    "split": _signature(_PRINTABLE, parts, "sep?: text null", "maxsplit?: number"),
    "string": _signature("", TEXT),
    "strip": _signature(_PRINTABLE, TEXT, "chars?: text null"),
    "striptags": _signature(_PRINTABLE, TEXT),
    "sum": _signature(_SIZED, summed, "attribute?: text number null", "start?", walks=True),
    "text": _signature("", TEXT),
    "title": _signature(_PRINTABLE, TEXT),
    "tojson": _signature("", TEXT, "indent?: number null"),
    "truncate": _signature(
        _PRINTABLE, TEXT, "length?: number", "killwords?", "end?: text", "leeway?: number"
    ),
    "unique": _signature(_SIZED, items, *_BY),
    "upper": _signature(_PRINTABLE, TEXT),
    "urlencode": _signature(f"{_PRINTABLE} list object", TEXT),
    "urlize": _signature(
        _PRINTABLE,
        TEXT,
        "trim_url_limit?: number null",
        "nofollow?",
        "target?: text null",
        "rel?: text null",
    ),
    "wordcount": _signature(_PRINTABLE, INT),
    "wordwrap": _signature(
        _PRINTABLE,
        TEXT,
        "width?: number",
        "break_long_words?",
        "wrapstring?: text null",
        "break_on_hyphens?",
    ),
    "xmlattr": _signature("object", TEXT, "autospace?"),
}
# The other names of the same filters.
FILTERS |= {
    other: FILTERS[name]
    for other, name in {
        "count": "length", "d": "default", "e": "escape", "forceescape": "escape", "trim": "strip"
    }.items()
}  # fmt: skip

TESTS: dict[str, Signature] = {
    **dict.fromkeys(
        ("boolean", "callable", "defined", "escaped", "false", "filter", "float", "integer", "iterable"),
        _signature("", BOOL),
    ),
    **dict.fromkeys(
        ("lower", "mapping", "none", "number", "sequence", "string", "test", "true", "undefined", "upper"),
        _signature("", BOOL),
    ),
    "ok": _signature("object null", BOOL),
    **dict.fromkeys(("odd", "even"), _signature(_NUMERIC, BOOL)),
    "divisibleby": _signature(_NUMERIC, BOOL, "by: number"),
    "in": _signature("", BOOL, "y: text list object"),
    "sameas": _signature("", BOOL, "other"),
    **dict.fromkeys(("eq", "equalto", "==", "ne", "!="), _signature("", BOOL, "other")),
    **dict.fromkeys(
        ("gt", "greaterthan", ">", "ge", ">=", "lt", "lessthan", "<", "le", "<="),
        _signature("number text list date bool", BOOL, "other: number text list date bool"),
    ),
}

FUNCTIONS: dict[str, Signature] = {
    "dict": _signature("", made_object, rest=True),
    "get": _signature("", ANY, "value", "key", "default?"),
    "namespace": _signature("", ANY, rest=True),
    "now": _signature("", MOMENT),
    "range": _signature("", ListType(INT), rest=True),
    "render": _signature("", TEXT, "template: text", "variables: object"),
    "secret": _signature("", TEXT, "name: text"),
    "uuid": _signature("", TEXT),
}

_TEXT_TESTS: tuple[str, ...] = (
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "isidentifier",
    "islower",
)
_TEXT_TESTS += ("isnumeric", "isspace", "istitle", "isupper")
_PAD = ("width: number", "fill?: text")
_SEARCH = ("sub: text", "start?: number", "end?: number")
_AFFIX = ("affix: text list", "start?: number", "end?: number")
_CUT = ("sep?: text null", "maxsplit?: number")

METHODS: dict[str, dict[str, Signature]] = {
    "text": {
        **dict.fromkeys(
            ("capitalize", "casefold", "lower", "swapcase", "title", "upper"), _signature("", TEXT)
        ),
        **dict.fromkeys(("lstrip", "rstrip", "strip"), _signature("", TEXT, "chars?: text null")),
        **dict.fromkeys(("removeprefix", "removesuffix"), _signature("", TEXT, "affix: text")),
        **dict.fromkeys(("count", "find", "index", "rfind", "rindex"), _signature("", INT, *_SEARCH)),
        **dict.fromkeys(("endswith", "startswith"), _signature("", BOOL, *_AFFIX)),
        **dict.fromkeys(_TEXT_TESTS, _signature("", BOOL)),
        **dict.fromkeys(("partition", "rpartition"), _signature("", three_texts, "sep: text")),
        **dict.fromkeys(("split", "rsplit"), _signature("", parts, *_CUT)),
        "splitlines": _signature("", _TEXTS, "keepends?"),
        **dict.fromkeys(("center", "ljust", "rjust", "zfill"), _signature("", TEXT, *_PAD)),
        "join": _signature("", TEXT, "items: list"),
        "replace": _signature("", TEXT, "old: text", "new: text", "count?: number"),
    },
    "object": {
        "get": _signature("", got, "key", "default?"),
        "items": _signature("", pairs),
        "keys": _signature("", _TEXTS),
        "values": _signature("", values),
    },
    "list": {
        "count": _signature("", INT, "item"),
        "index": _signature("", INT, "item"),
    },
    "date": {
        "date": _signature("", DATE),
        "isoformat": _signature("", TEXT, rest=True),
        "isoweekday": _signature("", INT),
        "strftime": _signature("", TEXT, "form: text"),
        "timestamp": _signature("", NUMBER),
        "weekday": _signature("", INT),
    },
    "loop": {
        "changed": _signature("", BOOL, rest=True),
        "cycle": _signature("", ANY, rest=True),
    },
}
"""The methods, by the kind of value that has them."""
