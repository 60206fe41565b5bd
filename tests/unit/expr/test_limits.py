"""Each limit is a number in ExprLimits, and the message says it."""

from typing import Any

import pytest

from wfc_runtime.expr import DEFAULT_LIMITS, ExprLimits

from .support import ev, failure


@pytest.mark.parametrize(
    ("limits", "good", "bad", "says"),
    [
        ({"fuel": 200}, "{{ range(50) }}", "{{ range(300) }}", "takes too much work: the limit is 200"),
        (
            {"fuel": 200},
            "{% set x = range(50) %}",
            "{% set x = range(300) %}",
            "takes too much work: the limit is 200",
        ),
        (
            {"room": 1000},
            "{{ 'a' * 500 }}",
            "{{ 'a' * 1500 }}",
            "needs too much memory: the limit is 1,000 bytes",
        ),
        ({"text": 10}, "{{ 'a' * 10 }}", "{{ 'a' * 11 }}", "makes a text of 11 characters: the limit is 10"),
        ({"items": 10}, "{{ range(10) }}", "{{ range(11) }}", "makes a list of 11 items: the limit is 10"),
        ({"bits": 8}, "{{ 200 + 1 }}", "{{ 200 * 200 }}", "the number is too large: the limit is 8 bits"),
        ({"output": 10}, "x{{ 'a' * 9 }}", "x{{ 'a' * 10 }}", "renders too much text: the limit is 10 bytes"),
        ({"output": 10}, "x{{ 'ä' * 4 }}", "x{{ 'ä' * 5 }}", "renders too much text: the limit is 10 bytes"),
        ({"value": 10}, "{{ 'a' * 10 }}", "{{ 'a' * 11 }}", "the value is too large: the limit is 10 bytes"),
        (
            {"depth": 2},
            "{{ [[1]] }}",
            "{{ [[[1]]] }}",
            "the value is nested too deeply: the limit is 2 levels",
        ),
        (
            {"template": 10},
            "{{ 12345 }}"[:10] + "}",
            "{{ 123456 }}",
            "the template has 12 characters: the limit is 10",
        ),
        ({"tokens": 5}, "{{ 1 + 2 }}", "{{ 1 + 2 + 3 }}", "the template is too long: the limit is 5 words"),
        ({"nesting": 2}, "{{ ((1)) }}", "{{ (((1))) }}", "nested too deeply: the limit is 2 levels"),
        (
            {"tree": 4},
            "{{ 1 + 2 }}",
            "{{ 1 + 2 + 3 + 4 }}",
            "too many operations inside each other: the limit is 4",
        ),
    ],
)
def test_a_limit_holds(limits: dict[str, Any], good: str, bad: str, says: str) -> None:
    small = ExprLimits(**limits)
    if "template" not in limits:
        ev(good, small)
    error = failure(bad, limits=small)
    assert says in error.message
    assert error.reason in ("limit", "syntax")


def test_the_defaults_are_those_of_the_design() -> None:
    assert DEFAULT_LIMITS.fuel == 1_000_000
    assert DEFAULT_LIMITS.output == 256 * 1024


def test_what_set_catches_does_not_count_as_output() -> None:
    text = "{% set x %}" + "a" * 8 + "{% endset %}{{ x }}"
    assert ev(text, ExprLimits(output=10)) == "a" * 8


def test_ordinary_work_stays_far_from_the_limits() -> None:
    rows = [{"id": index, "name": f"row {index}", "tags": ["a", "b"]} for index in range(5000)]
    text = (
        "{% for row in rows | selectattr('id', 'gt', 10) | sort(attribute='name') %}"
        "{{ loop.index }}. {{ row.name | upper }} ({{ row.tags | join(', ') }})\n{% endfor %}"
    )
    assert ev(text, rows=rows).count("\n") == 4989
    log = "2025-01-01 error: code 17\n" * 30_000
    assert len(ev("{{ log | regex_findall('code (\\d+)') }}", log=log)) == 30_000
    assert len(ev("{{ log.split('\\n') | select('in', ['x']) | list }}", log=log)) == 0
