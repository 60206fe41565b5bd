"""A failed run is retried: the failed step is entered again as a new visit, with the state as it was."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tests.runtime.support import OK, TWO, Box, Reply, step_ids, steps
from tests.support import wait_until
from wfc_runtime.errors import DefinitionError, NotFoundError, RefusedError, RequestError

BROKEN = {"error": "the network is down"}
SIDES = """
name: w
version: 1.0.0
steps:
  - id: both
    type: parallel
    join: fail_fast
    branches:
      left:
        - {id: build, type: shell, command: make, output_to: built}
      right:
        - {id: lint, type: shell, command: lint, output_to: linted, timeout: 60}
        - {id: report, type: shell, command: report}
  - {id: done, type: return, needs_state: [built, linted], value: "{{ state.built.stdout }} {{ state.linted.stdout }}"}
"""


def failed(box: Box, *texts: str) -> str:
    """A run of `w` whose step `build` has failed."""
    run = str(box.compile(*texts or (TWO,)).service.start("w")["workflow_id"])
    assert box.service.submit(run, "build", BROKEN)["status"] == "failed"
    return run


def kinds(box: Box, run: str) -> list[str]:
    return [event["event"] for event in box.service.history(run)["events"]]


def refusal(box: Box, run: str, step_id: str = "") -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        box.service.retry(run, step_id)
    return caught.value


def test_a_failed_step_is_entered_again_as_a_new_visit_with_the_state_as_it_was(box: Box) -> None:
    run = box.compile(TWO).service.start("w")["workflow_id"]
    box.service.submit(run, "build", OK)
    assert box.service.submit(run, "test", BROKEN)["error"]["step_id"] == "test"
    again = box.service.retry(run, "test", actor="me")
    assert (again["status"], step_ids(again)) == ("pending_action", ["test@2"])
    assert box.service.state(run, ["built"])["state"]["built"] == OK
    assert box.service.submit(run, "test@2", {**OK, "exit_code": 5})["result"] == 5
    assert kinds(box, run) == ["started", "submitted", "submitted", "retried", "submitted"]
    event = box.service.history(run)["events"][3]
    assert (event["step_id"], event["actor"], event["entered"]) == ("test", "me", ["test"])


def test_the_step_may_be_left_out_if_one_failed(box: Box) -> None:
    assert step_ids(box.service.retry(failed(box))) == ["build@2"]


def test_the_reply_of_a_failed_run_names_the_retry_as_the_next_call(box: Box) -> None:
    run = failed(box)
    call = f'retry_workflow(workflow_id="{run}", step_id="build") when the cause has been fixed'
    assert box.service.status(run)["next"].startswith(call)
    with pytest.raises(RefusedError, match="the run is failed: nothing is pending") as caught:
        box.service.submit(run, "test", OK)
    assert caught.value.next_call.startswith(call)


def test_the_same_visit_again_changes_nothing_and_gets_the_reply_of_now(box: Box) -> None:
    run = failed(box)
    first = box.service.retry(run, "build")
    assert box.service.retry(run, "build") == {**first, "repeated": True}
    assert box.service.retry(run) == {**first, "repeated": True}
    box.service.submit(run, "build@2", OK)
    assert step_ids(box.service.retry(run, "build")) == ["test"]
    box.service.submit(run, "test", OK)
    ended = box.service.retry(run, "build")
    assert (ended["status"], ended["repeated"]) == ("completed", True)
    assert kinds(box, run).count("retried") == 1


def test_a_retry_can_fail_and_be_retried(box: Box) -> None:
    run = failed(box)
    for visit in ("build", "build@2", "build@3"):
        again = box.service.retry(run, visit)
        box.service.submit(run, step_ids(again)[0], BROKEN)
    # A visit that was retried before is not the one that failed now.
    assert box.service.retry(run, "build@2")["status"] == "failed"
    assert step_ids(box.service.retry(run, "build@4")) == ["build@5"]


@pytest.mark.parametrize("step_id", ["test", "build@2", "nothing", "build@0"])
def test_a_step_that_has_not_failed_is_refused_with_the_one_that_has(box: Box, step_id: str) -> None:
    run = failed(box)
    refused = refusal(box, run, step_id)
    assert refused.message == f"`{step_id}` is not a step that failed this run"
    assert refused.hint.startswith("Failed: `build`.")
    assert refused.next_call.startswith(f'retry_workflow(workflow_id="{run}", step_id="build")')
    assert kinds(box, run) == ["started", "submitted"]


def test_only_failed_runs_are_retried(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    assert refusal(box, run).message == "the run is in progress: only a failed run can be retried"
    service.submit(run, "build", OK)
    service.submit(run, "test", OK)
    assert refusal(box, run, "test").message == "the run is completed: only a failed run can be retried"
    cancelled = service.start("w")["workflow_id"]
    service.cancel(cancelled, "enough")
    assert refusal(box, cancelled).message == "the run is cancelled: only a failed run can be retried"
    with pytest.raises(NotFoundError):
        service.retry("nobody")
    with pytest.raises(RequestError):
        service.retry(run, "not a step!")


def test_a_run_that_was_retried_can_be_cancelled(box: Box) -> None:
    run = failed(box)
    box.service.retry(run)
    assert box.service.cancel(run, "enough")["status"] == "cancelled"
    assert refusal(box, run, "build@2").message.startswith("the run is cancelled")


def test_steps_that_were_pending_beside_it_are_pending_again_as_the_same_visits(box: Box) -> None:
    run = failed(box, SIDES)
    again = box.service.retry(run)
    assert sorted(step_ids(again)) == ["build@2", "lint"]
    box.service.submit(run, "lint", {**OK, "stdout": "clean"})
    box.service.submit(run, "report", OK)
    assert box.service.submit(run, "build@2", OK)["result"] == "fine clean"


def test_a_branch_that_had_ended_stays_at_its_end(box: Box) -> None:
    run = box.compile(SIDES).service.start("w")["workflow_id"]
    box.service.submit(run, "lint", OK)
    box.service.submit(run, "report", OK)
    box.service.submit(run, "build", BROKEN)
    assert step_ids(box.service.retry(run)) == ["build@2"]
    assert box.service.submit(run, "build@2", OK)["status"] == "completed"


def test_deadlines_start_again_and_waits_that_are_over_end(box: Box) -> None:
    text = SIDES.replace("output_to: built}", "output_to: built, deadline: 100}").replace(
        "{id: report, type: shell, command: report}", "{id: pause, type: wait, duration_seconds: 50}"
    )
    text = text.replace("timeout: 60}", "deadline: 70}")
    run = failed(box, text)
    box.clock.now += 1000
    box.service.retry(run)
    box.clock.pass_(60)
    assert sorted(step_ids(box.service.status(run))) == ["build@2", "lint"]
    box.service.submit(run, "lint", OK)
    assert box.service.submit(run, "build@2", BROKEN)["status"] == "failed"
    box.clock.now += 1000
    box.service.retry(run)
    box.clock.pass_(1)
    assert step_ids(box.service.status(run)) == ["build@3"]


def test_a_step_that_failed_at_its_deadline_gets_all_of_it_again(box: Box) -> None:
    box.compile(
        steps("{id: ask, type: prompt, prompt_type: confirm, message: go?, output_to: a, deadline: 60}")
    )
    run = box.service.start("w")["workflow_id"]
    box.clock.pass_(61)
    assert box.service.status(run)["error"]["code"] == "deadline"
    box.service.retry(run, "ask")
    box.clock.pass_(59)
    assert step_ids(box.service.status(run)) == ["ask@2"]
    box.clock.pass_(2)
    assert box.service.status(run)["error"]["step_id"] == "ask@2"


def test_a_retried_step_has_all_attempts_of_its_own_retry_again(box: Box) -> None:
    box.compile(steps("{id: call, type: mcp_call, tool: t, parameters: {}, retry: {max_attempts: 2}}"))
    run = box.service.start("w")["workflow_id"]
    for visit in ("call", "call@2"):
        reply = box.service.submit(run, visit, BROKEN)
    assert reply["status"] == "failed"
    assert step_ids(box.service.retry(run, "call@2")) == ["call@3"]
    assert step_ids(box.service.submit(run, "call@3", BROKEN)) == ["call@4"]
    assert box.service.submit(run, "call@4", BROKEN)["status"] == "failed"


LOOP = steps(
    "{id: again, type: while, needs_state: [n], if: '{{ state.n < 9 }}', max_iterations: 2, steps: ["
    "{id: work, type: shell, command: x, output_to: w},"
    " {id: count, type: set_state, needs_state: [n], updates: {n: '{{ state.n + 1 }}'}}]}",
    head="initial_state: {n: 0}",
)


def test_a_loop_that_reached_max_iterations_may_do_as_many_again(box: Box) -> None:
    run = box.compile(LOOP).service.start("w")["workflow_id"]
    reply: Reply = {}
    for visit in ("work", "work@2"):
        reply = box.service.submit(run, visit, OK)
    assert reply["error"]["code"] == "max_iterations"
    reply = box.service.retry(run, reply["error"]["step_id"])
    assert step_ids(reply) == ["work@3"]
    box.service.submit(run, "work@3", OK)
    assert box.service.submit(run, "work@4", OK)["error"]["code"] == "max_iterations"
    assert box.service.state(run, ["n"])["state"]["n"] == 4


def test_a_retried_step_in_a_loop_uses_no_turn_of_it(box: Box) -> None:
    run = box.compile(LOOP).service.start("w")["workflow_id"]
    box.service.submit(run, "work", BROKEN)
    box.service.retry(run, "work")
    assert step_ids(box.service.submit(run, "work@2", OK)) == ["work@3"]


GOTO = steps(
    "{id: work, type: shell, command: x, output_to: w}",
    "{id: back, type: goto, needs_state: [w], when: '{{ state.w.exit_code == 1 }}', target: work, max_iterations: 2}",
)


def test_a_goto_that_reached_max_iterations_may_be_taken_as_often_again(box: Box) -> None:
    run = box.compile(GOTO).service.start("w")["workflow_id"]
    reply: Reply = {}
    for visit in ("work", "work@2", "work@3"):
        reply = box.service.submit(run, visit, {**OK, "exit_code": 1})
    assert reply["error"]["code"] == "max_iterations"
    assert step_ids(box.service.retry(run)) == ["work@4"]


@pytest.mark.parametrize(
    "line",
    [
        "{id: check, type: shell, needs_state: [built], when: '{{ 1 / state.built.exit_code > 0 }}', command: x}",
        "{id: check, type: shell, needs_state: [built], command: 'x {{ 1 / state.built.exit_code }}'}",
        "{id: check, type: set_state, needs_state: [built], updates: {n: '{{ 1 / state.built.exit_code }}'}}",
        "{id: check, type: condition, needs_state: [built], if: '{{ 1 / state.built.exit_code > 0 }}', then: ["
        "{id: x, type: shell, command: x}]}",
        "{id: check, type: return, needs_state: [built], value: '{{ 1 / state.built.exit_code }}'}",
        "{id: check, type: foreach, needs_state: [built], items: '{{ [1 / state.built.exit_code] }}', task: t}",
    ],
    ids=["when", "command", "set_state", "condition", "return", "items"],
)
def test_an_expression_that_failed_is_evaluated_again_and_fails_again(box: Box, line: str) -> None:
    tasks = "tasks: {t: {steps: [{id: s, type: shell, command: x}]}}\n" if "task: t" in line else ""
    box.compile(steps("{id: build, type: shell, command: make, output_to: built}", line) + tasks)
    run = box.service.start("w")["workflow_id"]
    reply = box.service.submit(run, "build", OK)
    assert (reply["status"], reply["error"]["step_id"]) == ("failed", "check")
    again = box.service.retry(run, "check")
    assert (again["status"], again["error"]["step_id"]) == ("failed", "check@2")
    assert box.service.retry(run, "check")["repeated"] is True
    assert kinds(box, run) == ["started", "submitted", "retried"]


def test_what_a_branch_has_computed_is_not_computed_again(box: Box) -> None:
    text = """
