"""Whatever a template tries, it ends as an ExpressionError: soon, small, and with the context untouched."""

import copy
import resource
import sys
from typing import Any

import pytest

from tests.counting import calls_of
from wfc_runtime.expr import ExpressionError, ExprLimits

from .support import ev

MIB = 1024 * 1024
BIG = "x" * 1_000_000
DOUBLE = "{% set n = namespace(x=START) %}{% for i in range(99) %}{% set n.x = GROW %}{% endfor %}{{ n.x }}"
TWINS = (
    "{% set n = namespace(x=[1], y=[1]) %}{% for i in range(60) %}"
    "{% set n.x = [n.x, n.x] %}{% set n.y = [n.y, n.y] %}{% endfor %}"
)
LIKE = "('x' * 250000 ~ 'y' ~ 'x' * 250000)"

ESCAPES = [
    "{{ ''.__class__.__mro__ }}",
    "{{ state['__class__'] }}",
    "{{ ''['__class__'] }}",
    "{{ '' | attr('__class__') }}",
    "{{ [''] | map('attr', '__class__') | list }}",
    "{{ [''] | map(attribute='__class__') | list }}",
    "{{ [state] | sort(attribute='__class__') }}",
    "{{ [state] | groupby('__class__') }}",
    "{{ [state] | selectattr('__class__.__mro__') | list }}",
    "{{ '{0.__class__}'.format(state) }}",
    "{{ '{a.__class__}'.format_map({'a': state}) }}",
    "{{ '%s' % state.__class__ }}",
    "{{ self }}{{ self._TemplateReference__context }}",
    "{{ cycler.__init__.__globals__ }}",
    "{{ joiner }}",
    "{{ lipsum(5) }}",
    "{{ namespace.__init__.__globals__ }}",
    "{{ namespace().fields }}",
    "{{ dict.fromkeys([1]) }}",
    "{{ range.mro() }}",
    "{{ now().__reduce__() }}",
    "{{ now().tzinfo.utc }}",
    "{{ caller() }}{{ varargs }}{{ kwargs }}",
    "{{ environment }}{{ context }}{{ resolve }}",
    "{{ loop.__class__ }}",
    "{% for x in [1] %}{{ loop._iterable }}{% endfor %}",
    "{% for x in [1] %}{{ loop['_iterable'] }}{% endfor %}",
    "{{ state.list.append(3) }}",
    "{{ state.list.clear() }}",
    "{{ state.update({'a': 1}) }}",
    "{{ state.setdefault('a', 1) }}",
    "{{ state.pop('list') }}",
    "{% set state.list = 1 %}",
    "{% set x = state %}{% set x.list = 1 %}",
    "{% include 'x' %}",
    "{% import 'os' as os %}",
    "{% from 'os' import path %}",
    "{% extends 'x' %}",
    "{% block x %}{% endblock %}",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    "{% filter upper %}a{% endfilter %}",
    "{% call f() %}{% endcall %}",
    "{% autoescape true %}{% endautoescape %}",
    "{{ f(*state.list) }}",
    "{{ dict(**state) }}",
]

