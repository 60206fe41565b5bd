"""What filters, tests, functions and methods take and give, as data.

A parameter is written `name: kinds`, with `?` behind the name where it may be left out. The kinds are those
of `terms.kind_of`; no kinds means that anything will do. What a use gives is a type, or a function of
`results` where it depends on what it is used on. A test holds this table against the runtime's own functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wfc.core.types import ANY, BOOL, INT, LIST, NUMBER, TEXT, ListType, Type
from wfc.infer import results
from wfc.infer.terms import DATE, MOMENT
from wfc.structs import struct

Result = Type | Callable[[Any], Type]


@struct(frozen=True)
class Parameter:
    name: str
    takes: frozenset[str]
    required: bool


@struct(frozen=True)
class Signature:
    takes: frozenset[str]
    """The kinds that it can be used on; empty for any."""
    gives: Result
    parameters: tuple[Parameter, ...] = ()
    rest: bool = False
    """Whether it takes further arguments, as many as one likes, also by name."""
    walks: bool = False
    """Whether it goes through items one by one: of a text that would be its characters."""


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

_BY = ("case_sensitive?", "attribute?: text number null")

FILTERS: dict[str, Signature] = {
    "abs": _signature(_NUMERIC, results.same_number),
    "attr": _signature("", ANY, "name: text"),
    "batch": _signature(_SIZED, results.batches, "linecount: number", "fill_with?", walks=True),
    "bool": _signature("", BOOL),
    "capitalize": _signature(_PRINTABLE, TEXT),
    "center": _signature(_PRINTABLE, TEXT, "width?: number"),
    "condition": _signature("text bool null", BOOL),
    "truth": _signature("", BOOL),
    "convert": _signature("", results.converted, "to: text"),
    "default": _signature("", results.defaulted, "default_value?", "boolean?"),
    "dictsort": _signature("object", results.pairs, "case_sensitive?", "by?: text", "reverse?"),
    "escape": _signature(_PRINTABLE, TEXT),
    "filesizeformat": _signature("number text bool", TEXT, "binary?"),
    "first": _signature(_SIZED, results.one_item),
    "float": _signature("text number bool null", results.converted_to_number, "default?"),
    "format": _signature(_PRINTABLE, TEXT, rest=True),
    "groupby": _signature(
        _SIZED, results.groups, "attribute: text number", "default?", "case_sensitive?", walks=True
    ),
    "hash": _signature("", TEXT),
    "indent": _signature(_PRINTABLE, TEXT, "width?: number text", "first?", "blank?"),
    "int": _signature("text number bool null", results.converted_to_int, "default?", "base?: number"),
    "items": _signature("object", results.pairs),
    "join": _signature(
        _SIZED, results.joined, f"d?: {_PRINTABLE}", "attribute?: text number null", walks=True
    ),
    "last": _signature(_SIZED, results.one_item),
    "length": _signature(_SIZED, INT),
    "list": _signature(_SIZED, results.items),
    "lower": _signature(_PRINTABLE, TEXT),
    "map": _signature(_SIZED, results.mapped, rest=True, walks=True),
    "max": _signature(_SIZED, results.one_item, *_BY),
    "min": _signature(_SIZED, results.one_item, *_BY),
    "parse_json": _signature("text", ANY),
    "pprint": _signature("", TEXT),
    "random": _signature(_SIZED, results.one_item),
    "regex_findall": _signature("text", LIST, "pattern: text"),
    "regex_replace": _signature("text", TEXT, "pattern: text", "replacement?: text", "count?: number"),
    "regex_search": _signature("text", results.matched, "pattern: text"),
    "reject": _signature(_SIZED, results.picked, "test?: text null", rest=True, walks=True),
    "rejectattr": _signature(
        _SIZED, results.picked, "attribute: text", "test?: text null", rest=True, walks=True
    ),
    "replace": _signature(_PRINTABLE, TEXT, "old: text", "new: text", "count?: number null"),
    "reverse": _signature(_SIZED, results.reversed_),
    "round": _signature(_NUMERIC, results.rounded, "precision?: number", "method?: text"),
    "safe": _signature(_PRINTABLE, TEXT),
    "scalar_text": _signature("", results.scalars_as_text),
    "select": _signature(_SIZED, results.picked, "test?: text null", rest=True, walks=True),
    "selectattr": _signature(
        _SIZED, results.picked, "attribute: text", "test?: text null", rest=True, walks=True
    ),
    "shquote": _signature(f"{_PRINTABLE} list", TEXT),
    "slice": _signature(_SIZED, results.batches, "slices: number", "fill_with?", walks=True),
    "sort": _signature(_SIZED, results.items, "reverse?", *_BY),
    "split": _signature(_PRINTABLE, _TEXTS, "sep?: text null", "maxsplit?: number"),
    "string": _signature("", TEXT),
    "strip": _signature(_PRINTABLE, TEXT, "chars?: text null"),
    "striptags": _signature(_PRINTABLE, TEXT),
    "sum": _signature(_SIZED, results.summed, "attribute?: text number null", "start?", walks=True),
    "text": _signature("", TEXT),
    "title": _signature(_PRINTABLE, TEXT),
    "tojson": _signature("", TEXT, "indent?: number null"),
    "truncate": _signature(
        _PRINTABLE, TEXT, "length?: number", "killwords?", "end?: text", "leeway?: number"
    ),
    "unique": _signature(_SIZED, results.items, *_BY),
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
    "dict": _signature("", results.made_object, rest=True),
    "namespace": _signature("", ANY, rest=True),
    "now": _signature("", MOMENT),
    "range": _signature("", ListType(INT), rest=True),
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
        **dict.fromkeys(("partition", "rpartition"), _signature("", results.three_texts, "sep: text")),
        **dict.fromkeys(("split", "rsplit"), _signature("", _TEXTS, *_CUT)),
        "splitlines": _signature("", _TEXTS, "keepends?"),
        **dict.fromkeys(("center", "ljust", "rjust", "zfill"), _signature("", TEXT, *_PAD)),
        "join": _signature("", TEXT, "items: list"),
        "replace": _signature("", TEXT, "old: text", "new: text", "count?: number"),
    },
    "object": {
        "get": _signature("", results.got, "key", "default?"),
        "items": _signature("", results.pairs),
        "keys": _signature("", _TEXTS),
        "values": _signature("", results.values),
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
"""By the kind of value that has them."""
