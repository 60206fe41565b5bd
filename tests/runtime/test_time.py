"""Waits, pauses and deadlines: whoever asks first after the moment moves the run on."""

from __future__ import annotations

import pytest

from tests.runtime.support import OK, Box, children, step_ids, steps
from wfc_runtime.errors import RefusedError

WAIT = steps(
    "{id: settle, type: wait, duration_seconds: 30, message: soon, output_to: waited}",
    "{id: go, type: shell, command: x}",
)


def test_a_wait_says_when_to_come_back_and_how_long_that_is(box: Box) -> None:
    reply = box.compile(WAIT).service.start("w")
    run = reply["workflow_id"]
    assert reply["action"]["parameters"] == {
        "message": "soon",
        "duration_seconds": 30,
        "resume_at": "2023-11-14T22:13:50Z",
        "seconds_left": 30,
    }
    assert reply["next"] == f'get_workflow_status(workflow_id="{run}") after 2023-11-14T22:13:50Z'
    assert "result_schema" not in reply["action"]


def test_asking_early_gets_the_same_action_with_the_seconds_left(box: Box) -> None:
    reply = box.compile(WAIT).service.start("w")
    box.clock.pass_(12.5)
    early = box.service.next_step(reply["workflow_id"])
    assert early["action"]["parameters"]["seconds_left"] == 18
    reply["action"]["parameters"]["seconds_left"] = 18
    assert early == reply


@pytest.mark.parametrize("how", ["next_step", "status", "submit"])
def test_after_the_moment_the_run_goes_on_whoever_asks(box: Box, how: str) -> None:
    run = box.compile(WAIT).service.start("w")["workflow_id"]
    box.clock.pass_(30)
    service = box.restart()
    reply = (
        service.submit(run, "settle", {"resumed": True}) if how == "submit" else getattr(service, how)(run)
    )
    assert step_ids(reply) == ["go"]
    waited = service.state(run, ["waited"])["state"]["waited"]
    assert waited == {"resumed": True, "duration": 30, "duration_seconds": 30}


def test_ending_a_wait_twice_gets_the_same_reply(box: Box) -> None:
    run = box.compile(WAIT).service.start("w")["workflow_id"]
    box.clock.pass_(30)
    first = box.service.submit(run, "settle", {})
    box.clock.pass_(5)
    assert box.service.submit(run, "settle", {}) == first


def test_ending_a_wait_early_is_refused(box: Box) -> None:
    run = box.compile(WAIT).service.start("w")["workflow_id"]
    with pytest.raises(RefusedError, match="waits for another 30 s") as caught:
        box.service.submit(run, "settle", {})
    assert "after 2023-11-14T22:13:50Z" in str(caught.value)


def test_an_action_past_its_deadline_has_failed_and_a_late_result_is_refused(box: Box) -> None:
    text = steps(
        "{id: a, type: shell, command: x, timeout: 10, retry: {max_attempts: 2}}",
        "{id: b, type: return, value: 1}",
    )
    run = box.compile(text).service.start("w")["workflow_id"]
    box.clock.pass_(41)
    with pytest.raises(RefusedError, match="`a` is over: it was answered, timed out") as caught:
        box.service.submit(run, "a", OK)
    assert "Pending: `a@2`" in str(caught.value)
    events = box.service.history(run)["events"]
    assert [event["event"] for event in events] == ["started", "clock"]
    assert events[1]["notes"][0]["code"] == "timeout"
    assert "actor" not in events[1]
    assert box.service.submit(run, "a@2", OK)["status"] == "completed"


def test_a_result_in_time_counts_even_if_nobody_looked_in_between(box: Box) -> None:
    run = box.compile(steps("{id: a, type: shell, command: x, timeout: 10}")).service.start("w")[
        "workflow_id"
    ]
    box.clock.pass_(39)
    assert box.service.submit(run, "a", OK)["status"] == "completed"


def test_a_pause_before_a_retry_is_a_wait(box: Box) -> None:
    text = steps("{id: a, type: shell, command: x, retry: {max_attempts: 3, delay_seconds: 20, backoff: 2}}")
    service = box.compile(text).service
    run = service.start("w")["workflow_id"]
    reply = service.submit(run, "a", {"error": "no"})
    assert (reply["action"]["type"], reply["action"]["step_id"]) == ("wait", "a@retry")
    assert reply["action"]["parameters"]["seconds_left"] == 20
    box.clock.pass_(20)
    assert step_ids(service.status(run)) == ["a@2"]


