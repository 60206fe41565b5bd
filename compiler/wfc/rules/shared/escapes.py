"""Attempts to get at Python from a template, told apart once for the rules that would otherwise all speak up."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wfc.caching import pattern
from wfc.struct import struct
from wfc.template import Template
from wfc_runtime.expr import nodes

_DUNDER = pattern(r"__\w+?__")
_FORMAT = pattern(r"\{[^{}]*__\w")
_WITH_ATTRIBUTE = frozenset(
    {"attr", "groupby", "join", "map", "max", "min", "rejectattr", "selectattr", "sort", "sum", "unique"}
)


@struct(frozen=True)
class Escape:
    name: str
    start: int
    end: int
    filter: tuple[int, int] | None = None
    """Where the filter `attr` stands, if it is one."""


def escapes_in(template: Template) -> Iterator[Escape]:
    if "_" not in template.text:
        return
    error = template.error
    if error is not None:
        name = template.text[error.start : error.end]
        if name.startswith("_") and "begins with an underscore" in error.message:
            yield Escape(name, error.start, error.end)
    elif template.ast is not None and "__" in template.text:
        yield from _in_tree(template, template.ast)


def _in_tree(template: Template, tree: nodes.Template) -> Iterator[Escape]:
    for item in tree.find_all(nodes.Getitem):
        yield from _constant(template, item.arg, _DUNDER)
    for used in tree.find_all(nodes.Filter):
        if used.name in _WITH_ATTRIBUTE:
            place = template.token_span(used) if used.name == "attr" else None
            for argument in (*used.args, *(word.value for word in used.kwargs)):
                yield from _constant(template, argument, _DUNDER, place)
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Getattr) and call.node.attr in ("format", "format_map"):
            yield from _constant(template, call.node.node, _FORMAT)


def _constant(
    template: Template, node: nodes.Node, form: re.Pattern[str], place: tuple[int, int] | None = None
) -> Iterator[Escape]:
    if isinstance(node, nodes.Const) and isinstance(node.value, str) and form.search(node.value):
        found = _DUNDER.search(node.value)
        yield Escape(found[0] if found else node.value, *template.token_span(node), place)
