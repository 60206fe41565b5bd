"""Children: started, queued, joined, and what becomes of those that fail."""

from __future__ import annotations

import pytest

from tests.unit.machine.support import Drive, compiled
from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.values import Limits

HEAD = "name: w\nversion: 1.0.0\ninputs: {items: {type: array, required: true}}\nsteps:\n"
TAIL = """
  - {id: r, type: return, needs_state: [out], value: "{{ state.out }}"}
tasks:
  one:
    inputs: {x: {type: number, required: true}}
    steps:
      - {id: t, type: return, value: "{{ inputs.x }}"}
"""


def foreach(more: str = "") -> str:
    step = (
        f"  - {{id: each, type: foreach, items: '{{{{ inputs.items }}}}', task: one, output_to: out{more}}}"
    )
    return HEAD + step + TAIL


def test_each_item_becomes_a_child_with_its_item_and_its_place() -> None:
    run = Drive(foreach(), {"items": [10, 20]})
    children = run.outcomes[-1].started
    assert [(child.index, child.task, child.scope) for child in children] == [
        (0, "one", {"item": 10, "index": 0}),
        (1, "one", {"item": 20, "index": 1}),
    ]
    assert len({child.id for child in children}) == 2
    assert run.pending == ["each"]


def test_results_come_in_item_order_whatever_the_order_in_which_they_end() -> None:
    run = Drive(foreach(), {"items": [1, 2, 3]})
    run.child("each", 2, value="c")
    run.child("each", 0, value="a")
    assert run.pending == ["each"]
    run.child("each", 1, value="b")
    assert run.at.result == ["a", "b", "c"]


def test_no_items_complete_at_once_with_an_empty_list() -> None:
    run = Drive(foreach(), {"items": []})
    assert (run.at.status, run.at.result) == ("completed", [])


def test_a_step_can_limit_the_children_at_work_by_itself() -> None:
    run = Drive(foreach(", max_parallel: 2"), {"items": [1, 2, 3]})
    assert [child.index for child in run.outcomes[-1].started] == [0, 1]
    assert [child.index for child in run.child("each", 1, value=None).started] == [2]
    assert run.child("each", 0, value=None).started == []


def test_no_more_than_the_limit_are_at_work_and_the_rest_follow_in_order() -> None:
    run = Drive(foreach(), {"items": [1, 2, 3, 4]}, Limits(parallel_children=2))
    assert [child.index for child in run.outcomes[-1].started] == [0, 1]
    assert [child.index for child in run.child("each", 1, value=None).started] == [2]
    assert [child.index for child in run.child("each", 0, value=None).started] == [3]
    run.child("each", 2, value=None)
    assert run.child("each", 3, value="last").started == []
    assert run.at.result == [None, None, None, "last"]


def test_a_sequential_foreach_has_one_child_at_a_time_that_sees_the_results_before_it() -> None:
    text = foreach(", sequential: true, with: {x: '{{ item + (previous | sum) }}'}")
    run = Drive(text, {"items": [1, 2, 3]})
    assert [child.inputs for child in run.outcomes[-1].started] == [{"x": 1}]
    second = run.child("each", 0, value=10).started
    assert [(child.index, child.inputs, child.scope["previous"]) for child in second] == [
        (1, {"x": 12}, [10])
    ]
    third = run.child("each", 1, value=20).started
    assert [child.inputs for child in third] == [{"x": 33}]
    run.child("each", 2, value=30)
    assert run.at.result == [10, 20, 30]


def test_inputs_said_with_with_are_computed_for_every_item() -> None:
    run = Drive(foreach(", with: {x: '{{ item * 2 + index }}'}"), {"items": [5, 7]})
    assert [child.inputs for child in run.outcomes[-1].started] == [{"x": 10}, {"x": 15}]


def test_an_item_whose_inputs_cannot_be_computed_is_a_failed_child_and_the_others_go_on() -> None:
    run = Drive(foreach(", with: {x: '{{ 1 / item }}'}, on_error: continue"), {"items": [1, 0, 2]})
    assert [child.index for child in run.outcomes[-1].started] == [0, 2]
    run.child("each", 0, value="a")
    run.child("each", 2, value="c")
    first, second, third = run.at.result
    assert (first, third, second["error"]["code"]) == ("a", "c", "expression")


