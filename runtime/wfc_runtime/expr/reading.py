"""Templates that take Jinja's parser: with statements, calls, conditions, brackets, and with mistakes."""

from __future__ import annotations

from typing import Any

import jinja2

from . import nodes
from .errors import TemplateError
from .limits import ExprLimits
from .parser import TreeParser
from .scanner import Scanner
from .syntax import MACRO, Syntax


def read(text: str, limits: ExprLimits) -> Syntax:
    scanner = Scanner(text, limits)
    syntax = Syntax(text, scanner)
    try:
        scanner.scan()
        tree = nodes.Template(0, taken_over(TreeParser(scanner).subparse()))
        if "macro" in limits.statements:
            _mark_macros(tree)
        # A tree can't be deeper than it has tokens, so that most templates need no second look.
        if len(scanner.tokens) > limits.tree:
            _check_depth(syntax, tree, limits.tree)
    except TemplateError as error:
        syntax.error = error.with_traceback(None)
    except jinja2.TemplateSyntaxError as error:
        # The parser's own failures go through ours. This is for one that a later Jinja may add.
        syntax.error = TemplateError(error.message or "this can't be read", 0, len(text))
    except RecursionError:
        # The scanner's estimate keeps the parser far from this, unless the caller's own stack is nearly full.
        syntax.error = TemplateError("nested too deeply", 0, len(text))
    else:
        syntax.ast = tree
        syntax.lone = scanner.lone
    return syntax


def taken_over(body: list[jinja2.nodes.Node]) -> list[nodes.Node]:
    """Jinja's nodes as ours. It goes no deeper than one level at a time: a long sum is a deep tree."""
    found = list(body)
    for node in found:
        found += node.iter_child_nodes()
    ours: dict[int, nodes.Node] = {}

    def value_of(value: Any) -> Any:
        if isinstance(value, list):
            return [value_of(item) for item in value]
        return ours[id(value)] if isinstance(value, jinja2.nodes.Node) else value

    for node in reversed(found):
        kind = getattr(nodes, type(node).__name__)
        place = nodes.NOWHERE if node.lineno is None else node.lineno
        ours[id(node)] = kind(place, *(value_of(getattr(node, name)) for name in node.fields))
    return [ours[id(node)] for node in body]


def _mark_macros(tree: nodes.Template) -> None:
    defined = {macro.name for macro in tree.find_all(nodes.Macro)}
    for call in tree.find_all(nodes.Call) if defined else ():
        if isinstance(call.node, nodes.Name) and call.node.name in defined:
            call.node.ctx = MACRO


def _check_depth(syntax: Syntax, tree: nodes.Template, limit: int) -> None:
    level: list[nodes.Node] = [tree]
    for _ in range(limit):
        level = [child for node in level for child in node.children()]
        if not level:
            return
    start, end = syntax.token_span(level[0])
    raise TemplateError(f"too many operations inside each other: the limit is {limit}", start, end)