BOMBS = [
    "{{ range(10**9) }}",
    "{{ range(10**30) }}",
    "{{ 'a' * 10**9 }}",
    "{{ 10**9 * [0] }}",
    "{{ 'a' * 2**4000 }}",
    "{{ 10 ** (10 ** 9) }}",
    "{{ 2 ** 99999999 }}",
    "{{ 2.0 ** 99999999 }}",
    "{{ 'x' | center(10**9) }}",
    "{{ ('x' * 10**6) | wordwrap(1) }}",
    "{{ ('x ' * 10**5) | wordwrap(1, wrapstring='y' * 1000) }}",
    "{{ 'x'.zfill(10**9) }}",
    "{{ 'x' | indent(10**9) }}",
    "{{ '%1000000000d' | format(1) }}",
    "{{ '%.1000000000f' | format(1) }}",
    "{{ state.big | replace('x', state.big) }}",
    "{{ state.big | replace('', state.big) }}",
    "{{ state.big.replace('x', 'yyyy').replace('y', 'zzzz') }}",
    "{{ state.big ~ state.big }}",
    "{{ state.big + state.big }}",
    "a {{ state.big }}",
    "{{ [state.big, state.big] }}",
    "{{ ([state.big] * 100000) | join }}",
    "{{ ([state.big] * 100000) | tojson }}",
    "{{ ([state.big] * 100000) | sort }}",
    "{{ ([state.big] * 100000) | unique }}",
    "{{ ([state.big] * 100000) | map('upper') }}",
    "{{ ([state.big] * 100000) | map('hash') | list }}",
    "{{ ([state.big] * 100000) | select('in', [state.big ~ '']) | list }}",
    "{{ state.big | list }}",
    "{{ state.big.split('x') }}",
    "{{ ('a ' * 500000).split() }}",
    "{{ (range(100000) | list) + (range(100000) | list) }}",
    "{{ range(90000) | map('string') | map('center', 1000) | list }}",
    "{{ range(90000) | batch(1) | batch(1) | tojson(indent=16) }}",
    "{{ ('[' * 500000 ~ ']' * 500000) | parse_json }}",
    "{{ ('[' ~ '1,' * 500000 ~ '1]') | parse_json }}",
    "{% for a in range(9999) %}" * 3 + "{% endfor %}" * 3,
    "{% for a in range(9999) %}{% for b in range(9999) %}xxxxxxxx{% endfor %}{% endfor %}",
    "{% for a in range(9999) %}{% set x = range(99999) | list %}{% endfor %}",
    "{% for a in range(9999) %}{% set x = state.big | upper %}{% endfor %}",
    "{% for a in range(99999) %}{{ state.big.find('y') }}{% endfor %}",
    "{% for a in range(99999) if state.big is upper %}{% endfor %}{{ state ~ state }}",
    DOUBLE.replace("START", "'a'").replace("GROW", "n.x + n.x"),
    DOUBLE.replace("START", "'a'").replace("GROW", "n.x ~ n.x"),
    DOUBLE.replace("START", "[1]").replace("GROW", "n.x + n.x"),
    DOUBLE.replace("START", "[1]").replace("GROW", "[n.x, n.x]"),
    DOUBLE.replace("START", "[1]").replace("GROW", "{'a': n.x, 'b': n.x}"),
    DOUBLE.replace("START", "9").replace("GROW", "n.x * n.x"),
    DOUBLE.replace("START", "'ab'").replace("GROW", "n.x | replace('a', n.x)"),
    DOUBLE.replace("range(99)", "range(99999)").replace("START", "[]").replace("GROW", "[n.x]"),
    TWINS + "{{ n.x == n.y }}",
    TWINS + "{{ n.x < n.y }}",
    TWINS + "{{ n.x in [n.y] }}",
    TWINS + "{{ [n.y].index(n.x) }}",
    TWINS + "{{ [n.x, n.y] | sort }}",
    TWINS + "{{ [n.x, n.y] | unique }}",
    TWINS + "{{ n.x | hash }}",
    TWINS + "{{ n.x ~ '' }}",
    "{% set n = namespace() %}{% set n.a = [n] %}{{ n.a }}",
    "{{ state.big | regex_search('(.?){1000}y') }}",
    "{{ state.big | regex_search('(a{1000}){1000}') }}",
    "{{ state.big | regex_replace('x', state.big) }}",
    "{{ state.big | regex_findall('') }}",
    "{{ state.big | regex_findall('x') }}",
    "{{ 'a' | regex_search('(' * 1500) }}",
    "{{ ('b' ~ 'x' * 99999) | regex_replace('(x+)', '\\\\1' * 100000) }}",
    "{{ ('b' ~ 'x' * 9999) | regex_replace('(?P<a>x+)', '\\\\g<a>' * 50000) }}",
    "{{ ('b' ~ 'x' * 50000) | regex_search('(' * 900 ~ 'x+' ~ ')' * 900) }}",
    "{{ ([[[]] * 100000] * 100000) | shquote }}",
    "{{ ([['a' * 1000] * 1000] * 1000) | shquote }}",
    TWINS + "{{ n.x | shquote }}",
    "{{ [[10 ** 1000] * 100000] * 4 }}",
    "{{ ([[10 ** 1000] * 100000] * 4) | string }}",
    "{{ ([[10 ** 1000] * 100000] * 4) | tojson }}",
    "{{ ([[10 ** 1000] * 100000] * 4) | hash }}",
    "{{ ([[10 ** 1000] * 100000] * 4) ~ '' }}",
    "{{ ([10 ** 1000] * 100000) | unique }}",
    "{{ ([10 ** 1000] * 100000) | map('string') | list | length }}",
    "{{ ([10 ** 1000] * 100000) | map('round', -1) | list | length }}",
    "{{ (['%d'] * 100000) | map('format', 10 ** 1000) | list | length }}",
    "{{ (['%x'] * 100000) | map('format', 10 ** 1000) | list | length }}",
    "{{ range(10 ** 1000, 10 ** 1000 + 99999) | length }}",
    "{{ range(-(10 ** 1000), 99999 - 10 ** 1000) | length }}",
    "{{ ([('[' ~ ('9' * 4000 ~ ',') * 200 ~ '1]') | parse_json] * 2000) | string }}",
    "{{ ([('[' ~ ('9' * 4000 ~ ',') * 200 ~ '1]') | parse_json] * 2000) | tojson }}",
    "{{ [('[' ~ ('9' * 4000 ~ ',') * 200 ~ '1]') | parse_json] * 2000 }}",
    "{{ now().strftime('%Y' * 400000) }}",
    "{{ ('a\\r' * 500000) | indent(1000) }}",
    "{{ ('a\u2028' * 50000) | indent('x' * 9999) }}",
    "{{ '%.000000000999999999d' | format(1) }}",
    "{{ '%.000000000999999999f' | format(1.5) }}",
    "{{ ('%' ~ '0' * 1000000 ~ 'q') | format(1) }}",
    "{{ ([[state.big, 'b']] * 100000) | urlencode }}",
    "{{ ([range(100000)] * 100) | urlencode }}",
    "{{ ('€' * 500000) | urlencode }}",
    "{{ ('b' * 1000000).strip('a' * 999999 ~ 'b') }}",
    "{{ state.big | strip('a' * 999999 ~ 'x') }}",
    "{{ state.big.rfind(LIKE) }}",
    "{{ state.big.rindex(LIKE) }}",
    "{{ state.big.rpartition(LIKE) }}",
    "{{ state.big.rsplit(sep=LIKE) }}",
    "{{ state.big.startswith([LIKE] * 99999) }}",
    "{{ ('`' * 1000000) | parse_json }}",
    "{{ (' ' * 999999) | parse_json }}",
    "{% for i in range(9999) %}{{ state.big | float }}{% endfor %}",
    "{% for i in range(9999) if state.big is lower %}{% endfor %}{{ state ~ state }}",
    "{{ state.nothing[state.big] }}",
    "{{ state[state.big] }}",
    "{{ [state] | map(attribute=state.big) | list }}",
    "{{ [state] | map(state.big) | list }}",
    "{{ [state] | select(state.big) | list }}",
    "{{ 1 | " + "x" * 99_999 + " }}",
    "{{ 1." + "x" * 99_999 + "() }}",
    "{{ [1] | map(attribute='a', " + "x" * 99_999 + "=1) }}",
    "{{ " + "x" * 99_999 + " }}",
    "{{ " + "\u0301" * 99_999 + " }}",
    "{{ " + "(" * 1000 + "1" + ")" * 1000 + " }}",
    "{{ " + "[" * 1000 + "]" * 1000 + " }}",
    "{{ " + "{'a': " * 1000 + "1" + "}" * 1000 + " }}",
    "{{ " + "state[" * 1000 + "0" + "]" * 1000 + " }}",
    "{{ " + "f(" * 1000 + ")" * 1000 + " }}",
    "{{ " + "not " * 5000 + "1 }}",
    "{{ " + "-" * 5000 + "1 }}",
    "{{ 1" + "+1" * 10_000 + " }}",
    "{{ 1" + " and 1" * 5000 + " }}",
    "{{ 1" + " if 1 else 1" * 5000 + " }}",
    "{{ state" + ".a" * 5000 + " }}",
    "{{ state" + "['a']" * 5000 + " }}",
    "{{ 1" + " | string" * 5000 + " }}",
    "{{ 1 is " + "not " * 5000 + "odd }}",
    "{% if 1 %}" * 1000 + "{% endif %}" * 1000,
    "{% for a in [1] %}" * 1000 + "{% endfor %}" * 1000,
    "{{ 1 }}" * 30_000,
    "{{ " + "9" * 100_000 + " }}",
    "{{ '" + "a" * 300_000 + "' }}",
]


