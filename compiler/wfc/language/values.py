"""Values of fields with the node that each came from, and the state that their templates read.

Values are never modified.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jinja2 import nodes

from wfc.caching import cached, cached_property
from wfc.struct import struct
from wfc.template import Read, Template, parse_template
from wfc.yaml import Mapping, Node, Scalar, Sequence, Span

_LONGEST_QUOTE = 60


# Values are compared by identity: equal texts at two places are two values, even in sets and as keys.
@struct(eq=False, slots=True)
class Word:
    """A name or other literal text."""

    node: Scalar

    @property
    def text(self) -> str:
        return self.node.text

    @property
    def span(self) -> Span:
        return self.node.span


@struct(eq=False, slots=True)
class Literal:
    """A number or a boolean."""

    node: Scalar

    @property
    def value(self) -> Any:
        return self.node.value

    @property
    def span(self) -> Span:
        return self.node.span


@struct(eq=False)
class Text:
    """Text that may have `{{ }}`, or a plain scalar in a field that takes an expression."""

    node: Scalar

    @property
    def span(self) -> Span:
        return self.node.span

    @property
    def data(self) -> Any:
        """The value in the generated module: the text verbatim, or the value of the scalar."""
        return self.node.value

    @property
    def is_text(self) -> bool:
        return isinstance(self.node.value, str)

    @cached_property
    def template(self) -> Template:
        return template_of(self.node.text if self.is_text else "", self.node.language)

    def at(self, start: int, end: int) -> Span:
        return self.node.at(start, end)

    def quote(self, node: nodes.Node) -> str:
        """An expression of the template as its author wrote it, on one line and cut if it is long, for messages."""
        return quoted(self.node.excerpt(*self.template.span(node)))


def template_of(text: str, language: str) -> Template:
    """A text with holes, parsed in the language of its expressions."""
    if language == "javascript":
        # Imported here: few files need it.
        from wfc.javascript import parse_script_template

        return parse_script_template(text)
    return parse_template(text)


def quoted(expression: str) -> str:
    words = " ".join(expression.split())
    return words if len(words) <= _LONGEST_QUOTE else words[: _LONGEST_QUOTE - 3] + "..."


@struct(eq=False)
class Tree:
    """Any JSON value. Its strings may have `{{ }}`."""

    node: Node

    @property
    def span(self) -> Span:
        return self.node.span

    @cached_property
    def data(self) -> Any:
        return plain(self.node)

    @cached_property
    def texts(self) -> list[Text]:
        return [Text(scalar) for scalar in _strings(self.node)]


class Constant(Tree):
    """A value that is never rendered: `{{` in it is only text."""

    @property
    def texts(self) -> list[Text]:
        return []


def plain(node: Node) -> Any:
    """The node as plain JSON data."""
    match node:
        case Scalar():
            return node.value
        case Sequence():
            return [plain(item) for item in node.items]
        case Mapping():
            return {entry.key.text: plain(entry.value) for entry in node.entries}


def _strings(node: Node) -> Iterator[Scalar]:
    match node:
        case Scalar():
            if isinstance(node.value, str):
                yield node
        case Sequence():
            for item in node.items:
                yield from _strings(item)
        case Mapping():
            for entry in node.entries:
                yield from _strings(entry.value)


@struct(frozen=True)
class StateUse:
    fields: dict[str, list[Read]]
    """The fields that it names, each with all its reads."""
    whole: bool
    """Whether it may read any field, as `state | tojson` and `state[name]` do."""


@cached(4096)
def state_use(template: Template) -> StateUse:
    fields: dict[str, list[Read]] = {}
    whole = False
    for read in template.reads:
        if read.root != "state":
            continue
        first = read.path[0] if read.path else None
        # `state.items()` calls a method, which may read everything; it does not name a field `items`.
        if first is not None and isinstance(first.name, str) and not first.called:
            fields.setdefault(first.name, []).append(read)
        else:
            whole = True
    return StateUse(fields, whole)
