"""Parse templates. Equal texts are parsed once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jinja2 import nodes

from wfc.caching import cached, cached_property
from wfc.template.reads import Read, Use, Walk
from wfc_runtime.expr.errors import TemplateError
from wfc_runtime.expr.syntax import parse


class Template:
    """A text that may have tags. Look at `error` first: a template with an error has no tree and no reads."""

    language = "jinja"

    def __init__(self, text: str) -> None:
        # The runtime's own parser: what compiles here runs there.
        self._syntax = parse(text)
        self.text = text
        self.lone: bool = self._syntax.lone
        """Whether it is a single `{{ expression }}`, which yields the value itself."""
        self.ast: nodes.Template | None = self._syntax.ast
        self.error: TemplateError | None = self._syntax.error
        self.is_literal: bool = self._syntax.is_literal
        """Whether it is plain text, without tags."""
        self.expression: nodes.Expr | None = self._syntax.expression if self.lone else None
        """The expression of a lone `{{ }}`."""

    def __repr__(self) -> str:
        return f"Template({self.text!r})"

    @cached_property
    def _walk(self) -> Walk:
        return Walk(self._syntax)

    @cached_property
    def reads(self) -> list[Read]:
        """All references to names that the template does not bind itself, in source order."""
        return self._walk.reads

    @cached_property
    def filters(self) -> list[Use]:
        """The filters used, including those named in `map('...')`."""
        return self._walk.filters

    @cached_property
    def tests(self) -> list[Use]:
        """The tests used, including those named in `select('...')` and similar filters."""
        return self._walk.tests

    @cached_property
    def functions(self) -> list[Use]:
        """The names that are called, as in `now()`."""
        return self._walk.functions

    @property
    def forbidden(self) -> list[Use]:
        """Names that the sandbox of the language does not have, if the language knows them by name."""
        return []

    @property
    def blocks(self) -> list[Use]:
        """Blocks that were meant as objects, in a language that has both in the same braces."""
        return []

    @property
    def impure(self) -> list[Use]:
        """The functions whose values do not depend on what the template reads: the clock and ids."""
        return [use for use in self.functions if use.name in ("now", "uuid")]

    def token_span(self, node: nodes.Node) -> tuple[int, int]:
        """The offsets of the one token that names a node: an attribute's name, a filter's, a literal."""
        return self._syntax.token_span(node)

    def span(self, node: nodes.Node) -> tuple[int, int]:
        """The offsets of a whole expression."""
        return self._syntax.span(node)


@cached(4096)
def parse_template(text: str) -> Template:
    """Parse a template. It raises nothing: a text that can't be parsed has an `error`."""
    return Template(text)


# Conditions that exclude each other, because they compare one value with different constants.

Demand = tuple[str, Any, bool]
"""The source of an expression, a value, and whether the expression must or must not have that value."""

_TRUTH = object()
"""Stands for all values that count as true."""


def exclude_each_other(one: Template, other: Template) -> bool:
    """Whether two conditions never hold together, as far as their equality tests show it."""
    others = list(_demands(other, other.expression, True))
    return any(_conflict(mine, theirs) for mine in _demands(one, one.expression, True) for theirs in others)


def _conflict(one: Demand, other: Demand) -> bool:
    # Two negative demands exclude nothing, and a truth test can't be compared with a value.
    if one[0] != other[0] or not (one[2] or other[2]) or (one[1] is _TRUTH) != (other[1] is _TRUTH):
        return False
    # `1 == True` in Python.
    is_same = type(one[1]) is type(other[1]) and one[1] == other[1]
    return is_same if one[2] != other[2] else not is_same


def _demands(template: Template, node: nodes.Expr | None, holds: bool) -> Iterator[Demand]:
    """The demands that must be met for an expression to be true, or to be false."""
    match node:
        case None:
            return
        case nodes.Not():
            yield from _demands(template, node.node, not holds)
        case nodes.And() | nodes.Or():
            # If `and` holds, both operands do; if `or` does not, neither does. Otherwise nothing is certain.
            if isinstance(node, nodes.And) is holds:
                yield from _demands(template, node.left, holds)
                yield from _demands(template, node.right, holds)
        case nodes.Compare():
            yield from _equality(template, node, holds)
        case _:
            yield _source(template, node), _TRUTH, holds


def _equality(template: Template, node: nodes.Compare, holds: bool) -> Iterator[Demand]:
    word = node.ops[0].op
    if len(node.ops) > 1 or word not in ("eq", "ne"):
        return
    sides = (node.expr, node.ops[0].expr)
    for side, constant in (sides, sides[::-1]):
        if isinstance(constant, nodes.Const):
            # Either side may be the constant.
            yield _source(template, side), constant.value, (word == "eq") is holds


def _source(template: Template, node: nodes.Expr) -> str:
    start, end = template.span(node)
    return " ".join(template.text[start:end].split())