def test_a_foreach_in_which_no_child_can_be_started_fails_at_once() -> None:
    run = Drive(foreach(", with: {x: '{{ 1 / item }}'}"), {"items": [0, 0]})
    assert (run.at.status, run.error["code"]) == ("failed", "child_failed")
    assert "2 of 2 children failed" in run.error["message"]


def test_the_others_finish_before_a_failed_child_fails_the_step() -> None:
    run = Drive(foreach(), {"items": [1, 2]})
    run.child("each", 0, error={"code": "x", "message": "broke"})
    assert run.pending == ["each"]
    run.child("each", 1, value="b")
    assert (run.at.status, run.error["code"]) == ("failed", "child_failed")
    assert run.error["message"] == "1 of 2 children failed: broke"
    assert run.at.state["out"] == [{"error": {"code": "x", "message": "broke"}}, "b"]


def test_with_on_error_continue_the_results_are_written_and_the_run_goes_on() -> None:
    run = Drive(foreach(", on_error: continue"), {"items": [1, 2]})
    run.child("each", 0, error={"code": "x", "message": "broke"})
    run.child("each", 1, value="b")
    assert run.at.result == [{"error": {"code": "x", "message": "broke"}}, "b"]


def test_a_retried_foreach_is_a_new_visit_with_new_children() -> None:
    run = Drive(foreach(", retry: {max_attempts: 2}"), {"items": [1]})
    first = run.outcomes[-1].started[0]
    second = run.child("each", 0, error={"code": "x", "message": "no"}).started[0]
    assert (first.visit, second.visit) == ("each", "each@2")
    assert first.id != second.id
    assert "out" not in run.at.state
    run.child("each@2", 0, value=1)
    assert run.at.result == [1]


def test_more_items_than_max_items_fail_the_step_with_the_count() -> None:
    run = Drive(foreach(", max_items: 2"), {"items": [1, 2, 3]})
    assert (run.error["code"], run.error["message"]) == ("max_items", "`items` gave 3 items; max_items is 2")


def test_items_that_are_no_list_fail_the_step() -> None:
    text = foreach().replace("{{ inputs.items }}", "{{ inputs.items[0] }}")
    run = Drive(text, {"items": [5]})
    assert run.error["message"] == "`items` gave the number 5, not a list"


def test_a_foreach_takes_no_result_itself() -> None:
    run = Drive(foreach(), {"items": [1]})
    with pytest.raises(RefusedError, match="continues automatically"):
        run.submit("each", [])


def test_a_child_ends_once() -> None:
    run = Drive(foreach(), {"items": [1, 2]})
    run.child("each", 0, value=1)
    with pytest.raises(RefusedError, match="has no running child 0"):
        run.child("each", 0, value=2)


def test_cancelling_names_the_children_that_are_to_be_stopped() -> None:
    run = Drive(foreach(), {"items": [1, 2]})
    ids = [child.id for child in run.outcomes[-1].started]
    run.child("each", 0, value=1)
    assert run.cancel().stopped == ids[1:]


def test_results_that_would_not_fit_the_state_fail_the_step_and_stop_the_others() -> None:
    run = Drive(foreach(), {"items": [1, 2]}, Limits(state_bytes=300))
    ids = [child.id for child in run.outcomes[-1].started]
    outcome = run.child("each", 0, value="x" * 400)
    assert (run.error["code"], outcome.stopped) == ("state_size", ids[1:])


CALL = """
name: w
version: 1.0.0
steps:
  - {id: deploy, type: call, workflow: other, with: {n: 3}, output_to: out, on_error: continue}
  - {id: r, type: return, needs_state: [out], value: "{{ state.out }}"}
"""
OTHER = """
name: other
version: 1.0.0
inputs: {n: {type: number, required: true}}
steps:
  - {id: r, type: return, value: "{{ inputs.n }}"}
"""


def test_a_call_starts_one_child_of_another_workflow_and_takes_its_value() -> None:
    run = Drive(compiled(CALL, OTHER).machine)
    [child] = run.outcomes[-1].started
    assert (child.workflow, child.task, child.inputs, child.scope) == ("other", None, {"n": 3}, {})
    run.child("deploy", 0, value={"fine": True})
    assert run.at.result == {"fine": True}


def test_a_call_that_fails_says_which_workflow_and_why() -> None:
    run = Drive(compiled(CALL, OTHER).machine)
    outcome = run.child("deploy", 0, error={"code": "x", "message": "broke"})
    assert outcome.notes[0]["message"] == "`other` failed: broke"
    assert run.at.result == {"error": {"code": "x", "message": "broke"}}
