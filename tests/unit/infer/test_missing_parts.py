"""Properties and items that may be missing (WF223, WF224): what fails at run time is reported, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support import check
from wfc_runtime.expr.errors import ExpressionError
from wfc_runtime.expr.evaluate import evaluate

WORKFLOW = """
name: w
version: "1"
inputs:
  o: {type: object, required: true, properties: {there: {type: integer, required: true}, gone: {type: integer}}}
  l: {type: array, item_type: string, required: true}
  pair: {type: array, item_type: string, min_items: 2, required: true}
  t: {type: string, required: true}
steps:
  - id: ask
    type: delegate
    instructions: Ask.
    result_schema:
      type: array
      items:
        type: object
        required: [there]
        properties: {there: {type: integer}, gone: {type: integer}, parts: {type: array}}
    output_to: r
  - {id: end, type: return, needs_state: [r], value: "{{ %s }}"}
"""
LEAST = {
    "inputs": {"o": {"there": 1}, "l": [], "pair": ["a", "b"], "t": ""},
    "state": {"r": [{"there": 1}, {"there": 2, "gone": 3}]},
}
"""A value that the declarations accept, with nothing in it that they do not require."""


def reported(expression: str) -> bool:
    return any(one.code in ("WF223", "WF224") for one in check(WORKFLOW % expression))


def fails(expression: str, context: dict[str, Any]) -> bool:
    try:
        evaluate("{{ " + expression + " }}", context, now=datetime(2026, 1, 1, tzinfo=UTC), uuid_seed="a")
    except ExpressionError:
        return True
    return False


MISSING = [
    "inputs.o.gone",
    "inputs.o['gone']",
    "inputs.o.gone + 1",
    "inputs.o.gone is number",
    "not inputs.o.gone",
    "inputs.o.gone in [1]",
    "1 if inputs.o.gone else 2",
    "inputs.o.there and inputs.o.gone",
    "state.r | sort(attribute='gone')",
    "state.r | map(attribute='gone') | list",
    "state.r | sum(attribute='gone')",
    "state.r | selectattr('gone') | list",
    "state.r | rejectattr('gone', '>', 1) | list",
    "state.r | groupby('gone')",
    "state.r | max(attribute='gone')",
    "state.r | unique(attribute='gone') | list",
    "state.r | join(',', attribute='gone')",
    "inputs.l | first",
    "inputs.l | last",
    "inputs.l | max",
    "inputs.l | min",
    "inputs.l | random",
    "inputs.l | sort | first",
    "inputs.l | map('upper') | first",
    "inputs.l | select | list | last",
    "inputs.l[0]",
    "inputs.l[-1]",
    "inputs.l[0] | upper",
    "inputs.l[0:2][0]",
    "(inputs.l + inputs.l) | first",
    "inputs.pair[2]",
    "inputs.pair[-3]",
    "inputs.t[0]",
    "inputs.t | first",
    "inputs.t.splitlines()[0]",
    "inputs.t.split()[0]",
    "inputs.t.split(',')[1]",
    "(inputs.t | regex_search('a'))[0]",
    "(inputs.t | regex_findall('a')) | first",
    "inputs.t if inputs.t else inputs.l[0]",
]
THERE = [
    "inputs.o.there",
    "inputs.o.gone | default(1)",
    "(inputs.o.gone | default(1)) + 1",
    "inputs.o.gone if inputs.o.gone is defined else 1",
    "inputs.o.gone if 'gone' in inputs.o else 1",
    "inputs.o.get('gone', 1) + 1",
    "inputs.o.gone is defined and inputs.o.gone > 1",
    "inputs.o.gone is undefined or inputs.o.gone > 1",
    "state.r | selectattr('gone', 'defined') | map(attribute='gone') | list",
    "state.r | map(attribute='gone', default=0) | sum",
    "state.r | sort(attribute='there')",
    "inputs.l | first | default('')",
    "inputs.l[0] | default('')",
    "inputs.l[0] if inputs.l else ''",
    "inputs.l[1] if inputs.l | length > 1 else ''",
    "inputs.l and inputs.l[0]",
    "(inputs.l or ['a'])[0]",
    "(inputs.l or ['a']) | first",
    "(inputs.l + ['a'])[0]",
    "(inputs.l + ['a']) | last",
    "inputs.pair[0]",
    "inputs.pair[-2]",
    "inputs.pair | sort | first",
    "inputs.pair | map('upper') | list | last",
    "(inputs.pair | reverse | list)[1]",
    "inputs.t.split(',')[0]",
    "inputs.t.split(',') | last",
    "inputs.t.partition(',')[2]",
    "inputs.t[0] if inputs.t else ''",
    "inputs.t.splitlines()[0] if inputs.t else ''",
    "['a', 'b'][1]",
    "inputs.l | sum",
    "inputs.l | join(',')",
    "inputs.l | length",
    "inputs.l[0:1]",
    "inputs.t[0:1]",
]


@pytest.mark.parametrize("expression", MISSING)
def test_a_part_that_may_be_missing_is_reported_and_fails_where_it_is_missing(expression: str) -> None:
    assert fails(expression, LEAST)
    assert reported(expression)


@pytest.mark.parametrize("expression", THERE)
def test_a_part_that_is_always_there_or_has_a_guard_is_not_reported_and_does_not_fail(
    expression: str,
) -> None:
    assert not fails(expression, LEAST)
    assert not reported(expression)
