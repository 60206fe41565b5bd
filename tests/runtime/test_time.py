"""Waits, pauses, deadlines and overdue actions. Time moves a run, and so does a submit; reading does not."""

from __future__ import annotations

import threading

import pytest

from tests.runtime.support import OK, Box, children, step_ids, steps
from wfc_runtime.errors import DefinitionError, RefusedError

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


def test_after_the_moment_the_run_goes_on_without_anybody_asking(box: Box) -> None:
    run = box.compile(WAIT).service.start("w")["workflow_id"]
    box.clock.pass_(30)
    assert [event["event"] for event in box.service.history(run)["events"]] == ["started", "clock"]
    assert step_ids(box.restart().status(run)) == ["go"]
    waited = box.service.state(run, ["waited"])["state"]["waited"]
    assert waited == {"resumed": True, "duration": 30, "duration_seconds": 30}


def test_a_submit_after_the_moment_ends_a_wait(box: Box) -> None:
    run = box.compile(WAIT).service.start("w")["workflow_id"]
    box.clock.now += 30
    assert step_ids(box.service.submit(run, "settle", {"resumed": True})) == ["go"]


@pytest.mark.parametrize("read", ["next_step", "status", "history", "state"])
def test_reading_a_run_that_is_due_says_so_and_writes_nothing(file_box: Box, read: str) -> None:
    points: list[str] = []
    file_box.compile(WAIT)
    service = file_box.another(hook=points.append)
    run = service.start("w")["workflow_id"]
    file_box.clock.now += 31
    points.clear()
    getattr(service, read)(run)
    assert points == []
    parameters = service.next_step(run)["action"]["parameters"]
    assert (parameters["due"], parameters["seconds_left"]) == (True, 0)


def test_of_two_servers_exactly_one_moves_a_run_that_is_due(file_box: Box) -> None:
    run = file_box.compile(WAIT).service.start("w")["workflow_id"]
    one, two = file_box.another(), file_box.another()
    assert one.tick() == pytest.approx(30)
    file_box.clock.now += 30
    threads = [threading.Thread(target=server.tick) for server in (one, two) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert one.tick() is None
    assert [event["event"] for event in one.history(run)["events"]] == ["started", "clock"]


def test_a_run_whose_module_is_missing_does_not_keep_others_from_their_time(file_box: Box) -> None:
    other = steps(
        "{id: s, type: wait, duration_seconds: 1}", "{id: go, type: shell, command: x}", name="other"
    )
    service = file_box.compile(WAIT, other).service
    stuck, free = (service.start(name)["workflow_id"] for name in ("w", "other"))
    service.store._write_connection.execute("UPDATE modules SET text = 'x = 1' WHERE workflow = 'w'")
    (file_box.generated / "w.py").unlink()
    later = file_box.restart()
    file_box.clock.pass_(40)
    assert step_ids(later.status(free)) == ["go"]
    with pytest.raises(DefinitionError):
        later.status(stuck)


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
        "{id: a, type: shell, command: x, deadline: 40, retry: {max_attempts: 2}}",
        "{id: b, type: return, value: 1}",
    )
    run = box.compile(text).service.start("w")["workflow_id"]
    box.clock.pass_(41)
    with pytest.raises(RefusedError, match="`a` is no longer pending: it was answered, timed out"):
        box.service.submit(run, "a", OK)
    events = box.service.history(run)["events"]
    assert [event["event"] for event in events] == ["started", "clock"]
    assert events[1]["notes"][0]["code"] == "deadline"
    assert "actor" not in events[1]
    assert box.service.submit(run, "a@2", OK)["status"] == "completed"


def test_an_overdue_action_says_so_stays_pending_and_takes_a_late_result(box: Box) -> None:
    run = box.compile(steps("{id: a, type: shell, command: x, timeout: 10}")).service.start("w")[
        "workflow_id"
    ]
    assert "overdue_seconds" not in box.service.status(run)["action"]
    box.clock.pass_(3610)
    reply = box.restart().status(run)
    assert (reply["status"], reply["action"]["overdue_seconds"]) == ("pending_action", 3600)
    assert [event["event"] for event in box.service.history(run)["events"]] == ["started"]
    assert box.service.submit(run, "a", OK)["status"] == "completed"


def test_a_list_says_how_long_the_most_overdue_action_has_been_so(file_box: Box) -> None:
    text = steps(
        "{id: p, type: parallel, branches: {x: [{id: a, type: shell, command: x, timeout: 10}],"
        " y: [{id: b, type: shell, command: x, timeout: 500}]}}"
    )
    file_box.compile(text).service.start("w")
    file_box.clock.pass_(3610)
    [listed] = file_box.service.runs()["runs"]
    assert listed["overdue_seconds"] == 3600


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
    steps: [{id: s, type: shell, command: "echo {{ inputs.n }}", deadline: 60}]
"""
)


def test_a_child_past_its_deadline_ends_its_parents_wait_for_it(box: Box) -> None:
    reply = box.compile(EACH).service.start("w")
    one, two = children(reply)
    box.service.submit(one, "s", OK)
    box.clock.pass_(100)
    status = box.restart().status(reply["workflow_id"])
    assert status["status"] == "completed"
    first, second = status["result"]
    assert (first, second["error"]["code"]) == ({}, "deadline")
    assert box.service.status(two)["status"] == "failed"


def test_a_deadline_of_the_parent_ends_its_children(box: Box) -> None:
    text = (
        steps(
            "{id: p, type: parallel, join: fail_fast,"
            " branches: {x: [{id: a, type: shell, command: x, deadline: 30}],"
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
