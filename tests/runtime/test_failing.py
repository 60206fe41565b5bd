"""What a run does when it fails: it collects the error, starts over, executes its handler. And its time limit."""

from __future__ import annotations

import pytest

from tests.runtime.support import OK, Box, children, steps
from tests.support import wait_until
from wfc_runtime.errors import RefusedError

HANDLED = """\
name: w
version: 1.0.0
initial_state: {count: 0, errors: [], turn: 0}
derived: {double: {value: "{{ 2 * state.count }}"}}
collect_errors: errors
restarts: 1
internal: [last]
on_failure:
  - id: tell
    type: say
    needs_state: [errors]
    message: "{{ error.code }} at {{ error.step_id }}: {{ state.errors | length }}"
  - {id: clean, type: shell, command: make clean, output_to: last}
steps:
  - {id: add, type: change, changes: [{path: count, operation: increment}]}
  - id: loop
    type: while
    needs_state: [turn]
    if: "{{ state.turn < 3 }}"
    max_iterations: 2
    count_to: turn
    steps:
      - {id: ask, type: mcp_call, needs_state: [double], tool: t.t, parameters: {double: "{{ state.double }}"}}
  - {id: end, type: say, needs_state: [turn], message: "{{ state.turn }} turns"}
"""


def test_a_failed_run_starts_over_then_its_handler_runs_and_then_it_fails(box: Box) -> None:
    service = box.compile(HANDLED).service
    run = service.start("w", {})["workflow_id"]
    reply = service.submit(run, "ask", {"error": "no {{ 7 * 7 }}"})
    # From the top, with the initial state: it was counted once.
    assert reply["action"]["step_id"] == "ask@2"
    assert reply["action"]["parameters"]["parameters"] == {"double": 2}
    assert service.state(run, ["count", "turn"])["state"] == {"count": 1, "turn": 1}
    service = box.restart()
    service.submit(run, "ask@2", 1)
    reply = service.submit(run, "ask@3", {"error": "again"})
    assert (reply["status"], reply["action"]["step_id"]) == ("pending_action", "clean")
    assert [one["message"] for one in reply["messages"]] == ["agent_error at ask@3: 2"]
    reply = service.submit(run, "clean", OK)
    assert reply["status"] == "failed"
    assert (reply["error"]["code"], reply["error"]["step_id"]) == ("agent_error", "ask@3")
    errors = service.state(run, ["errors"])["state"]["errors"]
    # What was reported is data: nothing in it is evaluated.
    assert [one["message"] for one in errors] == ["no {{ 7 * 7 }}", "again"]
    # A retry continues at the step that failed, not in the handler.
    assert service.retry(run)["action"]["step_id"] == "ask@4"
    reply = service.submit(run, "ask@4", 1)
    assert (reply["status"], reply["result"]["turn"]) == ("completed", 2)
    assert "last" not in reply["result"]


def test_a_handler_that_fails_fails_the_run_with_the_first_error(box: Box) -> None:
    service = box.compile(HANDLED.replace("restarts: 1", "")).service
    run = service.start("w", {})["workflow_id"]
    service.submit(run, "ask", {"error": "no"})
    reply = service.submit(run, "clean", {"error": "worse"})
    assert (reply["status"], reply["error"]["message"]) == ("failed", "no")
    assert service.retry(run)["action"]["step_id"] == "ask@2"


def test_a_run_may_complete_after_its_handler(box: Box) -> None:
    text = HANDLED.replace("restarts: 1", "completes_on_failure: true")
    service = box.compile(text).service
    run = service.start("w", {})["workflow_id"]
    service.submit(run, "ask", {"error": "no"})
    reply = service.submit(run, "clean", OK)
    assert reply["status"] == "completed"
    assert reply["result"]["errors"] == [{"code": "agent_error", "message": "no", "step_id": "ask"}]


def test_a_run_fails_when_its_time_is_up(box: Box) -> None:
    text = HANDLED.replace("restarts: 1", "deadline: 100")
    service = box.compile(text).service
    run = service.start("w", {})["workflow_id"]
    box.clock.pass_(60)
    service.submit(run, "ask", 1)
    box.clock.pass_(60)
    reply = service.status(run)
    assert reply["action"]["step_id"] == "clean"
    # The handler has no limit.
    box.clock.pass_(1000)
    reply = service.submit(run, "clean", OK)
    assert (reply["status"], reply["error"]["code"]) == ("failed", "deadline")


