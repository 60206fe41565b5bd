"""`fails_on_exit: true`: a non-zero exit code is a failure of the step, which `retry` and `on_error` see."""

from __future__ import annotations

import pytest

from tests.runtime.support import OK, Box, step_ids, steps

FAILED = {**OK, "exit_code": 2, "stderr": "no route to host"}
PLAIN = steps(
    "{id: up, type: shell, command: ./up, fails_on_exit: true, output_to: out}",
    '{id: end, type: return, needs_state: [out], value: "{{ state.out.exit_code }}"}',
)


def test_a_command_that_ends_well_is_a_result_like_any_other(box: Box) -> None:
    run = box.compile(PLAIN).service.start("w")["workflow_id"]
    reply = box.service.submit(run, "up", OK)
    assert (reply["status"], reply["result"]) == ("completed", 0)


def test_a_non_zero_exit_code_fails_the_run_with_what_the_command_said(box: Box) -> None:
    run = box.compile(PLAIN).service.start("w")["workflow_id"]
    reply = box.service.submit(run, "up", FAILED)
    assert reply["status"] == "failed"
    assert reply["error"]["code"] == "exit_code"
    assert reply["error"]["message"] == "the command failed with exit code 2: no route to host"
    assert reply["error"]["step_id"] == "up"


def test_without_it_the_exit_code_is_data(box: Box) -> None:
    run = box.compile(PLAIN.replace(", fails_on_exit: true", "")).service.start("w")["workflow_id"]
    assert box.service.submit(run, "up", FAILED)["result"] == 2


def test_retry_tries_the_command_again(box: Box) -> None:
    text = PLAIN.replace("fails_on_exit: true", "fails_on_exit: true, retry: {max_attempts: 3}")
    run = box.compile(text).service.start("w")["workflow_id"]
    for visit in ("up", "up@2"):
        reply = box.service.submit(run, visit, FAILED)
        assert reply["status"] == "pending_action"
    assert step_ids(reply) == ["up@3"]
    assert box.service.submit(run, "up@3", OK)["result"] == 0


def test_the_last_attempt_fails_the_run(box: Box) -> None:
    text = PLAIN.replace("fails_on_exit: true", "fails_on_exit: true, retry: {max_attempts: 2}")
    run = box.compile(text).service.start("w")["workflow_id"]
    box.service.submit(run, "up", FAILED)
    assert box.service.submit(run, "up@2", FAILED)["error"]["code"] == "exit_code"


@pytest.mark.parametrize(("handler", "expected"), [("continue", "done"), ("{goto: saved}", "saved")])
def test_on_error_handles_it(box: Box, handler: str, expected: str) -> None:
    text = steps(
        f"{{id: up, type: shell, command: ./up, fails_on_exit: true, on_error: {handler}}}",
        "{id: done, type: return, value: done}",
        "{id: saved, type: return, value: saved}",
    )
    run = box.compile(text).service.start("w")["workflow_id"]
    assert box.service.submit(run, "up", FAILED)["result"] == expected


def test_a_long_output_is_cut_and_a_secret_one_is_not_told(box: Box) -> None:
    run = box.compile(PLAIN).service.start("w")["workflow_id"]
    told = box.service.submit(run, "up", {**FAILED, "stderr": "x" * 5000})["error"]["message"]
    assert len(told) < 600
    text = PLAIN.replace("output_to: out", "output_to: out, secret: true").replace("name: w", "name: s", 1)
    run = box.compile(text).service.start("s")["workflow_id"]
    told = box.service.submit(run, "up", {**FAILED, "stderr": "the password is tiger"})["error"]["message"]
    assert told == "the command failed with exit code 2"
