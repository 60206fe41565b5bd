"""Checks look at the IR of workflows with mistakes: it is always there, and the flow goes on if it can."""

from __future__ import annotations

import pytest

from tests.support import file_of
from wfc.ir import Edge, dump


def edges(text: str) -> list[tuple[str, str]]:
    module = file_of(text).module
    assert module is not None
    assert dump(module)
    return [(edge.source, edge.target) for edge in _edges(text)]


def _edges(text: str) -> list[Edge]:
    module = file_of(text).module
    return list(module.main.edges()) if module else []


def test_a_jump_without_a_target_goes_on_with_what_follows() -> None:
    found = edges(
        """
        steps:
          - {id: a, type: goto, target: nowhere, max_iterations: 1, else: never}
          - {id: b, type: shell, command: ls, on_error: {goto: nowhere}}
          - {id: c, type: goto}
        """
    )
    assert found == [("a", "b"), ("a", "b"), ("b", "c"), ("b", "c"), ("c", "finished")]


def test_break_and_continue_outside_a_loop_go_on_with_what_follows() -> None:
    found = edges("steps: [{id: a, type: break}, {id: b, type: continue}, {id: c, type: wait}]")
    assert found == [("a", "b"), ("b", "c"), ("c", "finished")]


def test_a_step_of_unknown_type_is_one_state() -> None:
    found = edges("steps: [{id: a, type: shel, when: true}, {id: b}, {id: c, type: [x]}]")
    assert found == [("a_when", "a"), ("a_when", "b"), ("a", "b"), ("b", "c"), ("c", "finished")]


def test_a_condition_without_its_fields_goes_on() -> None:
    found = edges("steps: [{id: a, type: condition}, {id: b, type: while}, {id: c, type: parallel}]")
    assert ("a", "b") in found
    assert ("b_turn", "c") in found
    assert found[-1] == ("c", "finished")


def test_empty_branches_end_where_they_begin() -> None:
    module = file_of(
        "steps: [{id: a, type: parallel, join: fail_fast, branches: {one: [], two: [{id: b, type: wait}]}}]"
    ).module
    assert module is not None
    (state,) = module.main.root.states
    assert [region.initial for region in state.regions] == ["a_one_end", "b"]


@pytest.mark.parametrize("text", ["steps: []", "steps: 3", "steps: [1, [], null]", "name: x", "{}", "a: 1"])
def test_no_steps_are_an_empty_chart(text: str) -> None:
    module = file_of(text).module
    assert module is not None
    assert module.main.root.states == []
    assert module.main.root.initial == "finished"


def test_steps_of_the_same_id_are_two_states() -> None:
    assert edges("steps: [{id: a, type: wait}, {id: a, type: wait}]") == [("a", "a_2"), ("a_2", "finished")]


def test_each_state_knows_its_step() -> None:
    file = file_of("steps: [{id: a, type: shell, command: ls, when: true, retry: {max_attempts: 2}}]")
    assert file.module is not None
    assert [state.step for state in file.module.main.states()] == [file.steps[0]] * 3


def test_a_text_that_is_no_workflow_has_no_module() -> None:
    assert file_of("- a\n- b\n").module is None