SHARED = """\
name: w
version: 1.0.0
initial_state: {found: [], seen: {}, total_sum: 0, errors: []}
steps:
  - id: all
    type: foreach
    items: [3, 1, 2]
    task: one
    agent: "@task"
    shares: [found, seen, total_sum]
    numbered: true
    prompt: Be quick.
    on_child_error: {retries: 1, collect: errors}
    child_deadline: 50
    on_error: continue
    output_to: results
  - id: end
    type: return
    needs_state: [found, seen, total_sum, errors, results]
    value:
      - "{{ state.found }}"
      - "{{ state.seen }}"
      - "{{ state.total_sum }}"
      - "{{ state.errors }}"
      - "{{ state.results }}"
tasks:
  one:
    initial_state: {found: [], seen: {}, total_sum: 0}
    derived: {mine: {value: "{{ state.found | length }}"}}
    steps:
      - id: look
        type: mcp_call
        tool: t.t
        parameters: {task: "{{ task_id }} of {{ total }}"}
        changes:
          - {path: found, operation: append, value: "{{ item }}{{ result }}"}
          - {path: [seen, "{{ index }}"], value: "{{ item }}"}
          - {path: total_sum, operation: increment, value: "{{ item }}"}
      - {id: done, type: return, needs_state: [mine], value: "{{ state.mine }}"}
"""


def test_children_work_on_the_state_of_their_parent_in_the_order_of_the_items(box: Box) -> None:
    service = box.compile(SHARED).service
    reply = service.start("w", {})
    run, first = reply["workflow_id"], reply["action"]["parameters"]["children"]
    assert all(child["prompt"].startswith("Be quick.\n") for child in first)
    a, b, c = children(reply)
    assert service.status(a)["action"]["parameters"]["parameters"] == {"task": "one_0 of 3"}
    service.submit(c, "look", "z")
    service.submit(b, "look", {"error": "no"})
    again = children(service.status(run))[1]
    assert again != b
    service.submit(again, "look", {"error": "still no"})
    assert service.state(run, ["found"])["state"] == {"found": []}
    service.submit(a, "look", "x")
    found, seen, total, errors, results = service.status(run)["result"]
    assert (found, seen, total) == (["3x", "2z"], {"0": 3, "2": 2}, 5)
    assert [(one["index"], one["task_id"], one["item"], one["message"]) for one in errors] == [
        (1, "one_1", 1, "still no")
    ]
    # Each child saw the state from its start and its own changes.
    assert results[0] == results[2] == 1
    assert "error" in results[1]


def test_a_child_fails_when_its_own_time_is_up(box: Box) -> None:
    service = box.compile(SHARED.replace("retries: 1, ", "")).service
    reply = service.start("w", {})
    for child in children(reply)[:2]:
        service.submit(child, "look", "x")
    box.clock.pass_(51)
    wait_until(lambda: service.status(reply["workflow_id"])["status"] == "completed")
    _, _, _, errors, _ = service.status(reply["workflow_id"])["result"]
    assert [one["code"] for one in errors] == ["deadline"]


def test_internal_fields_are_not_part_of_the_result(box: Box) -> None:
    text = steps("{id: end, type: say, message: fine}", head="initial_state: {a: 1}\ninternal: [a]")
    assert box.compile(text).service.start("w", {})["result"] == {}


ANSWERS = steps(
    "{id: many, type: prompt, prompt_type: text, message: How many?, input_type: number, validation: {min: 1, max: 9},"
    " error_message: A number from 1 to 9., max_answers: 3, on_error: continue, output_to: many}",
    "{id: sure, type: prompt, prompt_type: text, message: Sure?, input_type: boolean, default: true, output_to: sure}",
    "{id: hold, type: wait, until_answer: true, duration_seconds: 60, message: Wait for CI.}",
    "{id: end, type: return, needs_state: [many, sure], value: ['{{ state.many.input | default(0) if state.many is"
    " defined else 0 }}', '{{ state.sure.input }}']}",
)


def test_answers_are_converted_have_defaults_and_may_be_limited(box: Box) -> None:
    service = box.compile(ANSWERS).service
    run = service.start("w", {})["workflow_id"]
    with pytest.raises(RefusedError, match="A number from 1 to 9"):
        service.submit(run, "many", {"input": "ten"})
    assert service.submit(run, "many", {"input": " 5 "})["action"]["step_id"] == "sure"
    reply = service.submit(run, "sure", {"input": ""})
    assert (reply["action"]["type"], reply["action"]["step_id"]) == ("wait", "hold")
    assert service.submit(run, "hold", "CI is green")["result"] == [5, True]
    other = service.start("w", {})["workflow_id"]
    for wrong in ("0", "x"):
        with pytest.raises(RefusedError):
            service.submit(other, "many", {"input": wrong})
    # The third answer that does not fit fails the step, which continues here.
    service.submit(other, "many", {"input": "10"})
    service.submit(other, "sure", {"input": "no"})
    box.clock.pass_(61)
    assert service.status(other)["result"] == [0, False]
