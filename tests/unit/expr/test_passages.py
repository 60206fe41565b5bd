"""The statements that only whole texts have: held against Jinja itself, and bounded as all others are."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from jinja2 import Environment, StrictUndefined

from wfc_runtime.expr import TEXT_LIMITS, ExpressionError, evaluate, render

NOW = datetime(2026, 1, 2, tzinfo=UTC)
VALUES = {"name": "Ann", "items": ["a", "b"], "size": 3}


def shown(template: str) -> str:
    return render(template, VALUES, now=NOW, uuid_seed="s", limits=TEXT_LIMITS)


@pytest.mark.parametrize(
    "template",
    [
        "{% with %}{% set q = 1 %}{{ q }}{% endwith %}",
        "{% with a = size, b = name %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}",
        "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}",
        "{% filter upper %}to {{ name }}{% endfilter %}!",
        "{% filter replace('n', 'm') | lower %}{{ name }}{% endfilter %}",
        "{% block head %}# {{ name }}{% endblock head %}\n",
        "{% macro row(x, y=size) %}<{{ x }}:{{ y }}>{% endmacro %}{{ row(1) }}{{ row(1, 2) }}{{ row(y=5, x=4) }}",
        "{% macro twice(x) %}{{ x }}{{ x }}{% endmacro %}{% for i in items %}{{ twice(i) | upper }}{% endfor %}",
        "{% macro a(n) %}{{ n }}{% if n > 0 %}{{ a(n - 1) }}{% endif %}{% endmacro %}{{ a(3) }}",
        "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}",
        "{% set s = 1 %}{% macro m() %}{{ s }}{{ name }}{% endmacro %}{% set s = 2 %}{{ m() }}",
        "{% macro range(n) %}own{{ n }}{% endmacro %}{{ range(2) }}",
        "{% macro m(x) %}{{ x is defined }}{{ x | default('none') }}{% endmacro %}{{ m() }}{{ m(1) }}",
        "{% macro m(x) %}{% set name = x %}{{ name }}{% endmacro %}{{ m('in') }}{{ name }}",
    ],
)
def test_a_text_reads_as_it_does_in_jinja(template: str) -> None:
    wanted = Environment(undefined=StrictUndefined, keep_trailing_newline=True).from_string(template)
    assert shown(template) == wanted.render(**VALUES)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{% macro m(x) %}{{ x }}{% endmacro %}{{ m() }}", "m was given no `x`"),
        ("{% macro m(x) %}{% endmacro %}{{ m(1, 2) }}", "m takes 1 value, not 2"),
        ("{% macro m(x) %}{% endmacro %}{{ m(1, y=2) }}", "m has no `y`"),
        ("{% macro m(x) %}{% endmacro %}{{ m(1, x=2) }}", "m gets `x` twice"),
        ("{{ m() }}{% macro m() %}{% endmacro %}", "the macro `m` comes later"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "macros call each other more than 40 deep"),
        ("{% macro m() %}x{% endmacro %}{{ m }}", "a macro can't be printed"),
        ("{% macro m() %}x{% endmacro %}{{ [m] }}", "a macro"),
        ("{% call m() %}{% endcall %}", "there are block, filter, for, if, macro, set and with"),
        ("{% with a %}{% endwith %}", "expected"),
        ("{% macro m() %}", "never closed with `{% endmacro %}`"),
    ],
)
def test_what_is_wrong_with_a_text_is_said(template: str, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        shown(template)
    assert message in str(caught.value)


def test_macros_that_call_each_other_without_end_run_out_of_fuel() -> None:
    names = [f"m{number}" for number in range(30)]
    macros = "".join(
        f"{{% macro {one} %}}".replace(one, f"{one}()")
        + f"{{{{ {other}() }}}}{{{{ {other}() }}}}{{% endmacro %}}"
        for one, other in zip(names, [*names[1:], "last"], strict=True)
    )
    with pytest.raises(ExpressionError) as caught:
        shown("{% macro last() %}x{% endmacro %}" + macros + "{{ m0() }}")
    assert caught.value.reason == "limit"


def test_expressions_have_no_macros() -> None:
    with pytest.raises(ExpressionError, match="there are for, if and set"):
        evaluate("{% macro m() %}{% endmacro %}", {}, now=NOW, uuid_seed="s")
