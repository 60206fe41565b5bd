"""From text to Jinja's tree, and from any node of the tree back to the text.

`parse` raises nothing: a text that can't be read comes back with its error. Nothing is evaluated here, not
even constants.
"""

from __future__ import annotations

from typing import cast

from jinja2 import TemplateSyntaxError, nodes

from .errors import TemplateError
from .limits import DEFAULT_LIMITS, ExprLimits
from .parser import TreeParser
from .plain import read_plain
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
        number = node.lineno or 0
        if isinstance(node, nodes.Getattr):
            return number + 1
        if isinstance(node, nodes.Test):
            return number + (2 if self._tokens[number + 1].key == "name:not" else 1)
        if isinstance(node, nodes.Compare):
            # Jinja gives a comparison the place *after* it.
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
            if item.lineno is not None:
                number = self.token(item)
                first = min(first, number if isinstance(item, nodes.Compare) else item.lineno)
                last = max(last, number + _dotted(item))
            todo += children_of(item)
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


def children_of(node: nodes.Node) -> list[nodes.Node]:
    """What stands directly in a node. Jinja's own walk through the fields takes several times as long."""
    found: list[nodes.Node] = []
    for name in node.fields:
        value = getattr(node, name, None)
        if isinstance(value, nodes.Node):
            found.append(value)
        elif isinstance(value, list):
            found += [item for item in value if isinstance(item, nodes.Node)]
    return found


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
    scanner = Scanner(text, limits)
    syntax = Syntax(text, scanner)
    try:
        scanner.scan()
        tree = nodes.Template(TreeParser(scanner).subparse(), lineno=0)
        if "macro" in limits.statements:
            _mark_macros(tree)
        # A tree can't be deeper than it has tokens, so that most templates need no second look.
        if len(scanner.tokens) > limits.tree:
            _check_depth(syntax, tree, limits.tree)
    except TemplateError as error:
        syntax.error = error.with_traceback(None)
    except TemplateSyntaxError as error:
        # The parser's own failures go through ours. This is for one that a later Jinja may add.
        syntax.error = TemplateError(error.message or "this can't be read", 0, len(text))
    except RecursionError:
        # The scanner's estimate keeps the parser far from this, unless the caller's own stack is nearly full.
        syntax.error = TemplateError("nested too deeply", 0, len(text))
    else:
        syntax.ast = tree
        syntax.lone = scanner.lone
    return syntax


def _mark_macros(tree: nodes.Template) -> None:
    defined = {macro.name for macro in tree.find_all(nodes.Macro)}
    for call in tree.find_all(nodes.Call) if defined else ():
        if isinstance(call.node, nodes.Name) and call.node.name in defined:
            call.node.ctx = MACRO


def _check_depth(syntax: Syntax, tree: nodes.Template, limit: int) -> None:
    level: list[nodes.Node] = [tree]
    for _ in range(limit):
        level = [child for node in level for child in children_of(node)]
        if not level:
            return
    start, end = syntax.token_span(level[0])
    raise TemplateError(f"too many operations inside each other: the limit is {limit}", start, end)
