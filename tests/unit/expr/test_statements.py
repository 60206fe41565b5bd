import pytest

from .support import ev, failure


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{% for x in [1, 2] %}{{ x }},{% endfor %}", "1,2,"),
        ("{% for x in [] %}a{% else %}none{% endfor %}", "none"),
        ("{% for x in [1, 2, 3, 4] if x is even %}{{ loop.index }}:{{ x }} {% endfor %}", "1:2 2:4 "),
        ("{% for x in [1] if x > 1 %}{% else %}none{% endfor %}", "none"),
        ("{% for a, b in [[1, 2], [3, 4]] %}{{ a + b }} {% endfor %}", "3 7 "),
        ("{% for a, (b, c) in [[1, [2, 3]]] %}{{ a + b + c }}{% endfor %}", "6"),
        ("{% for k in {'a': 1} %}{{ k }}{% endfor %}", "a"),
        ("{% for c in 'ab' %}{{ c }}.{% endfor %}", "a.b."),
        (
            "{% for x in 'abc' %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }} {% endfor %}",
            "103 212 321 ",
        ),
        (
            "{% for x in 'abc' %}{{ 'F' if loop.first }}{{ 'L' if loop.last }}{{ loop.length }}{% endfor %}",
            "F33L3",
        ),
        (
            "{% for x in 'abc' %}{{ loop.previtem | d('-') }}{{ loop.nextitem | d('-') }} {% endfor %}",
            "-b ac b- ",
        ),
        ("{% for x in 'abc' %}{{ loop.cycle('x', 'y') }}{% endfor %}", "xyx"),
        ("{% for x in 'aab' %}{{ loop.changed(x) }} {% endfor %}", "True False True "),
        (
            "{% for x in 'ab' %}{% for y in 'cd' %}{{ x }}{{ y }}{{ loop.index }} {% endfor %}{% endfor %}",
            "ac1 ad2 bc1 bd2 ",
        ),
        ("{% if 0 %}a{% elif 1 %}b{% else %}c{% endif %}", "b"),
        ("{% if 0 %}a{% elif 0 %}b{% else %}c{% endif %}", "c"),
        ("{% if 0 %}a{% endif %}.", "."),
        ("{% set x = 1 %}{% set x = x + 1 %}{{ x }}", "2"),
        ("{% set a, b = 1, 2 %}{{ a + b }}", "3"),
        ("{% set x %}a{{ 1 }}{% endset %}[{{ x }}]", "[a1]"),
        ("{% set x | upper | replace('A', 'b') %}a{% endset %}{{ x }}", "b"),
        ("{% if 1 %}{% set x = 1 %}{% endif %}{{ x }}", "1"),
        ("{% set x = 0 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}", "120"),
        (
            "{% set n = namespace(t=0) %}{% for i in [1, 2] %}{% set n.t = n.t + i %}{% endfor %}{{ n.t }}",
            "3",
        ),
        ("{% set state = 1 %}{{ state }}", "1"),
        ("a  {%- if 1 -%}  b  {%- endif -%}  c", "abc"),
        ("a {%+ if 1 +%} b{% endif %}", "a  b"),
        ("{# {{ gone }} #}x", "x"),
        ("{% raw %}{{ x }}{% endraw %}.", "{{ x }}."),
        ("{% for x in [1] -%}\n  {{ x }}\n{%- endfor %}", "1"),
    ],
)
def test_a_statement_writes_its_text(text: str, result: str) -> None:
    assert ev(text, state={}) == result


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{% for x in 3 %}{% endfor %}", "can't loop over a number: it is not a list"),
        ("{% for x in none %}{% endfor %}", "can't loop over null"),
        ("{% for a, b in [[1]] %}{% endfor %}", "can't unpack 1 values into 2 names"),
        ("{% for a, b in [1] %}{% endfor %}", "can't unpack a number"),
        ("{% for x in [1] %}{% endfor %}{{ x }}", "'x' is not defined"),
        ("{% for x in [1] %}{% set y = 1 %}{% endfor %}{{ y }}", "'y' is not defined"),
        ("{% for x in [1] %}{{ loop.indx }}{% endfor %}", "loop.indx is not defined"),
        ("{% for x in [1] %}{{ loop }}{% endfor %}", "can't be printed"),
        ("{{ loop.index }}", "'loop' is not defined"),
        ("{% set state.x = 1 %}", "only a field of a namespace can be set"),
        ("{% set gone.x = 1 %}", "only a field of a namespace can be set"),
        ("{% set x | uper %}a{% endset %}", "there is no filter 'uper'"),
        ("{% if 0 %}{{ x | uper }}{% endif %}", "there is no filter 'uper'"),
    ],
)
def test_what_statements_refuse(text: str, says: str) -> None:
    state = {"x": 0}
    assert says in failure(text, state=state).message
    assert state == {"x": 0}