def peak_memory() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


@pytest.mark.parametrize("text", ESCAPES, ids=range(len(ESCAPES)))
def test_there_is_no_way_out(text: str) -> None:
    state = {"list": [1, 2]}
    before = copy.deepcopy(state)
    with pytest.raises(ExpressionError):
        ev(text, state=state)
    assert state == before


@pytest.mark.parametrize("text", BOMBS, ids=range(len(BOMBS)))
def test_bombs_do_not_go_off(text: str) -> None:
    state: dict[str, Any] = {"big": BIG}
    memory = peak_memory()
    said: list[str] = []

    def explode() -> None:
        with pytest.raises(ExpressionError) as caught:
            ev(text.replace("LIKE", LIKE), state=state)
        said.append(str(caught.value))

    assert calls_of(explode) < 5_000_000
    assert peak_memory() - memory < 64 * MIB
    assert len(said[0]) < 600
    assert state == {"big": BIG}


@pytest.mark.parametrize("pattern", ["(x+x+)+y", "(x|x)*y", "(x*)*y", "x*x*x*x*x*x*y", "(.*)(.*)(.*)(.*)y"])
def test_no_pattern_is_catastrophic(pattern: str) -> None:
    # A backtracking engine would not come to an end here.
    assert ev("{{ state.big | regex_search(pattern) }}", state={"big": BIG}, pattern=pattern) == []


