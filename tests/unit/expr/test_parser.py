"""The shorter ways through Jinja's parser lead to the very tree that it makes itself."""

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2.parser import Parser

from wfc_runtime.expr import nodes
from wfc_runtime.expr.errors import TemplateError
from wfc_runtime.expr.limits import DEFAULT_LIMITS, ExprLimits
from wfc_runtime.expr.parser import TreeParser
from wfc_runtime.expr.plain import read_plain
from wfc_runtime.expr.reading import taken_over
from wfc_runtime.expr.scanner import Scanner
from wfc_runtime.expr.syntax import is_template, parse

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
PLAIN = [
    "{{ state.build.exit_code }}",
    "\n {{item}}\t",
    "make {{ inputs.a | trim|shquote  }} to {{ state.b_2.c }}!",
    "{{\u2003a.b\n|upper }}}",
    "{{ state.build.exit_code != 0 }}",
    "{{ a.b | length>=c.d }}{{ a == 'it ]]' }} {{ a <\"x\" }}",
    "{{ state.n + 1 }} and {{ a.n -b }}",
    "{{ state.out[-2000:] }}{{ a.b[:5] | trim }}{{ a[1:-1] == b }}{{ a[:] }}",
]
NOT_PLAIN = [
    "{{ a }} {{ b }",
    "{{ a }} {{ b[0] }}",
    "{{ a[1:2:3] }}",
    "{{ a[b:] }}",
    "{{ a[1:2].c }}",
    "{{ a }}{# b #}",
    "{{- a }}",
    "{{ a -}}",
    "{{ true }}",
    "{{ not }}",
    "{{ a.if }}",
    "{{ a | is }}",
    "{{ a._b }}",
    "{{ é }}",
    "{{ a == true }}",
    "{{ a == 'it' ~ b }}",
    "{{ a == 'not' }}",
    "{{ a == 'a\\n' }}",
    "{{ a + 1 + 2 }}",
    "{{ a + 01 }}",
    "{{ a + 1.5 }}",
    "{{ a + b | c }}",
    "{{ a = 1 }}",
    "{{ a }}" * 121,
    "{{ a }}" + " " * DEFAULT_LIMITS.template,
]
PIECES = [
    "{{",
    "}}",
    " ",
    "\n",
    "state",
    ".a",
    ".b_1",
    "| trim",
    "|upper",
    "true",
    "not ",
    "text",
    "{",
    "}",
    "[",
    "-5",
    ":",
    "]",
    "==",
    ">",
    "+ ",
    "7",
    "'x'",
    '"',
    "-",
    "%}",
]


class Unhurried(TreeParser):
    parse_expression = Parser.parse_expression
    parse_primary = Parser.parse_primary
    parse_subscript = Parser.parse_subscript


@pytest.mark.parametrize("text", TEXTS)
def test_the_tree_is_the_one_that_jinja_makes(text: str) -> None:
    assert _tree(TreeParser, text) == _tree(Unhurried, text)


@pytest.mark.parametrize("text", PLAIN)
def test_a_plain_template_is_read_without_tokens(text: str) -> None:
    assert read_plain(text, DEFAULT_LIMITS) is not None
    assert _read(text) == _read_by_tokens(text)


@pytest.mark.parametrize("text", NOT_PLAIN)
def test_what_may_mean_something_else_is_left_to_the_parser(text: str) -> None:
    assert read_plain(text, DEFAULT_LIMITS) is None


def test_a_plain_template_above_a_limit_is_left_to_the_scanner_which_explains_it() -> None:
    assert read_plain("{{ a.b.c }}", ExprLimits(tokens=5)) is None
    assert parse("{{ a.b.c }}", ExprLimits(tokens=5)).error is not None


@given(st.lists(st.sampled_from([*PIECES, *PLAIN]), min_size=1, max_size=9).map("".join))
def test_however_a_template_is_read_its_tree_and_places_are_the_same(text: str) -> None:
    if is_template(text):
        assert _read(text) == _read_by_tokens(text)


@pytest.mark.parametrize("text", TEXTS)
def test_the_children_of_a_node_are_those_that_jinja_finds(text: str) -> None:
    scanner = Scanner(text, DEFAULT_LIMITS)
    scanner.scan()
    theirs = jinja2.nodes.Template(TreeParser(scanner).subparse())
    ours = nodes.Template(0, taken_over(theirs.body))
    for node, same in zip(ours.find_all(nodes.Node), theirs.find_all(jinja2.nodes.Node), strict=True):
        assert _shown(node.children()) == _shown(list(same.iter_child_nodes()))


def _read(text: str) -> object:
    found = parse(text)
    if found.ast is None:
        return str(found.error)
    places = [found.number_span(number) for number in range(len(found._starts))]
    return _shown(found.ast.body), places, found._closers, found.lone


def _read_by_tokens(text: str) -> object:
    scanner = Scanner(text, DEFAULT_LIMITS)
    try:
        scanner.scan()
        body = TreeParser(scanner).subparse()
    except TemplateError as error:
        return str(error)
    places = list(zip(scanner.starts, scanner.ends, strict=True))
    return _shown(body), places, scanner.closers, scanner.lone


def _tree(parser: type[TreeParser], text: str) -> object:
    scanner = Scanner(text, DEFAULT_LIMITS)
    scanner.scan()
    return [_shown(node) for node in parser(scanner).subparse()]


def _shown(value: object) -> object:
    """With the places, which nodes leave out when they are compared."""
    if isinstance(value, list):
        return [_shown(item) for item in value]
    if isinstance(value, nodes.Node | jinja2.nodes.Node):
        fields = {name: _shown(getattr(value, name)) for name in value.fields}
        return type(value).__name__, nodes.NOWHERE if value.lineno is None else value.lineno, fields
    return value
