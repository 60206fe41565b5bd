"""Answers: accepted once, given the same reply when repeated, and otherwise refused with the next call."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.support import OK, TWO, Box, Reply, step_ids, steps
from wfc_runtime.errors import NotFoundError, RefusedError, RequestError
from wfc_runtime.service.sqlite import SqliteService


@pytest.fixture
def service(box: Box) -> SqliteService:
    return box.compile(TWO).service


def seen(service: SqliteService, run: str) -> Any:
    return service.history(run), service.next_step(run)


def started(box: Box, *lines: str) -> tuple[SqliteService, str]:
    """A run of these steps."""
    service = box.compile(steps(*lines)).service
    return service, service.start("w")["workflow_id"]


def repeated(reply: Reply) -> Reply:
    """The reply to a repeated submit, where the run still waits for what it waited for then."""
    following = reply.pop("next")
    return {**reply, "repeated": True, "next": following}


def test_the_same_answer_again_changes_nothing_and_gets_the_reply_of_now(service: SqliteService) -> None:
    run = service.start("w")["workflow_id"]
    first = repeated(service.submit(run, "build", OK))
    before = seen(service, run)
    again = service.submit(run, "build", OK)
    assert again == first
    assert list(again)[-1] == "next"
    assert service.submit(run, "build", dict(reversed(OK.items()))) == first
    assert seen(service, run) == before


def test_a_repeated_answer_is_not_shown_an_action_that_is_over(box: Box, service: SqliteService) -> None:
    run = service.start("w")["workflow_id"]
    service.submit(run, "build", OK)
    last = repeated(service.submit(run, "test", OK))
    box.clock.pass_(1000)
    again = box.restart()
    assert last["status"] == "completed"
    assert again.submit(run, "build", OK) == last
    assert again.submit(run, "test", OK) == last


def test_a_repeated_answer_gets_all_actions_with_the_seconds_that_are_left_now(box: Box) -> None:
    text = steps(
        "{id: p, type: parallel, branches: {x: [{id: a, type: shell, command: x}, {id: c, type: shell, command: z}],"
        " y: [{id: b, type: wait, duration_seconds: 60}]}}"
    )
    service = box.compile(text).service
    run = service.start("w")["workflow_id"]
    box.clock.pass_(7)
    service.submit(run, "a", OK)
    box.clock.pass_(20)
    again = service.submit(run, "a", OK)
    waits = [one for one in again["actions"] if one["step_id"] == "b"]
    assert waits[0]["parameters"]["seconds_left"] == 33
    assert sorted(step_ids(again)) == ["b", "c"]


def test_another_answer_to_an_answered_visit_is_refused_with_what_is_pending(service: SqliteService) -> None:
    run = service.start("w")["workflow_id"]
    service.submit(run, "build", OK)
    before = seen(service, run)
    with pytest.raises(RefusedError) as caught:
        service.submit(run, "build", {**OK, "exit_code": 1})
    assert caught.value.code == "answered"
    assert str(caught.value) == (
        "`build` has already been answered with a different result, which is kept. Pending: `test`. "
        f'Next: submit_result(workflow_id="{run}", step_id="test", result=...)'
    )
    assert seen(service, run) == before


@pytest.mark.parametrize("other", [True, 1.0, "1", [1], None])
def test_results_are_compared_as_json_and_not_as_python(box: Box, other: Any) -> None:
    service = box.compile(
        steps("{id: a, type: mcp_call, tool: t, parameters: {}}", "{id: b, type: shell, command: x}")
    ).service
    run = service.start("w")["workflow_id"]
    service.submit(run, "a", 1)
    with pytest.raises(RefusedError, match="with a different result"):
        service.submit(run, "a", other)


def test_a_step_that_is_not_pending_is_refused_with_what_is(service: SqliteService) -> None:
    run = service.start("w")["workflow_id"]
    before = seen(service, run)
    for step_id, why in [("nope", "the run has no step `nope`"), ("test", "`test` has not been reached")]:
        with pytest.raises(RefusedError) as caught:
            service.submit(run, step_id, OK)
        assert caught.value.code == "not_pending"
        assert str(caught.value).startswith(f"{why}")
        assert "Pending: `build`. Next: submit_result(" in str(caught.value)
    assert seen(service, run) == before


def test_a_late_duplicate_cannot_answer_a_later_visit(box: Box) -> None:
    service, run = started(
        box,
        "{id: improve, type: shell, command: fix}",
        "{id: again, type: goto, target: improve, max_iterations: 2, else: stop}",
        "{id: stop, type: return, value: 1}",
    )
    first = repeated(service.submit(run, "improve", OK))
    assert step_ids(first) == ["improve@2"]
    assert service.submit(run, "improve", OK) == first
    assert step_ids(service.next_step(run)) == ["improve@2"]


def test_an_unknown_run_is_refused_with_where_to_look(service: SqliteService) -> None:
    with pytest.raises(NotFoundError, match=r"there is no run `nobody`\. list_runs\(\) shows"):
        service.submit("nobody", "build", OK)


def test_a_run_that_has_ended_is_refused_with_how_it_ended(service: SqliteService) -> None:
    run = service.start("w")["workflow_id"]
    service.cancel(run)
    with pytest.raises(RefusedError, match="the run is cancelled: nothing is pending") as caught:
        service.submit(run, "build", OK)
    assert str(caught.value).lower().count("the run is cancelled") == 1


def test_a_result_that_does_not_fit_is_refused_with_what_is_wrong_and_can_be_mended(
    service: SqliteService,
) -> None:
    run = service.start("w")["workflow_id"]
    pending = service.next_step(run)
    with pytest.raises(RefusedError) as caught:
        service.submit(run, "build", {"stdout": 3, "stderr": ""})
    assert caught.value.code == "result_misfit"
    assert "result.stdout: 3 is not of type 'string'" in str(caught.value)
    assert "'exit_code' is a required property" in str(caught.value)
    assert "Next: submit_result(" in str(caught.value)
    assert service.next_step(run) == pending
    assert step_ids(service.submit(run, "build", OK)) == ["test"]


def test_results_that_keep_not_fitting_fail_the_step_in_the_end(box: Box, service: SqliteService) -> None:
    run = service.start("w")["workflow_id"]
    for _ in range(2):
        with pytest.raises(RefusedError):
            box.restart().submit(run, "build", {})
    reply = box.restart().submit(run, "build", {})
    assert (reply["status"], reply["error"]["code"]) == ("failed", "result_misfit")


@pytest.mark.parametrize("result", [float("nan"), "\ud800", {"a": float("-inf")}, {"deep": [[]]}])
def test_a_result_that_cannot_be_kept_is_refused_and_the_run_stays_usable(box: Box, result: Any) -> None:
    if isinstance(result, dict) and "deep" in result:
        for _ in range(20_000):
            result = [result]
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    with pytest.raises(RefusedError) as caught:
        service.submit(run, "build", result)
    assert caught.value.code == "result_unfit"
    assert "Next: submit_result(" in str(caught.value)
    assert step_ids(service.submit(run, "build", OK)) == ["test"]


def test_a_result_over_the_limit_is_refused_with_the_way_round(box: Box) -> None:
    service = box.compile(TWO).limited(result_bytes=1000).service
    run = service.start("w")["workflow_id"]
    with pytest.raises(RefusedError, match=r"the limit is 1,000\. Write large data to a file"):
        service.submit(run, "build", {**OK, "stdout": "x" * 1000})
    assert step_ids(service.submit(run, "build", OK)) == ["test"]


@pytest.mark.parametrize("step_id", ["../x", "a\0", "", "x" * 129, 5])
def test_what_is_no_step_id_is_refused(service: SqliteService, step_id: Any) -> None:
    run = service.start("w")["workflow_id"]
    with pytest.raises(RequestError, match="`step_id`"):
        service.submit(run, step_id, OK)


def test_text_that_looks_like_sql_or_a_template_stays_text(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    nasty = "'); DROP TABLE runs; -- {{ inputs }} {% for x in y %} \\u0000 \x00"
    service.submit(run, "build", {**OK, "stdout": nasty}, actor=nasty)
    assert box.restart().state(run, ["built"])["state"]["built"]["stdout"] == nasty


def walk(service: SqliteService, reply: Reply) -> Reply:
    """Answer everything with success until the end."""
    while reply["status"] == "pending_action":
        for step_id in step_ids(reply):
            reply = service.submit(reply["workflow_id"], step_id, OK)
    return reply


def test_a_second_server_on_the_same_file_sees_and_answers_the_same_runs(box: Box) -> None:
    one, two = box.compile(TWO).service, box.another()
    run = one.start("w")["workflow_id"]
    assert two.next_step(run) == one.next_step(run)
    first = two.submit(run, "build", OK)
    assert one.next_step(run)["action"] == first["action"]
    assert one.submit(run, "build", OK) == repeated(dict(first))
    with pytest.raises(RefusedError, match="with a different result"):
        one.submit(run, "build", {**OK, "exit_code": 9})
    assert walk(one, first)["result"] == 0
    assert two.status(run)["status"] == "completed"


@pytest.mark.parametrize("result", [None, "", [], {}, 0])
def test_an_empty_result_that_does_not_fit_is_refused_and_the_history_says_so(
    service: SqliteService, result: Any
) -> None:
    run = service.start("w")["workflow_id"]
    with pytest.raises(RefusedError) as caught:
        service.submit(run, "build", result)
    assert caught.value.code == "result_misfit"
    last = service.history(run)["events"][-1]
    assert (last["event"], "refusal" in last, "result" in last) == ("refused", True, False)


@pytest.mark.parametrize("result", [None, "ä", {"a": [1.5, {"b": None}]}])
def test_any_plain_result_is_in_the_history_as_it_was_submitted(box: Box, result: Any) -> None:
    service, run = started(box, "{id: ask, type: mcp_call, tool: t, output_to: found}")
    service.submit(run, "ask", result)
    last = next(event for event in service.history(run)["events"] if event["event"] == "submitted")
    assert last["result"] == last["written"]["found"] == result
