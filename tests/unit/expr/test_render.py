"""`render(...)` and `get(...)` in expressions."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from wfc_runtime.expr import ExpressionError, evaluate


def value(text: str, **context: object) -> object:
    return evaluate(text, context, now=datetime(2026, 1, 1, tzinfo=UTC), uuid_seed="s")


def test_a_rendered_template_knows_only_its_variables() -> None:
    assert value("{{ render(t, {'a': 1}) }}", t="{{ a }}{% if b is defined %}!{% endif %}", b=2) == "1"
    with pytest.raises(ExpressionError, match="render: "):
        value("{{ render(t, {}) }}", t="{{ b }}", b=2)


def test_a_rendered_template_gets_no_placeholder_and_no_id_of_the_expression() -> None:
    parts = str(
        value("{{ secret('A') }} {{ uuid() }} {{ render(t, {}) }}", t="{{ secret('A') }} {{ uuid() }}")
    ).split()
    assert len(set(parts)) == 4


@pytest.mark.parametrize(
    "template",
    [
        "{% for a in range(100000) %}{{ 'x' * 100000 }}{% endfor %}",
        "{{ render(t, {'t': t}) }}",
        "{% for a in range(90000) %}{{ render('{{ 1 }}', {}) }}{% endfor %}" * 50,
    ],
)
def test_a_rendered_template_uses_up_the_limits_of_the_expression(template: str) -> None:
    with pytest.raises(ExpressionError):
        value("{% for i in range(100000) %}{{ render(t, {'t': t}) }}{% endfor %}", t=template)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ get(d, 'a', 1) }}", 5),
        ("{{ get(d, 'b', 1) }}", 1),
        ("{{ get(d, 0, 1) }}", 1),
        ("{{ get(x, -1, 1) }}", 8),
        ("{{ get(x, 2, 1) }}", 1),
        ("{{ get(x, true, 1) }}", 1),
        ("{{ get(none, 'a') }}", None),
        ("{{ get('text', 'upper', 1) }}", 1),
    ],
)
def test_get_gives_a_key_or_an_item_or_the_default(text: str, expected: object) -> None:
    assert value(text, d={"a": 5}, x=[7, 8]) == expected
