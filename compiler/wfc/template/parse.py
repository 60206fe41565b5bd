"""Reading a template once, however often its text occurs."""

from __future__ import annotations

from wfc.lazy import lazy, remembered
from wfc_runtime.expr import nodes
from wfc_runtime.expr.errors import TemplateError
from wfc_runtime.expr.syntax import parse

from .model import Read, Use
from .walk import Walk


class Template:
    """A text that may have holes. Look at `error` first: with one there is no tree, and nothing is read."""

    def __init__(self, text: str) -> None:
        self._syntax = parse(text)
        self.text = text
        self.lone: bool = self._syntax.lone
        """Is it a single `{{ expression }}`, which yields the value itself?"""
        self.ast: nodes.Template | None = self._syntax.ast
        self.error: TemplateError | None = self._syntax.error
        self.is_literal: bool = self._syntax.is_literal
        """Is it plain text, without holes?"""
        self.expression: nodes.Expr | None = self._syntax.expression if self.lone else None
        """What stands in a lone `{{ }}`."""

    def __repr__(self) -> str:
        return f"Template({self.text!r})"

    @lazy
    def _walk(self) -> Walk:
        return Walk(self._syntax)

    @lazy
    def reads(self) -> list[Read]:
        """All references to names that the template does not bind itself, in order of place."""
        return self._walk.reads

    @lazy
    def filters(self) -> list[Use]:
        """The filters used, also those named in `map('...')`."""
        return self._walk.filters

    @lazy
    def tests(self) -> list[Use]:
        """The tests used, also those named in `select('...')` and its kin."""
        return self._walk.tests

    @lazy
    def functions(self) -> list[Use]:
        """The names that are called, as in `now()`."""
        return self._walk.functions

    def token_span(self, node: nodes.Node) -> tuple[int, int]:
        """The offsets of the one token that names a node: an attribute's name, a filter's, a literal."""
        return self._syntax.token_span(node)

    def span(self, node: nodes.Node) -> tuple[int, int]:
        """The offsets of a whole expression."""
        return self._syntax.span(node)


@remembered(4096)
def parse_template(text: str) -> Template:
    """Read a template. Any text will do: what can't be read has an `error`."""
    return Template(text)
