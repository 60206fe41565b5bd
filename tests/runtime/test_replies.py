"""What the agent reads: one shape, the exact next call, and nothing that it did not ask for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.runtime.support import OK, TWO, Box, children, step_ids, steps
from tests.support import wait_until
from wfc_runtime.errors import NotFoundError, RefusedError, RequestError


def test_a_start_brings_the_first_action_and_the_call_that_answers_it(box: Box) -> None:
    reply = box.compile(TWO).service.start("w", {}, actor="tool-1")
    run = reply["workflow_id"]
    assert reply == {
        "workflow_id": run,
        "status": "pending_action",
        "action": {
            "step_id": "build",
            "type": "shell",
            "parameters": {"command": "make", "timeout": 30},
            "instruction": "Run this command; submit the result.",
            "result_schema": {
                "type": "object",
                "properties": {
                    "stdout": {"type": "string"},
                    "stderr": {"type": "string"},
                    "exit_code": {"type": "integer"},
                },
                "required": ["stdout", "exit_code"],
            },
        },
        "next": f'submit_result(workflow_id="{run}", step_id="build", result=...)',
    }
    assert list(reply)[-1] == "next"


def test_a_submit_brings_the_next_action_and_the_last_one_the_result(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    reply = service.submit(run, "build", {**OK, "exit_code": 4})
    assert reply["action"]["parameters"]["command"] == "test 4"
    reply = service.submit(run, "test", {**OK, "exit_code": 5})
    assert reply == {
        "workflow_id": run,
        "status": "completed",
        "result": 5,
        "next": "nothing: the run is completed",
    }


def test_a_failed_run_says_what_failed_where_and_what_to_do(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    reply = service.submit(run, "build", {"error": "no compiler"})
    call = f'retry_workflow(workflow_id="{run}", step_id="build")'
    next_call = f"{call} when the cause has been fixed; otherwise nothing: the run is failed"
    assert (reply["status"], reply["next"]) == ("failed", next_call)
    error = reply["error"]
    assert (error["code"], error["message"], error["step_id"]) == ("agent_error", "no compiler", "build")
    assert error["hint"].endswith("See workflows/w.yaml:5.")


def test_a_command_that_writes_files_says_how_their_values_are_submitted(box: Box) -> None:
    text = steps(
        "{id: a, type: shell, command: 'wc > $SCRATCH/n', output_to: o,"
        " outputs: {n: {type: integer, path: $SCRATCH/n}}}"
    )
    action = box.compile(text).service.start("w")["action"]
    assert (
        "Then read the file of each declared output and submit the values by name as `outputs`"
        in action["instruction"]
    )
    assert "`$SCRATCH` is a folder" in action["instruction"]


def test_several_pending_actions_come_as_a_list(box: Box) -> None:
    text = steps(
        "{id: p, type: parallel, branches: {x: [{id: a, type: shell, command: x}],"
        " y: [{id: b, type: shell, command: y}]}}"
    )
    service = box.compile(text).service
    reply = service.start("w")
    assert "action" not in reply
    assert step_ids(reply) == ["a", "b"]
    assert 'step_id=<each of "a", "b", in any order>' in reply["next"]
    reply = service.submit(reply["workflow_id"], "b", OK)
    assert step_ids(reply) == ["a"]
    assert reply["new"] == []


def test_a_submit_says_which_actions_are_new_where_others_were_pending(box: Box) -> None:
    text = steps(
        "{id: p, type: parallel, branches: {x: [{id: a, type: shell, command: x}, {id: c, type: shell, command: z}],"
        " y: [{id: b, type: shell, command: y}]}}",
        "{id: last, type: shell, command: z}",
    )
    service = box.compile(text).service
    run = service.start("w")["workflow_id"]
    reply = service.submit(run, "a", OK)
    assert (step_ids(reply), reply["new"]) == (["b", "c"], ["c"])
    assert list(reply)[-1] == "next"
    # A caller that looks, or repeats an answer, may have seen none of them.
    assert "new" not in service.status(run)
    assert "new" not in service.submit(run, "a", OK)
    service.submit(run, "b", OK)
    assert "new" not in service.submit(run, "c", OK)


def test_results_are_asked_for_what_the_workflow_reads_and_no_more(box: Box) -> None:
    text = steps(
        "{id: a, type: shell, command: x, output_to: a}",
        "{id: b, type: delegate, instructions: think, output_to: b}",
        "{id: r, type: return, needs_state: [a, b], value: ['{{ state.a.duration | default(0) }}',"
        " '{{ state.b.response }}']}",
    )
    service = box.compile(text).service
    reply = service.start("w")
    assert list(reply["action"]["result_schema"]["properties"]) == [
        "stdout",
        "stderr",
        "exit_code",
        "duration",
    ]
    run = reply["workflow_id"]
    action = service.submit(run, "a", {**OK, "duration": 3, "timed_out": False})["action"]
    assert list(action["result_schema"]["properties"]) == ["response"]
    assert action["parameters"] == {"instructions": "think", "timeout": 300}
    # What was not asked for is accepted all the same, and checked.
    with pytest.raises(RefusedError, match="tokens_used"):
        service.submit(run, "b", {"response": "x", "tokens_used": "many"})
    assert service.submit(run, "b", {"response": "x", "tokens_used": 7})["result"] == [3, "x"]


def test_a_result_schema_of_the_workflow_is_shown_as_it_is_written(box: Box) -> None:
    schema = "{type: object, properties: {duration: {type: number}}}"
    text = steps(f"{{id: a, type: mcp_call, tool: t, parameters: {{}}, result_schema: {schema}}}")
    action = box.compile(text).service.start("w")["action"]
    assert list(action["result_schema"]["properties"]) == ["duration"]


def test_a_command_s_folder_and_variables_are_named_in_its_instruction(box: Box) -> None:
    def instruction(more: str) -> str:
        text = steps(f"{{id: a, type: shell, command: make{more}}}")
        return str(box.compile(text).service.start("w")["action"]["instruction"])

    assert instruction(", working_dir: api") == (
        "Run this command in the folder `working_dir`; submit the result."
    )
    assert (
        instruction(", env: {CI: '1'}")
        == "Run this command with the variables in `env` set; submit the result."
    )
    assert instruction(", working_dir: api, env: {CI: '1'}") == (
        "Run this command in the folder `working_dir` with the variables in `env` set; submit the result."
    )
    assert instruction(", env: {}") == "Run this command; submit the result."


def test_a_result_without_stderr_is_accepted_and_later_steps_read_an_empty_one(box: Box) -> None:
    text = steps(
        "{id: a, type: shell, command: x, output_to: a}",
        "{id: r, type: return, needs_state: [a], value: '{{ state.a }}'}",
    )
    service = box.compile(text).service
    run = service.start("w")["workflow_id"]
    merged = {"stdout": "out and err", "exit_code": 1}
    assert service.submit(run, "a", merged)["result"] == {**merged, "stderr": ""}
    # The same again is the same, and the history has it as it was submitted.
    assert service.submit(run, "a", merged)["repeated"] is True
    [event] = [one for one in service.history(run)["events"] if one["event"] == "submitted"]
    assert event["result"] == merged


def test_what_goes_on_by_itself_is_not_among_the_steps_to_submit(box: Box) -> None:
    text = steps(
        "{id: p, type: parallel, branches: {x: [{id: a, type: shell, command: x}],"
        " y: [{id: b, type: wait, duration_seconds: 60}],"
        " z: [{id: c, type: foreach, items: [1], task: t, output_to: o}],"
        " u: [{id: d, type: wait, duration_seconds: 30}]}}",
        head="tasks: {t: {inputs: {i: {type: number, required: true}}, steps:"
        " [{id: s, type: shell, command: 'echo {{ inputs.i }}'}]}}",
    )
    service = box.compile(text).service
    reply = service.start("w")
    run = reply["workflow_id"]
    assert reply["next"] == f'submit_result(workflow_id="{run}", step_id="a", result=...)'
    reply = service.submit(run, "a", OK)
    [child] = reply["actions"][1]["parameters"]["children"]
    assert reply["next"] == f'get_workflow_status(workflow_id="{child["workflow_id"]}")'
    service.submit(child["workflow_id"], "s", OK)
    reply = service.next_step(run)
    first = reply["actions"][1]["parameters"]["resume_at"]
    assert reply["next"] == f'get_workflow_status(workflow_id="{run}") after {first}'


def test_replies_carry_no_state(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    reply = service.submit(run, "build", {**OK, "stdout": "a secret the agent has seen once"})
    for shown in (reply, service.status(run), service.next_step(run), service.runs(), service.state(run)):
        assert "a secret" not in json.dumps(shown)


def test_status_tells_the_workflow_and_how_far_it_is(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    box.clock.pass_(5)
    service.submit(run, "build", OK)
    reply = service.status(run)
    assert reply["workflow"] == "w"
    assert reply["progress"] == {
        "events": 2,
        "steps_entered": 2,
        "started": "2023-11-14T22:13:20.000Z",
        "updated": "2023-11-14T22:13:25.000Z",
    }
    assert list(reply)[-1] == "next"
    assert reply["action"] == service.next_step(run)["action"]


def test_state_gives_the_fields_that_were_asked_for_and_no_others(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    service.submit(run, "build", OK)
    assert service.state(run)["fields"] == {"built": 43}
    assert service.state(run, ["built"])["state"] == {"built": OK}
    for wrong in ("built", [3], [["built"]]):
        with pytest.raises(RequestError, match="must be a list of field names"):
            service.state(run, wrong)  # type: ignore[arg-type]
    with pytest.raises(NotFoundError, match=r"has no `bult`\. Did you mean `built`\?"):
        service.state(run, ["bult"])


def test_runs_lists_those_under_way_the_newest_first(box: Box) -> None:
    service = box.compile(TWO).service
    first = service.start("w")["workflow_id"]
    box.clock.pass_(1)
    second = service.start("w")["workflow_id"]
    third = service.start("w")["workflow_id"]
    service.cancel(second, "no")
    shown = service.runs()["runs"]
    assert [run["workflow_id"] for run in shown] == [third, first]
    assert shown[0]["status"] == "pending_action"
    assert shown[0]["pending"] == ["build"]
    assert [run["workflow_id"] for run in service.runs("cancelled")["runs"]] == [second]
    assert len(service.runs("all")["runs"]) == 3
    with pytest.raises(RequestError, match="unknown status 'done'"):
        service.runs("done")


ASKED = steps(
    "{id: ask, type: prompt, prompt_type: text, message: 'hello {{ inputs.who }}', output_to: said}",
    "{id: go, type: shell, command: make}",
    head="inputs: {who: {type: string, required: true}, token: {type: string, required: true, secret: true}}",
)


def test_a_list_says_the_age_of_a_run_its_inputs_and_whom_it_waits_for(box: Box) -> None:
    service = box.compile(ASKED).service
    run = service.start("w", {"who": "Ada " * 40, "token": "kept-secret"})["workflow_id"]
    box.clock.now += 90

    def shown(status: str = "open") -> Any:
        # A process that did not start the run reads Temporal's list, which follows a moment later.
        [row] = wait_until(lambda: box.restart().runs(status)["runs"], f"the {status} run to be listed")
        return row

    row = shown()
    assert (row["age_seconds"], row["waits_for"]) == (90, ["person"])
    assert row["inputs"]["token"] == "***"
    assert row["inputs"]["who"] == "Ada " * 20 + "..."
    box.service.submit(run, "ask", {"input": "hi"})
    wait_until(lambda: shown()["waits_for"] == ["agent"], "the list to follow")
    box.service.submit(run, "go", OK)
    assert "waits_for" not in shown("completed")


def test_long_lists_come_in_parts(box: Box) -> None:
    service = box.compile(TWO).service
    ids = [service.start("w")["workflow_id"] for _ in range(5)][::-1]
    part = service.runs(limit=2)
    assert [run["workflow_id"] for run in part["runs"]] == ids[:2]
    assert part["next"] == f'list_runs(status="open", before="{ids[1]}")'
    rest = service.runs(limit=3, before=ids[1])
    assert [run["workflow_id"] for run in rest["runs"]] == ids[2:]
    assert "next" not in rest


def test_cancelling_says_so_and_saying_it_twice_changes_nothing(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    reply = service.cancel(run, "changed my\nmind", actor="me")
    assert reply == {
        "workflow_id": run,
        "status": "cancelled",
        "reason": "changed my mind",
        "next": "nothing: the run is cancelled",
    }
    assert service.cancel(run, "again")["reason"] == "changed my mind"
    assert len(service.history(run)["events"]) == 2


def test_a_run_that_has_ended_cannot_be_cancelled(box: Box) -> None:
    service = box.compile(steps("{id: a, type: return, value: 1}")).service
    run = service.start("w")["workflow_id"]
    with pytest.raises(RefusedError, match="is already completed"):
        service.cancel(run)


def test_a_start_with_wrong_inputs_names_every_problem_and_starts_nothing(box: Box) -> None:
    text = steps(
        "{id: a, type: shell, command: 'echo {{ inputs.n }} {{ inputs.s | shquote }}'}",
        head="inputs: {n: {type: number, required: true}, s: {type: string, default: x}}",
    )
    service = box.compile(text).service
    with pytest.raises(RequestError) as caught:
        service.start("w", {"s": 3, "x": 1})
    for part in ("`n` is required", "`s` must be text", "`x` is not an input"):
        assert part in str(caught.value)
    assert service.runs("all")["runs"] == []


def test_an_unknown_workflow_is_answered_with_those_that_exist(box: Box) -> None:
    service = box.compile(TWO).service
    with pytest.raises(NotFoundError, match=r"there is no workflow `ww`\. Did you mean `w`"):
        service.start("ww")


def test_before_anything_is_compiled_the_answer_says_so(box: Box) -> None:
    with pytest.raises(NotFoundError, match="Run `wfc compile` first"):
        box.service.start("w")


@pytest.mark.parametrize(
    "run", ["../x", "a\0b", "", "x" * 129, "ä", " a", "a b", "'; DROP TABLE runs; --", 3, None]
)
def test_what_is_no_id_is_refused_before_anything_is_read(box: Box, run: str) -> None:
    service = box.service
    for call in (service.status, service.next_step, service.state, service.history, service.cancel):
        with pytest.raises(RequestError, match="`workflow_id`"):
            call(run)
    with pytest.raises(RequestError, match="`workflow_id`"):
        service.submit(run, "a", 1)


def test_ids_cannot_be_guessed(box: Box) -> None:
    service = box.compile(TWO).service
    ids = {service.start("w")["workflow_id"] for _ in range(20)}
    assert len(ids) == 20
    assert all(len(run) == 26 and run.isalnum() for run in ids)


def test_a_child_s_reply_does_not_give_its_parent_away(box: Box) -> None:
    box.compile(
        steps("{id: c, type: call, workflow: v, with: {}, output_to: o}"), TWO.replace("name: w", "name: v")
    )
    parent = box.service.start("w")
    [child] = children(parent)
    shown = json.dumps([box.service.status(child), box.service.history(child), box.service.state(child)])
    assert parent["workflow_id"] not in shown
