"""Branches side by side."""

from __future__ import annotations

from tests.unit.machine.support import OK, Drive, steps
from wfc_runtime.machine.values import Limits

CHECKS = """
name: w
version: 1.0.0
steps:
  - id: checks
    type: parallel
    join: fail_fast
    branches:
      lint:
        - {id: lint, type: shell, command: lint, output_to: lint}
        - {id: fix, type: shell, command: fix, output_to: fixed}
      types:
        - id: types
          type: shell
          command: types
          output_to: types
          retry: {max_attempts: 2, delay_seconds: 3}
  - id: r
    type: return
    needs_state: [lint, types]
    value: "{{ state.lint.exit_code + state.types.exit_code }}"
"""


def test_every_branch_has_its_action_pending() -> None:
    assert Drive(CHECKS).pending == ["lint", "types"]


def test_an_answer_moves_only_its_own_branch() -> None:
    run = Drive(CHECKS)
    run.submit("lint", OK)
    assert set(run.pending) == {"types", "fix"}


def test_the_step_ends_when_every_branch_has() -> None:
    run = Drive(CHECKS)
    run.submit("types", {**OK, "exit_code": 1})
    run.submit("lint", {**OK, "exit_code": 2})
    assert run.at.status == "running"
    run.submit("fix", OK)
    assert run.at.result == 3


def test_a_retry_in_one_branch_leaves_the_others_alone() -> None:
    run = Drive(CHECKS)
    run.submit("types", {"error": "no"})
    assert set(run.pending) == {"lint", "types@retry"}
    run.wait(3)
    assert set(run.pending) == {"lint", "types@2"}


def test_with_fail_fast_a_failure_in_one_branch_ends_the_run_and_drops_what_the_others_wait_for() -> None:
    run = Drive(CHECKS)
    run.submit("lint", {"error": "no linter"})
    assert (run.at.status, run.pending, run.error["step_id"]) == ("failed", [], "lint")


RETURN = """
name: w
version: 1.0.0
inputs: {items: {type: array, default: [1, 2]}}
steps:
  - id: race
    type: parallel
    branches:
      one:
        - {id: ask, type: prompt, prompt_type: confirm, message: stop?, output_to: a}
        - {id: early, type: return, value: early}
      two:
        - {id: each, type: foreach, items: "{{ inputs.items }}", task: t, output_to: out}
  - {id: late, type: return, value: late}
tasks:
  t:
    inputs: {x: {type: number, required: true}}
    steps:
      - {id: s, type: shell, command: "echo {{ inputs.x }}"}
"""


def test_a_return_inside_a_branch_ends_the_run_and_stops_the_children_of_the_others() -> None:
    run = Drive(RETURN)
    ids = [child.id for child in run.outcomes[-1].started]
    outcome = run.submit("ask", {"confirmed": True})
    assert (run.at.status, run.at.result, run.pending) == ("completed", "early", [])
    assert outcome.stopped == ids


def test_children_of_a_branch_that_is_left_in_the_same_step_are_never_started() -> None:
    text = RETURN.replace(
        "{id: ask, type: prompt, prompt_type: confirm, message: stop?, output_to: a}",
        "{id: ask, type: set_state, updates: {a: 1}}",
    )
    run = Drive(text)
    assert (run.at.result, run.outcomes[-1].started, run.outcomes[-1].stopped) == ("early", [], [])


def test_of_two_branches_that_return_at_once_the_first_counts() -> None:
    text = """
name: w
version: 1.0.0
steps:
  - id: race
    type: parallel
    branches:
      one: [{id: a, type: return, value: first}]
      two: [{id: b, type: return, value: second}]
"""
    assert Drive(text).at.result == "first"


def test_with_fail_fast_the_first_failure_is_the_one_that_is_reported() -> None:
    text = """
name: w
version: 1.0.0
initial_state: {n: 0}
steps:
  - id: race
    type: parallel
    join: fail_fast
    branches:
      one: [{id: a, type: set_state, needs_state: [n], updates: {x: "{{ 1 / state.n }}"}}]
      two: [{id: b, type: set_state, needs_state: [n], updates: {y: "{{ 2 / state.n }}"}}]
"""
    run = Drive(text)
    assert (run.at.status, run.error["step_id"]) == ("failed", "a")


def test_room_left_by_one_foreach_goes_to_the_queue_of_another() -> None:
    text = """
name: w
version: 1.0.0
inputs: {items: {type: array, default: [1, 2]}}
steps:
  - id: both
    type: parallel
    branches:
      one: [{id: a, type: foreach, items: "{{ inputs.items }}", task: t, output_to: x}]
      two: [{id: b, type: foreach, items: "{{ inputs.items }}", task: t, output_to: y}]
tasks:
  t:
    inputs: {n: {type: number, required: true}}
    steps: [{id: s, type: shell, command: "echo {{ inputs.n }}"}]
"""
    run = Drive(text, limits=Limits(parallel_children=2))
    assert [(child.visit, child.index) for child in run.outcomes[-1].started] == [("a", 0), ("a", 1)]
    assert [(child.visit, child.index) for child in run.child("a", 0, value=1).started] == [("b", 0)]
    assert [(child.visit, child.index) for child in run.child("a", 1, value=1).started] == [("b", 1)]


def test_more_actions_at_once_than_allowed_fail_the_step() -> None:
    run = Drive(CHECKS, limits=Limits(pending_actions=1))
    assert (run.at.status, run.error["code"]) == ("failed", "pending_actions")
    assert run.error["message"] == "2 actions would be pending at once; the limit is 1"


def test_waits_that_are_over_together_all_end() -> None:
    text = steps(
        "{id: p, type: parallel, branches: {a: [{id: x, type: wait, duration_seconds: 5}],"
        " b: [{id: y, type: wait, duration_seconds: 3}]}}",
        "{id: r, type: return, value: both}",
    )
    run = Drive(text)
    run.wait(10)
    assert run.at.result == "both"
