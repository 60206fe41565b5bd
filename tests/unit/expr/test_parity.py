"""The language is Jinja's: what both can do, both do alike."""

from typing import Any

import jinja2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .support import ev, value

CONTEXT: dict[str, Any] = {
    "n": 7,
    "f": 2.5,
    "s": "Hello wOrld",
    "e": "",
    "l": [3, 1, 2],
    "w": ["b", "A", "c"],
    "o": {"b": 1, "a": {"x": [1, 2]}},
    "p": [{"k": "x", "v": 1}, {"k": "Y", "v": 2}, {"k": "x", "v": 3}],
}
JINJA = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)

TEMPLATES = [
    "a {{ n }} b {{ s }} {{ l }} {{ o }}\n",
    "{% for x in l %}{{ loop.index }}/{{ loop.length }}={{ x }}{{ ', ' if not loop.last }}{% endfor %}",
    "{% for x in l if x > 1 %}{{ x }}{{ loop.revindex0 }}{% else %}-{% endfor %}",
    "{% for k, v in o | dictsort %}{{ k }}{% endfor %}{% for k, v in o.items() %}{{ k }}{% endfor %}",
    "{% set x = n * 2 %}{% if x > 10 %}{% set y = 1 %}{% else %}{% set y = 2 %}{% endif %}{{ x + y }}",
    "{% set x = 1 %}{% for i in l %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}",
    "{% set ns = namespace(t=0, u='') %}{% for i in l %}{% set ns.t = ns.t + i %}{% endfor %}{{ ns.t }}",
    "{% set x %}  {{ s }}  {% endset %}[{{ x | trim }}]{{ x }}",
    "{%- for x in w -%}  {{ x }}  {%- endfor -%}  end",
    "{% raw %}{{ n }}{% endraw %} {# no #}{{- n -}} x",
    "{{ 'a' if n > 3 }}{{ 'b' if n < 3 }}|{{ 1 if e else 2 }}",
    "{{ n / 2 }} {{ n // 2 }} {{ n % 2 }} {{ n ** 2 }} {{ -n }} {{ n / 7 }}",
    "{{ s | upper }}{{ s | lower }}{{ s | title }}{{ s | capitalize }}{{ s | length }}{{ s | wordcount }}",
    "{{ s | replace('o', '0') }}{{ s | truncate(8, leeway=0) }}{{ s | center(21) }}|{{ s | reverse }}",
    "{{ s | truncate(5, true, '…', 0) }}",
    "{{ 'a\\nb\\n\\nc' | indent(3) }}{{ 'a\\nb' | indent(2, true, true) }}",
    "{{ l | sort }}{{ w | sort }}{{ w | sort(case_sensitive=true, reverse=true) }}{{ l | sum }}{{ l | max }}",
    "{{ w | min }}{{ w | join('-') }}{{ p | join(',', attribute='k') }}{{ l | first }}{{ l | last }}",
    "{{ p | map(attribute='v') | list }}{{ w | map('upper') | list }}{{ l | select('odd') | list }}",
    "{{ p | selectattr('k', 'equalto', 'x') | map(attribute='v') | list }}{{ l | reject('eq', 1) | list }}",
    "{{ p | rejectattr('v', 'gt', 1) | list }}{{ ['a', 'A', 'b'] | unique | list }}{{ l | batch(2) | list }}",
    "{{ l | batch(2, 'x') | list }}{{ range(7) | slice(3) | list }}{{ range(7) | slice(3, 'x') | list }}",
    "{% for g in p | groupby('k') %}{{ g.grouper }}:{{ g.list | length }};{% endfor %}",
    "{% for k, items in p | groupby('k') %}{{ k }}:{{ items | sum(attribute='v') }};{% endfor %}",
    "{{ '42' | int }}{{ 'x' | int(5) }}{{ '3.7' | int }}",
    "{{ '3.7' | float }}{{ 3.14159 | round(2) }}{{ n | round }}",
    "{{ 2.5 | round }}{{ 2.1 | round(method='ceil') }}{{ 2.19 | round(1, 'floor') }}{{ -3 | abs }}",
    "{{ 123456789 | filesizeformat }} {{ 1024 | filesizeformat(true) }} {{ 1 | filesizeformat }}",
    "{{ '%s-%03d-%.1f' | format('a', 7, 2.55) }}{{ '%(x)s' | format(x=1) }}{{ 'a b&c' | urlencode }}",
    "{{ '<b>' | escape }}{{ n is odd }}{{ n is divisibleby 7 }}",
    "{{ s is string }}{{ l is sequence }}{{ o is mapping }}",
    "{{ zzz is defined }}{{ zzz | default('d') }}{{ o.a.zzz | default('d') }}{{ e | default('x', true) }}",
    "{{ l[0] }}{{ l[-1] }}{{ l[1:] }}{{ s[::-1] }}{{ o['b'] }}{{ o.a.x.1 }}{{ o.a['x'][0] }}",
    "{{ 1 < 2 < 3 }}{{ 2 in l }}{{ 9 not in l }}{{ 'wO' in s }}",
    "{{ 'b' in o }}{{ not e }}{{ e or 'x' }}{{ n and s }}",
    "{{ 'a' ~ 1 ~ none ~ true }}{{ 'a' * 3 }}{{ [1] + [2] }}{{ 'x' 'y' }}{{ 1e3 }}{{ 1_000 }}{{ 0x1f }}",
    "{{ s.split() }}{{ s.strip('H') }}{{ ' a '.strip() }}",
    "{{ ','.join(w) }}{{ s.find('w') }}{{ s.count('o') }}",
    "{{ '<p>a <!-- b > --> <b>c</b>&amp;\\n d < e' | striptags }}|{{ '<!-- a' | striptags }}|{{ '' | striptags }}",
    "{{ {'a': 1, 'b': none, 'c': '<\"x\">'} | xmlattr }}|{{ {'a': 1} | xmlattr(false) }}|{{ {} | xmlattr }}",
    "{{ 'see https://a.org/b?c=1, (www.d.org) or e@f' | urlize(10, nofollow=true, target='_blank') }}",
    "{{ 'one two-three\\n\\nfour fiveandsix' | wordwrap(6) }}|{{ 'aaaa bb' | wordwrap(3, false, '<br>') }}",
    "{{ p | pprint }}|{{ 'x' | pprint }}|{{ (p * 4) | pprint }}|{{ 1.5 | pprint }}",
]


