"""The parser's shortcuts for names and attributes give the tree that Jinja's parser gives."""

import jinja2
import pytest
from jinja2.parser import Parser

from wfc_runtime.expr import DEFAULT_LIMITS
from wfc_runtime.expr import syntax as syntax_module
from wfc_runtime.expr.scanner import Scanner
from wfc_runtime.expr.syntax import parse

TEXTS = [
    "{{ state.build.exit_code }}",
    "{{ state.a['b'].c[0].d.0 | default('x', true) | upper }} and {{ item }}",
    "{{ true }} {{ none }} {{ False }} {{ x.true }} {{ not_a }} {{ iffy.and_ }}",
    "{{ f(a, b=c.d) }}{{ a.b(c).d }}{{ [a, b.c, {'k': d}] }}{{ (a,) }}{{ a, b }}",
    "{{ a is defined }} {{ a is divisibleby 3 }} {{ a is not none }}",
    "{{ a.b + 1 if not c.d or e in f else -g ** 2 }} {{ a ~ b.c }}",
    "{{ state.out[-2000:] }}{{ a.b[:5] | trim }}{{ a[1:-1] == b }}{{ a[:] }}",
    "{% for x in state.list if x.ok %}{{ loop.index }}: {{ x.name }}{% endfor %}",
    "{% set ns = namespace(n=0) %}{% set ns.n = ns.n + 1 %}{% set a, b = c.d %}{{ ns.n }}",
]


class WithoutShortcuts(syntax_module._Parser):
    parse_expression = Parser.parse_expression
    parse_primary = Parser.parse_primary
    parse_subscript = Parser.parse_subscript


@pytest.mark.parametrize("text", TEXTS)
def test_the_tree_and_its_positions_are_those_of_jinjas_parser(text: str) -> None:
    assert _tree(syntax_module._Parser, text) == _tree(WithoutShortcuts, text)


def test_no_node_has_an_environment_so_that_jinja_can_fold_no_constant() -> None:
    tree = parse("{{ 'a' * 10**10 }}").ast
    assert tree is not None
    [product] = tree.find_all(jinja2.nodes.Mul)
    with pytest.raises(RuntimeError, match="attached environment"):
        product.as_const()


def _tree(parser: type[syntax_module._Parser], text: str) -> object:
    scanner = Scanner(text, DEFAULT_LIMITS)
    scanner.scan()
    return [_shown(node) for node in parser(scanner).subparse()]


def _shown(value: object) -> object:
    """With the positions, which Jinja leaves out when it compares nodes."""
    if isinstance(value, list):
        return [_shown(item) for item in value]
    if isinstance(value, jinja2.nodes.Node):
        fields = {name: _shown(getattr(value, name)) for name in value.fields}
        return type(value).__name__, value.lineno, fields
    return value