AB = "".join("ab"[bits.bit_count() % 2] for bits in range(100_000))
"""Without a period: a pattern that counts back comes into ever new states."""
LOOKING_AHEAD = [
    (BIG, "(x.*y)|x"),
    (BIG, "x.*y|x"),
    (BIG, "x(?:x*y)?"),
    (BIG, "(x)(.*y)?"),
    (BIG, "(?:x[^;]*;)*x"),
    (BIG, "(?s)(?:x.*y)?x"),
    (BIG, "x{0,900}y|x"),
    (AB, "(?:[ab]*a[ab]{12}c)|[ab]"),
    (AB, "(?:[ab]*a[ab]{14}c)|[ab]"),
    (AB, "(?:[ab]*a[ab]{40}c)|[ab]"),
    (AB, "(?:[ab]{0,400}a[ab]{14}c)|[ab]"),
    (AB, "(?:[ab]{0,40}a[ab]{14}c)|[ab]"),
    (AB, "(a|b)+c|a"),
]


@pytest.mark.parametrize(("text", "pattern"), LOOKING_AHEAD)
@pytest.mark.parametrize("use", ["regex_findall(pattern)", "regex_replace(pattern, '-')"])
def test_a_search_that_reads_the_text_again_for_each_match_runs_out_of_fuel(
    text: str, pattern: str, use: str
) -> None:
    with pytest.raises(ExpressionError, match="takes too much work: the limit is 1,000,000 operations"):
        ev(f"{{{{ text | {use} }}}}", text=text, pattern=pattern)


def test_patterns_that_are_compiled_in_a_loop_run_out_of_fuel() -> None:
    text = "{% for i in range(99999) %}{{ 'a' | regex_search('\\pL{1,' ~ (i % 99 + 1) ~ '}') }}{% endfor %}"
    with pytest.raises(ExpressionError, match="takes too much work"):
        ev(text)


def test_cpu_time_is_a_second_line_behind_the_fuel() -> None:
    endless = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"
    with pytest.raises(ExpressionError, match=r"takes more than 0\.01 seconds of CPU time"):
        ev(endless, ExprLimits(cpu_seconds=0.01, fuel=10**9))


def test_a_deeply_nested_value_is_refused_not_followed() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for text in ("{{ x }}", "a{{ x }}", "{{ x | tojson }}", "{{ x == [x] }}", "{{ [x, [x]] | sort }}"):
        with pytest.raises(ExpressionError, match="nested too deeply"):
            ev(text, x=deep)
