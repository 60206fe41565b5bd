"""The shorter ways through Jinja's parser lead to the very tree that it makes itself."""

import pytest
from jinja2 import nodes
from jinja2.parser import Parser

from wfc_runtime.expr.limits import DEFAULT_LIMITS
from wfc_runtime.expr.parser import TreeParser
from wfc_runtime.expr.scanner import Scanner

TEXTS = [
    "{{ state.build.exit_code }}",
    "{{ state.a['b'].c[0].d.0 | default('x', true) | upper }} and {{ item }}",
    "{{ true }} {{ none }} {{ False }} {{ x.true }} {{ not_a }} {{ iffy.and_ }}",
    "{{ f(a, b=c.d) }}{{ a.b(c).d }}{{ [a, b.c, {'k': d}] }}{{ (a,) }}{{ a, b }}",
    "{{ a is defined }} {{ a is divisibleby 3 }} {{ a is not none }}",
    "{{ a.b + 1 if not c.d or e in f else -g ** 2 }} {{ a ~ b.c }}",
    "{% for x in state.list if x.ok %}{{ loop.index }}: {{ x.name }}{% endfor %}",
    "{% set ns = namespace(n=0) %}{% set ns.n = ns.n + 1 %}{% set a, b = c.d %}{{ ns.n }}",
]


class Unhurried(TreeParser):
    parse_expression = Parser.parse_expression
    parse_primary = Parser.parse_primary
    parse_subscript = Parser.parse_subscript


@pytest.mark.parametrize("text", TEXTS)
def test_the_tree_is_the_one_that_jinja_makes(text: str) -> None:
    assert _tree(TreeParser, text) == _tree(Unhurried, text)


def _tree(parser: type[TreeParser], text: str) -> object:
    scanner = Scanner(text, DEFAULT_LIMITS)
    scanner.scan()
    return [_shown(node) for node in parser(scanner).subparse()]


def _shown(value: object) -> object:
    """With the places, which nodes leave out when they are compared."""
    if isinstance(value, list):
        return [_shown(item) for item in value]
    if isinstance(value, nodes.Node):
        fields = {name: _shown(getattr(value, name)) for name in value.fields}
        return type(value).__name__, value.lineno, value.environment, fields
    return value
