"""Filters, tests and functions by name, and what those who come from elsewhere call them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from wfc.rules.shared.nearest import Nearest
from wfc.template import Template, Use
from wfc_runtime.expr import FILTERS, FUNCTIONS, TESTS, Builtin

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

    def __init__(self, kind: str, known: Mapping[str, Builtin]) -> None:
        self.kind = kind
        self._uses = f"{kind}s"
        self._known = known

    def wrong(self, template: Template) -> list[Use]:
        """Those uses of a template that name nothing."""
        uses: list[Use] = getattr(template, self._uses)
        return [use for use in uses if use.name not in self._known] if uses else uses

    def instead(self, name: str) -> tuple[str | None, str]:
        """The name that was probably meant, where it can just take the other's place, and a help line."""
        if name in _REFUSED[self.kind]:
            return None, f"Jinja's `{name}` is left out on purpose: {_REFUSED[self.kind][name]}"
        if name in _WORDS[self.kind]:
            return _WORDS[self.kind][name], f"did you mean `{_WORDS[self.kind][name]}`?"
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
