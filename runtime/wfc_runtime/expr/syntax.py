"""From text to its tree, and from any node of the tree back to the text.

`parse` raises nothing: a text that can't be read comes back with its error. Nothing is evaluated here, not
even constants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from . import nodes
from .errors import TemplateError
from .limits import DEFAULT_LIMITS, ExprLimits
from .plain import read_plain

if TYPE_CHECKING:
    from .scanner import Scanner

MACRO = "macro"
"""Marks the name in a call of what the text itself defines."""


class Syntax:
    """A text and its tree. `ast` and `error` are both None for a text without holes."""

    __slots__ = ("_closers", "_ends", "_partners", "_starts", "_tokens", "ast", "error", "lone", "text")

    def __init__(self, text: str, scanner: Scanner | None = None) -> None:
        self.text = text
        self.ast: nodes.Template | None = None
        self.error: TemplateError | None = None
        self.lone = False
        self._tokens = scanner.tokens if scanner else []
        self._starts = scanner.starts if scanner else []
        self._ends = scanner.ends if scanner else []
        self._closers = scanner.closers if scanner else {}
        self._partners: dict[int, int] = {}

    @property
    def is_literal(self) -> bool:
        """Is it plain text, with no holes at all?"""
        return self.ast is None and self.error is None

    @property
    def expression(self) -> nodes.Expr:
        """What stands in a lone `{{ }}`."""
        assert self.ast is not None
        outputs = cast(nodes.Output, self.ast.body[0]).nodes
        return next(node for node in outputs if not isinstance(node, nodes.TemplateData))

    def token(self, node: nodes.Node) -> int:
        """The number of the token that names the node: its name, literal or bracket."""
        number = max(node.lineno, 0)
        if isinstance(node, nodes.Getattr):
            return number + 1
        if isinstance(node, nodes.Test):
            return number + (2 if self._tokens[number + 1].key == "name:not" else 1)
        if isinstance(node, nodes.Compare):
            # A comparison has the place *after* it.
            return self.token(node.expr)
        return number

    def token_span(self, node: nodes.Node) -> tuple[int, int]:
        """The offsets of the token that names the node; a filter's or test's name may be several, with dots."""
        number = self.token(node)
        return self._starts[number], self._ends[number + _dotted(node)]

    def number_span(self, number: int) -> tuple[int, int]:
        """The offsets of the token with this number."""
        return self._starts[number], self._ends[number]

    def is_bracket(self, number: int) -> bool:
        """Does this token open a bracket?"""
        return number in self._closers

    def closer(self, number: int) -> int:
        """The number of the token that closes this bracket."""
        return self._closers[number]

    def span(self, node: nodes.Node) -> tuple[int, int]:
        """The offsets of a whole expression or statement head, with the brackets that belong to it."""
        first, last = len(self._starts), -1
        todo = [node]
        while todo:
            item = todo.pop()
            if item.lineno != nodes.NOWHERE:
                number = self.token(item)
                first = min(first, number if isinstance(item, nodes.Compare) else item.lineno)
                last = max(last, number + _dotted(item))
            todo += item.children()
        if last < 0:
            return 0, len(self.text)
        first, last = self._balance(first, last)
        return self._starts[first], self._ends[last]

    def _balance(self, first: int, last: int) -> tuple[int, int]:
        """Widen a range of tokens until each bracket in it has its partner."""
        if not self._partners:
            openers = {closer: opener for opener, closer in self._closers.items()}
            self._partners = self._closers | openers
        number = first
        while number <= last:
            partner = self._partners.get(number, number)
            if partner < first:
                first = number = partner
            last = max(last, partner)
            number += 1
        return first, last


def _dotted(node: nodes.Node) -> int:
    """How many tokens of its name come after the first one: none of ours has a dot, but `a.b` can be written."""
    return 2 * node.name.count(".") if isinstance(node, (nodes.Filter, nodes.Test)) else 0


def is_template(text: str) -> bool:
    """Could the text have holes? If not, it stands for itself."""
    return "{" in text and ("{{" in text or "{%" in text or "{#" in text)


def parse(text: str, limits: ExprLimits = DEFAULT_LIMITS) -> Syntax:
    """Read a template. Look at `error` before anything else."""
    if not is_template(text):
        return Syntax(text)
    plain = read_plain(text, limits)
    if plain is not None:
        syntax = Syntax(text)
        syntax.ast, syntax._starts, syntax._ends, syntax._closers, syntax.lone = plain
        return syntax
    # What only Jinja can read brings its parser with it, which takes long to import.
    from .reading import read

    return read(text, limits)
