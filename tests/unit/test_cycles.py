"""Circles that would keep the machine busy for ever, told from those that wait or count."""

from __future__ import annotations

import pytest

from tests.support import file_of
from wfc.analysis.control_flow import endless_circles, flows_of


def circles(steps: str) -> list[set[str]]:
    ((_, flow),) = flows_of(file_of(f"steps:\n{steps}"))
    return [set(circle.nodes) for circle in endless_circles(flow)]


SET = "type: set_state, updates: {x: 1}"


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        (f"  - {{id: a, {SET}, on_error: {{goto: a}}}}", [{"a"}]),
        (f"  - {{id: a, {SET}}}\n  - {{id: b, {SET}, on_error: {{goto: a}}}}", [{"a", "b"}]),
        # A question waits, and one that has no templates can't fail before it does.
        ("  - {id: a, type: shell, command: ls, on_error: {goto: a}}", []),
        ("  - {id: a, type: shell, command: 'ls {{ x }}', on_error: {goto: a}}", [{"a"}]),
        ("  - {id: a, type: shell, command: ls, when: '{{ x }}', on_error: {goto: a}}", [{"a_when"}]),
        # The pause before another try waits as well.
        ("  - {id: a, type: shell, command: '{{ x }}', retry: {max_attempts: 2}, on_error: {goto: a}}", []),
        (
            "  - {id: a, type: shell, command: '{{ x }}', retry: {max_attempts: 1}, on_error: {goto: a}}",
            [{"a"}],
        ),
        # A goto counts for the whole run, but its `else` does not count.
        (f"  - {{id: a, {SET}}}\n  - {{id: b, type: goto, target: a, max_iterations: 2}}", []),
        ("  - {id: a, type: goto, target: a, max_iterations: 2, else: a}", [{"a"}]),
        # One without a bound is reported as such, not as a circle.
        (f"  - {{id: a, {SET}}}\n  - {{id: b, type: goto, target: a}}", []),
    ],
)
def test_circles_of_jumps(steps: str, found: list[set[str]]) -> None:
    assert circles(steps) == found


LOOP = """
  - {id: start, type: set_state, updates: {x: 1}}
  - id: outer
    type: while
    if: "{{ x }}"
    max_iterations: 3
    steps:
      - id: inner
        type: while
        if: "{{ x }}"
        max_iterations: 3
        steps:
          - {id: work, type: set_state, updates: {x: 1}, on_error: HANDLER}
"""


def test_nested_loops_count_their_turns() -> None:
    assert circles(LOOP.replace("HANDLER", "continue")) == []


def test_a_loop_that_is_entered_anew_counts_afresh() -> None:
    assert circles(LOOP.replace("HANDLER", "{goto: inner}")) == [{"inner", "inner_turn", "work"}]
    assert circles(LOOP.replace("HANDLER", "{goto: start}")) == [
        {"start", "outer", "outer_turn", "inner", "inner_turn", "work"}
    ]


BRANCHES = """
  - id: both
    type: parallel
    branches:
      one: [{id: a, type: set_state, updates: {x: 1}}]
      two: [{id: b, STEP}]
  - {id: c, type: set_state, updates: {z: 1}, on_error: {goto: both}}
"""


def test_a_parallel_step_waits_if_one_of_its_branches_does() -> None:
    assert circles(BRANCHES.replace("STEP", "type: wait, duration_seconds: 1")) == []
    assert circles(BRANCHES.replace("STEP", "type: set_state, updates: {y: 1}")) == [
        {"both", "a", "b", "both_one_end", "both_two_end", "both_join", "c"}
    ]