name: w
version: 1.0.0
initial_state: {n: 0, bad: 0}
steps:
  - id: both
    type: parallel
    join: fail_fast
    branches:
      left:
        - {id: count, type: set_state, needs_state: [n], updates: {n: "{{ state.n + 1 }}"}}
        - {id: after, type: shell, command: x}
      right:
        - {id: broken, type: shell, needs_state: [bad], command: "x {{ 1 / state.bad }}"}
      last:
        - {id: ask, type: shell, command: y}
"""
    run = box.compile(text).service.start("w")["workflow_id"]
    again = box.service.retry(run, "broken")
    assert again["error"]["step_id"] == "broken@2"
    assert box.service.state(run, ["n"])["state"]["n"] == 1


def test_an_error_that_a_step_recovered_from_is_not_what_is_retried(box: Box) -> None:
    box.compile(
        steps(
            "{id: first, type: shell, command: x, on_error: continue}",
            "{id: build, type: shell, command: x, on_error: {goto: fix}}",
            "{id: fix, type: shell, command: x}",
        )
    )
    run = box.service.start("w")["workflow_id"]
    box.service.submit(run, "first", BROKEN)
    box.service.submit(run, "build", BROKEN)
    box.service.submit(run, "fix", BROKEN)
    assert "`build` is not a step that failed" in refusal(box, run, "build").message
    assert step_ids(box.service.retry(run)) == ["fix@2"]


DEFERRED = steps(
    "{id: lint, type: shell, command: x, on_error: defer}",
    "{id: build, type: shell, command: x, on_error: defer}",
    "{id: last, type: shell, command: x}",
)


def test_a_deferred_failure_is_retried_after_the_end_and_what_follows_it_is_done_again(box: Box) -> None:
    run = box.compile(DEFERRED).service.start("w")["workflow_id"]
    box.service.submit(run, "lint", BROKEN)
    box.service.submit(run, "build", OK)
    assert box.service.submit(run, "last", OK)["error"]["step_id"] == "lint"
    assert step_ids(box.service.retry(run)) == ["lint@2"]
    box.service.submit(run, "lint@2", OK)
    box.service.submit(run, "build@2", OK)
    assert box.service.submit(run, "last@2", OK)["status"] == "completed"


def test_of_several_deferred_failures_one_has_to_be_named(box: Box) -> None:
    run = box.compile(DEFERRED).service.start("w")["workflow_id"]
    for visit in ("lint", "build"):
        box.service.submit(run, visit, BROKEN)
    box.service.submit(run, "last", OK)
    assert refusal(box, run).message == "several steps failed: `lint`, `build`"
    assert step_ids(box.service.retry(run, "build")) == ["build@2"]
    box.service.submit(run, "build@2", OK)
    # The other failure still counts.
    ended = box.service.submit(run, "last@2", OK)
    assert (ended["status"], ended["error"]["step_id"]) == ("failed", "lint")
    box.service.retry(run)
    box.service.submit(run, "lint@2", OK)
    box.service.submit(run, "build@3", OK)
    assert box.service.submit(run, "last@3", OK)["status"] == "completed"


def test_a_deferred_failure_in_a_branch_leaves_the_other_branches_at_their_end(box: Box) -> None:
    text = SIDES.replace("output_to: built}", "output_to: built, on_error: defer}").replace(
        "  - {id: done", "  - {id: after, type: shell, command: x}\n  - {id: done"
    )
    text = text.replace('value: "{{ state.built.stdout }} {{ state.linted.stdout }}"', "value: 1")
    run = box.compile(text).service.start("w")["workflow_id"]
    for visit, result in (("build", BROKEN), ("lint", OK), ("report", OK), ("after", OK)):
        reply = box.service.submit(run, visit, result)
    assert reply["status"] == "failed"
    assert step_ids(box.service.retry(run)) == ["build@2"]
    assert step_ids(box.service.submit(run, "build@2", OK)) == ["after@2"]
    assert box.service.submit(run, "after@2", OK)["status"] == "completed"


def test_a_run_that_had_secrets_forgot_them_and_is_not_retried(box: Box) -> None:
    text = steps(
        "{id: build, type: shell, command: 'curl -H {{ inputs.token | shquote }}'}",
        head="inputs: {token: {type: string, required: true, secret: true}}",
    )
    run = box.compile(text).service.start("w", {"token": "s3cret-token"})["workflow_id"]
    reply = box.service.submit(run, "build", BROKEN)
    assert reply["next"] == (
        'start_workflow(workflow="w", inputs=...) when the cause has been fixed: '
        "this run can't be retried, its secrets were deleted; otherwise nothing: the run is failed"
    )
    refused = refusal(box, run, "build")
    assert "secrets, which were deleted when it failed" in refused.message
    assert refused.next_call == reply["next"]
    _, _, snapshot = box.service.definition(run)
    assert "s3cret" not in snapshot.to_json()


def test_a_run_that_failed_under_an_earlier_version_is_refused_clearly(file_box: Box) -> None:
    run = failed(file_box)
    data = file_box.service.export(run)
    for key in ("failures", "kept"):
        del data["runs"][0]["snapshot"][key]
    file_box.service.erase(run)
    file_box.service.import_(data)
    assert file_box.service.status(run)["next"].startswith('start_workflow(workflow="w", inputs=...) when ')
    assert "failed under an earlier version of wfc" in refusal(file_box, run, "build").message


def test_a_run_goes_on_with_the_version_that_it_failed_with(box: Box) -> None:
    run = failed(box)
    box.compile(TWO.replace("id: test", "id: verify"))
    box.restart().retry(run)
    assert step_ids(box.service.submit(run, "build@2", OK)) == ["test"]


def test_a_run_that_was_migrated_is_retried_in_its_new_version(box: Box) -> None:
    run = box.compile(TWO).service.start("w")["workflow_id"]
    box.compile(TWO.replace("id: test", "id: verify"))
    box.service.migrate(run)
    box.service.submit(run, "build", BROKEN)
    box.service.retry(run)
    assert step_ids(box.service.submit(run, "build@2", OK)) == ["verify"]


def test_a_run_whose_module_is_gone_says_so(file_box: Box) -> None:
    run = failed(file_box)
    file_box.close()
    import sqlite3

    with sqlite3.connect(file_box.state) as connection:
        connection.execute("DELETE FROM modules")
    connection.close()
    for file in file_box.generated.iterdir():
        file.unlink()
    with pytest.raises(DefinitionError, match="can't be used: it is not in the store"):
        file_box.service.retry(run)


def test_of_many_servers_that_retry_at_once_exactly_one_does(box: Box) -> None:
    run = failed(box)
    services = [box.another() for _ in range(4)]
    replies: list[Any] = []

    def work(service: Any) -> None:
        replies.append(service.retry(run, "build"))

    threads = [threading.Thread(target=work, args=(one,)) for one in services]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [step_ids(reply) for reply in replies] == [["build@2"]] * 4
    assert [reply.get("repeated", False) for reply in replies].count(False) == 1
    assert kinds(box, run) == ["started", "submitted", "retried"]


def test_an_answer_to_a_visit_of_before_the_failure_is_still_known(box: Box) -> None:
    run = box.compile(TWO).service.start("w")["workflow_id"]
    box.service.submit(run, "build", OK)
    box.service.submit(run, "test", BROKEN)
    box.service.retry(run)
    assert box.service.submit(run, "build", OK)["repeated"] is True
    assert step_ids(box.service.submit(run, "test", BROKEN)) == ["test@2"]
    with pytest.raises(RefusedError, match="already been answered with a different result"):
        box.service.submit(run, "test", OK)


def test_a_retried_run_is_listed_and_counted_once_with_its_status_of_now(box: Box) -> None:
    run = failed(box)
    box.service.retry(run)
    # Another process: Temporal's lists lag behind, and a service remembers what it has done itself.
    other = box.another()
    wait_until(lambda: [one.get("pending") for one in other.runs()["runs"]] == [["build@2"]])
    assert other.runs("failed")["runs"] == []
    [one] = other.runs("all")["runs"]
    assert (one["workflow_id"], one["status"]) == (run, "pending_action")
    assert other.counts()["runs"] == {"pending_action": 1}
    box.service.submit(run, "build@2", BROKEN)
    wait_until(lambda: [one["workflow_id"] for one in other.runs("failed")["runs"]] == [run])
    assert other.runs()["runs"] == []
    assert other.counts()["workflows"] == {"w": {"failed": 1}}


def test_a_snapshot_that_was_tampered_with_is_refused_and_changes_nothing(file_box: Box) -> None:
    run = failed(file_box, SIDES)
    data = json.loads(json.dumps(file_box.service.export(run)))
    for break_it in (
        lambda kept: kept["configuration"].remove("both"),
        lambda kept: kept["configuration"].append("nowhere"),
        lambda kept: kept["pending"].update(x={"state": "done"}),
        lambda kept: kept["configuration"].append("completed"),
    ):
        broken = json.loads(json.dumps(data))
        break_it(broken["runs"][0]["snapshot"]["kept"])
        file_box.service.erase(run)
        file_box.service.import_(broken)
        with pytest.raises(Exception, match=r"go together|has no state") as caught:
            file_box.service.retry(run)
        assert caught.value.code in ("snapshot_illegal", "definition_changed")
        assert file_box.service.status(run)["status"] == "failed"


def test_the_path_and_the_visits_of_a_retried_run_show_what_is_pending_again(box: Box) -> None:
    run = failed(box, SIDES)
    box.clock.now += 10
    box.service.retry(run)
    path = box.service.path(run)
    assert sorted(path["current"]) == ["build", "lint"]
    assert (path["visited"]["build"], path["visited"]["lint"]) == (2, 1)
    assert ["build", "build", 1] not in path["taken"]
    bars = {bar["step_id"]: bar for bar in box.service.visits(run)["visits"]}
    assert bars["build"]["outcome"] == "failed"
    assert "ended" not in bars["lint"]
    assert "ended" not in bars["build@2"]
    box.service.submit(run, "build@2", {**OK, "stdout": "x" * 500})
    box.service.submit(run, "lint", OK)
    assert box.service.state_at(run, 4)["state"]["built"]["stdout"] == "x" * 500
    assert box.service.history(run, before=0, kinds=["retried"])["events"][0]["step_id"] == "build"
