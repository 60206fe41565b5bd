"""Wording that messages share: how values are shown, and suggestions for wrong names and values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from unicodedata import combining, normalize

from wfc.caching import cached_property, pattern
from wfc.language.fields import (
    BLOCK,
    BOOLEAN,
    CONDITION,
    COUNT,
    DELAY,
    FACTOR,
    ID,
    NAME,
    NUMBER,
    OPTIONAL_TEXT,
    SECONDS,
    SIZE,
    STEPS,
    TEXT,
    WORD,
    Computed,
    FieldType,
    ListOf,
    MapOf,
    Mismatch,
    Nested,
    StepType,
)
from wfc.language.shape import INPUT_TYPE, INPUT_TYPES, Shape
from wfc.language.steps.base import HANDLERS, OnErrorType, UnknownStep
from wfc.language.steps.prompt import OPTION
from wfc.suggest import Nearest, nearest
from wfc.template import Template, Use
from wfc.yaml import Entry, Mapping, Node, Scalar, Sequence
from wfc.yaml.explain import excerpt
from wfc.yaml.nodes import resolve_plain
from wfc_runtime.expr import FILTERS, FUNCTIONS, TESTS, Builtin

_OTHER_BOOLEANS = ("on", "off", "yes", "no", "y", "n")
_SIGNS = frozenset("{}[]&*#?|<>=!%@`'\",:\\")


def label_of(shape: Shape) -> str:
    return "a step" if isinstance(shape, UnknownStep) else shape.label


def flow(value: Any) -> str:
    """A value as one line of YAML, quoted only if necessary."""
    match value:
        case str():
            return value if is_plain(value) else quote(value)
        case list():
            return f"[{', '.join(flow(item) for item in value)}]"
        case dict():
            return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


# Stricter than YAML 1.2, because other tools read the same files as YAML 1.1.
def is_plain(text: str) -> bool:
    """Whether the unquoted text is a string in every position and for every YAML parser."""
    return (
        bool(text)
        and text == text.strip()
        and text.isprintable()
        and resolve_plain(text) == text
        and text.lower() not in _OTHER_BOOLEANS
        and not text[0].isdigit()
        and text[0] != "-"
        and not _SIGNS & set(text)
    )


def quote(text: str) -> str:
    """The text in quotes, double quotes if possible."""
    # JSON's escapes are those of YAML's double quotes.
    if '"' in text and "\\" not in text and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return json.dumps(text, ensure_ascii=False)


_FILTER_WORDS = {
    "from_json": "parse_json",
    "fromjson": "parse_json",
    "json": "tojson",
    "len": "length",
    "lowercase": "lower",
    "quote": "shquote",
    "size": "length",
    "sorted": "sort",
    "str": "string",
    "to_json": "tojson",
    "uniq": "unique",
    "uppercase": "upper",
}
_TEST_WORDS = {
    "array": "sequence",
    "bool": "boolean",
    "contains": "in",
    "dict": "mapping",
    "equals": "equalto",
    "int": "integer",
    "list": "sequence",
    "null": "none",
    "object": "mapping",
    "str": "string",
    "text": "string",
}


_REFUSED_FUNCTIONS = {
    "cycler": "use `loop.cycle(...)` inside a `{% for %}`",
    "joiner": "use the filter `join`",
    "lipsum": "write the text itself",
}
_WORDS: dict[str, dict[str, str]] = {"filter": _FILTER_WORDS, "test": _TEST_WORDS, "function": {}}
_REFUSED: dict[str, dict[str, str]] = {"filter": {}, "test": {}, "function": _REFUSED_FUNCTIONS}


class BuiltinNames:
    """The names of one kind of builtin: filters, tests or functions."""

    def __init__(self, kind: str, known: dict[str, Builtin]) -> None:
        self.kind = kind
        self._uses = f"{kind}s"
        self._known = known

    def wrong(self, template: Template) -> list[Use]:
        """The uses of unknown names in a template."""
        uses: list[Use] = getattr(template, self._uses)
        return [use for use in uses if use.name not in self._known] if uses else uses

    def instead(self, name: str) -> tuple[str | None, str]:
        """The name that was probably meant, if it can simply replace the wrong one, and a help line."""
        if name in _REFUSED[self.kind]:
            return None, f"Jinja's `{name}` is not supported: {_REFUSED[self.kind][name]}"
        if name in _WORDS[self.kind]:
            return _WORDS[self.kind][name], f"did you mean `{_WORDS[self.kind][name]}`?"
        # A test used as a filter, for example: another notation is needed, and not another name.
        other = _of_another_kind(name)
        if other:
            return None, other
        near = self._nearest.to(name)
        return near, f"did you mean `{near}`?" if near else ""

    @cached_property
    def _nearest(self) -> Nearest:
        return Nearest(name for name in self._known if name.isidentifier())


def _of_another_kind(name: str) -> str:
    if name in FILTERS or name in _FILTER_WORDS:
        return f"it is a filter: write `value | {_FILTER_WORDS.get(name, name)}`"
    if name in TESTS:
        return f"it is a test: write `value is {name}`"
    return f"it is a function: write `{name}()`" if name in FUNCTIONS else ""


def builtin_names() -> tuple[BuiltinNames, ...]:
    return BuiltinNames("filter", FILTERS), BuiltinNames("test", TESTS), BuiltinNames("function", FUNCTIONS)


Advice = Callable[[str, FieldType[Any], Node], str]
"""What to write in a field, given its key, its type and its value; empty if there is no advice."""

_TEXTS: tuple[FieldType[Any], ...] = (WORD, TEXT, ID, NAME, OPTIONAL_TEXT)
_NUMBERS: tuple[FieldType[Any], ...] = (NUMBER, COUNT, SIZE, FACTOR, SECONDS, DELAY)
_YES = {"yes": "true", "on": "true", "y": "true", "true": "true", "1": "true"}
_NO = {"no": "false", "off": "false", "n": "false", "false": "false", "0": "false"}
_DURATION = pattern(
    r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)\s*", re.I
)
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def _no_template(key: str, kind: FieldType[Any], node: Node) -> str:
    # These settings are part of the generated module.
    if kind not in (*_NUMBERS, BOOLEAN) or not isinstance(node, Scalar) or "{{" not in node.text:
        return ""
    return f"`{key}` is fixed when the workflow is compiled and can't be an expression"


def _seconds(key: str, kind: FieldType[Any], node: Node) -> str:
    found = _DURATION.fullmatch(node.text) if kind in (SECONDS, DELAY) and isinstance(node, Scalar) else None
    if found is None:
        return ""
    unit = found[2].lower()
    seconds = float(found[1]) * _UNITS["ms" if unit == "ms" else unit[0]]
    return f"write the seconds as a bare number: `{key}: {seconds:.10g}`"


def _bare_number(key: str, kind: FieldType[Any], node: Node) -> str:
    if kind not in _NUMBERS or not isinstance(node, Scalar) or not isinstance(node.value, str):
        return ""
    # A number in quotes, or with separators.
    if not re.fullmatch(r"[0-9][0-9_]*(?:\.[0-9]+)?", node.text):
        return ""
    return f"write a bare number: `{key}: {node.text.replace('_', '')}`"


def _boolean(key: str, kind: FieldType[Any], node: Node) -> str:
    if kind is not BOOLEAN or not isinstance(node, Scalar):
        return ""
    word = {**_YES, **_NO}.get(node.text.strip().lower())
    return f"write `{word}`" if word else ""


def _quotes(key: str, kind: FieldType[Any], node: Node) -> str:
    if (
        (kind not in _TEXTS and kind is not OPTION)
        or not isinstance(node, Scalar)
        or node.value is None
        or isinstance(node.value, str)
    ):
        return ""
    return f"quote it, so that it is text: `{quote(node.text)}`" if kind is not NAME else ""


def _name(key: str, kind: FieldType[Any], node: Node) -> str:
    if kind not in (ID, NAME) or not isinstance(node, Scalar) or not isinstance(node.value, str):
        return ""
    gap = "-" if kind is ID else "_"
    plain = "".join(char for char in normalize("NFKD", node.text) if not combining(char))  # Remove accents.
    made = re.sub(r"[^A-Za-z0-9_]+", gap, plain.replace("ß", "ss")).strip("-_")
    is_name = bool(made) and len(made) <= 100 and (kind is ID or not made[0].isdigit())
    signs = (
        "letters, digits, `-`, `_`, `.` and `:`" if kind is ID else "letters, digits and `_`, a letter first"
    )
    return f"use {signs}, at most 100 characters" + (f": `{made}`" if is_name else "")


def _condition(key: str, kind: FieldType[Any], node: Node) -> str:
    return 'write an expression, such as "{{ inputs.force }}"' if kind is CONDITION else ""


SCALAR_ADVICE: tuple[Advice, ...] = (
    _no_template,
    _seconds,
    _bare_number,
    _boolean,
    _quotes,
    _name,
    _condition,
)


_TYPE_NAMES = {
    "string": ("str", "text", "char", "date", "path", "url", "enum", "choice"),
    "number": ("float", "double", "decimal", "numeric"),
    "integer": ("int", "long", "whole", "count"),
    "boolean": ("bool", "flag"),
    "array": ("list", "sequence", "tuple", "set"),
    "object": ("dict", "map", "mapping", "record", "json", "struct"),
}
_GOTO = pattern(r"(?i)go[ _-]?to\b[:\s]*")
_TYPE_OF = {name: kind for kind, names in _TYPE_NAMES.items() for name in names}


class Hints:
    """Advice on the value of one field."""

    def __init__(self, entry: Entry, kind: FieldType[Any]) -> None:
        self._key = entry.key.text
        # An expression fits a computed field, so a value that does not fit it was meant as a plain one.
        kind = kind.inner if isinstance(kind, Computed) else kind
        # By the identity of spans, since a mismatch names its place by the span.
        self._parts = {id(node.span): (node, inner) for node, inner in _parts(entry.value, kind)}
        self._whole = (entry.value, kind)

    def on(self, bad: Mismatch) -> str:
        """The most specific advice for a value that the field does not accept."""
        node, kind = self._parts.get(id(bad.span), self._whole)
        # The first that applies; the order is from the specific to the general.
        return next((text for advise in _ADVICE if (text := advise(self._key, kind, node))), bad.help)


def _parts(value: Node, kind: FieldType[Any]) -> Iterator[tuple[Node, FieldType[Any]]]:
    """The values in a list or mapping, each with the type that is expected there."""
    if isinstance(kind, ListOf) and isinstance(value, Sequence):
        yield from ((item, kind.item) for item in value.items)
    elif isinstance(kind, MapOf) and isinstance(value, Mapping):
        for entry in value.entries:
            yield from ((entry.key, kind.key or kind.item), (entry.value, kind.item))
            yield from _parts(entry.value, kind.item)
    yield value, kind


def _brackets(key: str, kind: FieldType[Any], node: Node) -> str:
    if not isinstance(kind, ListOf) or isinstance(kind.item, StepType) or not isinstance(node, Scalar):
        return ""
    if node.value is None:
        return f"write `{key}: []`, or omit it" if not kind.least else ""
    # A text with commas is most likely a list.
    items = [part.strip() for part in node.text.split(",")]
    is_short = len(node.text) <= 60 and "{{" not in node.text and all(items)
    return f"write a list: `{key}: {flow(items)}`" if is_short else "write a list: `[...]`"


def _steps(key: str, kind: FieldType[Any], node: Node) -> str:
    if isinstance(kind, StepType):
        return "a step is a mapping: `- id: ...`, followed by `type: ...` and its fields"
    if kind not in (STEPS, BLOCK) or isinstance(node, Sequence):
        return ""
    return "write a list: each step begins with `- id: ...`"


def _input_type(key: str, kind: FieldType[Any], node: Node) -> str:
    word = node.text.strip().lower() if isinstance(node, Scalar) else ""
    if kind is INPUT_TYPE:
        found = _TYPE_OF.get(word)
        return f"did you mean `{found}`?" if found else ""
    if not isinstance(kind, Nested) or kind.schema() != _AN_INPUT:
        return ""
    found = word if word in INPUT_TYPES else _TYPE_OF.get(word)
    return f"write `{{type: {found}}}`" if found else "write a mapping: `{type: string}`"


def _failure(key: str, kind: FieldType[Any], node: Node) -> str:
    if isinstance(kind, Nested) and kind.schema() == _A_RETRY and isinstance(node, Scalar):
        # `true` is an int for Python.
        count = node.value if isinstance(node.value, int) and node.value is not True and node.value > 0 else 3
        return f"write `{key}: {{max_attempts: {count}}}`"
    if not isinstance(kind, OnErrorType) or not isinstance(node, Scalar) or not isinstance(node.value, str):
        return ""
    if node.text.strip().lower() in ("retry", "again"):
        return "to try again, add `retry: {max_attempts: 3}` to the step"
    near = _HANDLER_OF.get(node.text.strip().lower()) or nearest(node.text, HANDLERS)
    if near:
        return f"did you mean `{near}`?"
    # The quoted texts `goto done` and `goto: done` also name the step.
    step = _GOTO.sub("", node.text.strip(" {}"), count=1)
    return f"to continue with a step, write `{{goto: {excerpt(step) or '<step>'}}}`"


_HANDLER_OF = {
    **dict.fromkeys(("ignore", "skip", "next", "resume", "pass", "proceed"), "continue"),
    **dict.fromkeys(("stop", "abort", "exit", "raise", "error"), "fail"),
}


def _nothing(key: str, kind: FieldType[Any], node: Node) -> str:
    is_nothing = isinstance(node, Scalar) and node.value is None and not node.text
    return "write a value, or omit the key" if is_nothing else ""


_A_RETRY = {"$ref": "#/definitions/Retry"}
_AN_INPUT = {"$ref": "#/definitions/InputDecl"}
_ADVICE: tuple[Advice, ...] = (*SCALAR_ADVICE, _brackets, _steps, _input_type, _failure, _nothing)