@pytest.mark.parametrize("text", TEMPLATES)
def test_templates_render_as_in_jinja(text: str) -> None:
    assert ev(text, **CONTEXT) == JINJA.from_string(text).render(CONTEXT)


def _either(*options: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(*options)


def _form(template: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(lambda found: template.format(*found))


def _expressions() -> st.SearchStrategy[str]:
    """Expressions whose types fit, four levels deep."""
    numbers = _either(st.integers(-9, 99).map(str), st.sampled_from(["n", "f", "l[0]", "o.b"]))
    texts = st.sampled_from(["s", "e", "'a b'", '"x"', "w[1]"])
    lists = st.sampled_from(["l", "[1, 2]", "range(4) | list", "o.a.x"])
    truths = st.sampled_from(["true", "n > 3", "s", "not e", "zzz is defined"])
    for _ in range(3):
        numbers, texts, lists, truths = (
            _either(
                numbers,
                _form("({0} + {1})", numbers, numbers),
                _form("({0} - {1} * {2})", numbers, numbers, numbers),
                _form("({0} // ({1} * {1} + 1))", numbers, numbers),
                _form("{0} | length", lists),
                _form("({0}) | abs", numbers),
                _form("({0}) | sum", lists),
                _form("({0} if {1} else {2})", numbers, truths, numbers),
            ),
            _either(
                texts,
                _form("({0} ~ {1})", texts, numbers),
                _form("({0} + {1})", texts, texts),
                _form("{0} | upper", texts),
                _form("({0}) | replace('a', {1})", texts, texts),
                _form("({0}) | join({1})", lists, texts),
                _form("({0})[1:]", texts),
                _form("({0} or {1})", texts, texts),
            ),
            _either(
                lists,
                _form("({0} + {1})", lists, lists),
                _form("({0}) | sort", lists),
                _form("({0}) | select('gt', {1}) | list", lists, numbers),
                _form("({0}) | reverse | list", lists),
                _form("({0})[:2]", lists),
                _form("[{0}, {1}]", numbers, numbers),
            ),
            _either(
                truths,
                _form("({0} < {1} <= {2})", numbers, numbers, numbers),
                _form("{0} in {1}", numbers, lists),
                _form("({0} and {1})", truths, truths),
                _form("not ({0} or {1})", truths, truths),
                _form("({0}) == ({1})", lists, lists),
            ),
        )
    return _either(numbers, texts, lists, truths)


@settings(max_examples=150, deadline=None)
@given(_expressions())
def test_expressions_give_what_jinja_gives(expression: str) -> None:
    expected = JINJA.compile_expression(expression, undefined_to_none=False)(CONTEXT)
    assert value(expression, **CONTEXT) == expected
