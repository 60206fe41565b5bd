"""How many actions a run asks for: loops, jumps, retries, items and branches multiplied out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import loaded
from wfc_runtime.plan import explain_plan

ASK = "type: shell, command: make"


def actions(steps: str, more: str = "") -> dict[str, Any]:
    found = loaded(f'name: w\nversion: "1"\n{more}steps:\n{steps}')
    plan: dict[str, Any] = explain_plan(found["w"], found.get)["actions"]
    return plan


@pytest.mark.parametrize(
    ("steps", "least", "most"),
    [
        pytest.param(f"  - {{id: a, {ASK}}}\n  - {{id: b, {ASK}}}", 2, 2, id="one after the other"),
        pytest.param("  - {id: a, type: wait, duration_seconds: 3}", 0, 0, id="waiting is no action"),
        pytest.param(
            f"  - {{id: a, {ASK}, output_to: x}}\n"
            f"  - {{id: b, {ASK}, needs_state: [x], when: '{{{{ state.x.exit_code == 0 }}}}'}}",
            1,
            2,
            id="a step that may be skipped",
        ),
        pytest.param(
            f"  - {{id: a, {ASK}, retry: {{max_attempts: 3}}}}", 1, 3, id="each attempt is an action"
        ),
        pytest.param(
            f"  - {{id: a, {ASK}}}\n  - {{id: b, {ASK}}}\n"
            "  - {id: c, type: goto, target: b, max_iterations: 4, else: d}\n"
            f"  - {{id: d, {ASK}}}",
            1 + 5 + 1,
            1 + 5 + 1,
            id="a goto that nothing skips is taken as often as it may be",
        ),
        pytest.param(
            f"  - {{id: a, {ASK}}}\n  - {{id: b, {ASK}, output_to: x}}\n"
            "  - {id: c, type: goto, needs_state: [x], when: '{{ state.x.exit_code != 0 }}', target: b,"
            " max_iterations: 4}",
            2,
            1 + 5,
            id="a goto back, counted for the run",
        ),
        pytest.param(
            f"  - {{id: a, {ASK}, output_to: x}}\n"
            "  - id: loop\n    type: while\n    needs_state: [x]\n    if: '{{ state.x.exit_code != 0 }}'\n"
            "    max_iterations: 5\n    steps:\n"
            f"      - {{id: b, {ASK}, output_to: x}}\n      - {{id: c, {ASK}}}",
            1,
            1 + 5 * 2,
            id="a while",
        ),
        pytest.param(
            f"  - {{id: a, {ASK}, output_to: x}}\n"
            "  - id: outer\n    type: while\n    needs_state: [x]\n    if: '{{ state.x.exit_code != 0 }}'\n"
            "    max_iterations: 3\n    steps:\n"
            "      - id: inner\n        type: while\n        needs_state: [x]\n"
            "        if: '{{ state.x.exit_code > 1 }}'\n        max_iterations: 4\n        steps:\n"
            f"          - {{id: b, {ASK}, output_to: x}}\n      - {{id: c, {ASK}, output_to: x}}",
            1,
            1 + 3 * (4 + 1),
            id="loops inside each other multiply",
        ),
        pytest.param(
            f"  - {{id: a, {ASK}}}\n  - {{id: b, {ASK}, output_to: x}}\n"
            "  - id: c\n    type: goto\n    needs_state: [x]\n    when: '{{ state.x.exit_code == 1 }}'\n"
            "    target: b\n    max_iterations: 2\n"
            "  - id: d\n    type: goto\n    needs_state: [x]\n    when: '{{ state.x.exit_code == 2 }}'\n"
            "    target: a\n    max_iterations: 3",
            2,
            2 + 2 * 1 + 3 * 2,
            id="a goto's count is for the run, so jumps inside each other add up",
        ),
        pytest.param(
            f"  - id: p\n    type: parallel\n    branches:\n      one:\n        - {{id: a, {ASK}}}\n"
            f"      two:\n        - {{id: b, {ASK}, output_to: x}}\n"
            f"        - {{id: c, {ASK}, needs_state: [x], when: '{{{{ state.x.exit_code == 0 }}}}'}}",
            2,
            3,
            id="branches side by side add up",
        ),
        pytest.param(
            f"  - id: p\n    type: parallel\n    branches:\n      one:\n        - {{id: a, {ASK}, output_to: x}}\n"
            "        - id: stop\n          type: condition\n          needs_state: [x]\n"
            "          if: '{{ state.x.exit_code != 0 }}'\n          then:\n"
            "            - {id: back, type: return, value: 1}\n"
            f"      two:\n        - {{id: b, {ASK}}}\n        - {{id: c, {ASK}}}",
            2,
            3,
            id="a branch that returns leaves the others where they are",
        ),
    ],
)
def test_the_least_and_the_most_actions_of(steps: str, least: int, most: int) -> None:
    assert actions(steps) == {"least": least, "most": most}


TASK = """\
tasks:
  t:
    inputs: {file: {type: string, required: true}}
    steps:
      - {id: look, type: shell, command: make, output_to: x}
      - {id: mend, type: shell, command: make, needs_state: [x], when: "{{ state.x.exit_code != 0 }}"}
"""
INPUT = "inputs: {files: {type: array, required: true, validation: {item_type: string}}}\n"


def test_a_foreach_with_max_items_is_multiplied_out() -> None:
    step = "  - {id: each, type: foreach, items: '{{ inputs.files }}', task: t, max_items: 10}\n"
    assert actions(step + TASK, INPUT) == {"least": 0, "most": 20}


def test_a_foreach_over_a_list_that_stands_there_has_that_many_items() -> None:
    assert actions("  - {id: each, type: foreach, items: [a, b, c], task: t}\n" + TASK) == {
        "least": 3,
        "most": 6,
    }


def test_a_foreach_over_a_list_of_any_length_is_told_per_item() -> None:
    step = f"  - {{id: first, {ASK}}}\n  - {{id: each, type: foreach, items: '{{{{ inputs.files }}}}', task: t}}\n"
    assert actions(step + TASK, INPUT) == {
        "least": 1,
        "most": 1,
        "per_item": [{"step": "each", "in": "w", "least": 1, "most": 2}],
    }


def test_a_named_agent_gets_a_whole_task_as_one_action() -> None:
    step = "  - {id: each, type: foreach, items: [a, b], task: t, agent: '@helper'}\n"
    assert actions(step + TASK) == {"least": 2, "most": 2}


def test_what_a_called_workflow_asks_for_counts() -> None:
    callee = f'name: callee\nversion: "1"\nsteps:\n  - {{id: a, {ASK}}}\n  - {{id: b, {ASK}}}\n'
    caller = 'name: w\nversion: "1"\nsteps:\n  - {id: go, type: call, workflow: callee, retry: {max_attempts: 2}}\n'
    found = loaded(callee, caller)
    assert explain_plan(found["w"], found.get)["actions"] == {"least": 2, "most": 4}
    alone = explain_plan(found["w"], lambda name: None)["actions"]
    assert alone == {"least": 0, "most": 0, "not_counted": ["callee"]}


def test_an_on_error_that_leads_back_has_no_limit_and_is_named() -> None:
    found = actions(f"  - {{id: a, {ASK}}}\n  - {{id: b, {ASK}, on_error: {{goto: a}}}}")
    assert found == {
        "least": 2,
        "most": None,
        "unbounded": [{"in": "w", "steps": ["a", "b"], "on_error_of": ["b"]}],
    }