EACH = (
    steps(
        "{id: each, type: foreach, items: [1, 2], task: t, output_to: o, on_error: continue}",
        "{id: z, type: return, needs_state: [o], value: '{{ state.o }}'}",
    )
    + """
tasks:
  t:
    inputs: {n: {type: number, required: true}}
    steps: [{id: s, type: shell, command: "echo {{ inputs.n }}", timeout: 60}]
"""
)


def test_a_child_whose_agent_vanished_is_found_by_whoever_asks_about_the_parent(box: Box) -> None:
    reply = box.compile(EACH).service.start("w")
    one, two = children(reply)
    box.service.submit(one, "s", OK)
    box.clock.pass_(100)
    status = box.restart().status(reply["workflow_id"])
    assert status["status"] == "completed"
    first, second = status["result"]
    assert (first, second["error"]["code"]) == ({}, "timeout")
    assert box.service.status(two)["status"] == "failed"


def test_whoever_asks_about_a_child_moves_its_parent_too(box: Box) -> None:
    text = (
        steps(
            "{id: p, type: parallel, branches: {x: [{id: a, type: shell, command: x, timeout: 5}],"
            " y: [{id: each, type: foreach, items: [1], task: t, output_to: o}]}}"
        )
        + EACH[EACH.index("tasks:") :]
    )
    reply = box.compile(text).service.start("w")
    child = reply["actions"][1]["parameters"]["children"][0]["workflow_id"]
    box.clock.pass_(36)
    status = box.service.next_step(child)
    assert (status["status"], status["reason"]) == ("cancelled", "its parent failed")


def test_looking_while_nothing_is_due_writes_nothing(file_box: Box) -> None:
    points: list[str] = []
    file_box.compile(WAIT)
    service = file_box.another(hook=points.append)
    run = service.start("w")["workflow_id"]
    points.clear()
    service.status(run)
    service.next_step(run)
    service.history(run)
    assert points == []


def test_a_wait_that_the_clock_has_ended_may_still_be_answered_late(box: Box) -> None:
    run = box.compile(WAIT).service.start("w")["workflow_id"]
    box.clock.pass_(31)
    after = box.service.next_step(run)
    assert box.service.submit(run, "settle", {"resumed": True}) == after
    with pytest.raises(RefusedError, match="has not been reached"):
        box.service.submit(run, "settle@2", {})


def test_a_pause_that_the_clock_has_ended_may_still_be_answered_late(box: Box) -> None:
    text = steps("{id: a, type: shell, command: x, retry: {max_attempts: 2, delay_seconds: 20}}")
    run = box.compile(text).service.start("w")["workflow_id"]
    box.service.submit(run, "a", {"error": "no"})
    box.clock.pass_(20)
    after = box.service.next_step(run)
    assert step_ids(after) == ["a@2"]
    assert box.service.submit(run, "a@retry", {}) == after


def test_a_call_past_its_deadline_has_failed_and_what_it_called_is_cancelled(box: Box) -> None:
    outer = steps(
        "{id: c, type: call, workflow: w, timeout: '{{ 60 * 2 }}', on_error: continue}",
        "{id: after, type: shell, command: x}",
        name="outer",
    )
    service = box.compile(steps("{id: a, type: shell, command: x, timeout: 600}"), outer).service
    reply = service.start("outer")
    assert reply["action"]["parameters"]["timeout"] == 120
    child = reply["action"]["parameters"]["children"][0]["workflow_id"]
    box.clock.pass_(119)
    assert service.next_step(child)["action"]["step_id"] == "a"
    box.clock.pass_(2)
    assert service.status(reply["workflow_id"])["action"]["step_id"] == "after"
    assert service.status(child)["status"] == "cancelled"
    notes = service.history(reply["workflow_id"])["events"][1]["notes"]
    assert (notes[0]["code"], notes[0]["message"]) == ("timeout", "`w` did not end within 120 seconds")


@pytest.mark.parametrize("given", ["{{ 0 }}", "{{ 'soon' }}", "{{ none }}", "{{ true }}", "{{ [1] }}"])
def test_a_timeout_of_a_call_that_is_no_time_fails_the_step(file_box: Box, given: str) -> None:
    outer = steps(f'{{id: c, type: call, workflow: w, timeout: "{given}"}}', name="outer")
    reply = file_box.compile(steps("{id: a, type: shell, command: x}"), outer).service.start("outer")
    assert reply["status"] == "failed"
    assert "not a number of seconds above 0" in reply["error"]["message"]
