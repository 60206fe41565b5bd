"""What counts as done: the agent's program misbehaves in every way, and none of them is taken for a result."""

from __future__ import annotations

import json
import sys

import pytest

from tests.agents.support import SCHEMA, Desk, delegate
from wfc_runtime.agents import ADAPTERS
from wfc_runtime.agents.base import Call

RETURN = "{id: r, type: return, needs_state: [a_out], value: '{{ state.a_out }}'}"


def test_a_run_is_worked_to_its_end_by_an_agent(desk: Desk) -> None:
    desk.workflow(delegate("a", "say hello"), RETURN)
    done = desk.run()
    assert (done.status, json.loads(done.out)) == (0, {"response": "hello"})
    [event] = [one for one in desk.history() if one["event"] == "submitted"]
    assert event["actor"].startswith("stub ")
    assert event["actor"].endswith(", wfc run")
    assert event["agent"]["usd"] == 0.01
    assert event["agent"]["tokens"] == 100
    assert event["agent"]["model"] == "stub-model"


def test_a_structured_result_is_taken_as_it_is_and_gets_no_further_fields(desk: Desk) -> None:
    # The client refuses a schema that names its draft.
    named = SCHEMA.replace(
        "type: object", "$schema: 'https://json-schema.org/draft/2020-12/schema', type: object"
    )
    desk.workflow(delegate("a", 'give {"n": 5}', named), RETURN)
    done = desk.run()
    assert (done.status, json.loads(done.out)) == (0, {"n": 5})
    [call] = desk.calls()
    schema = json.loads(call["arguments"][call["arguments"].index("--json-schema") + 1])
    assert schema["properties"] == {"n": {"type": "integer"}}
    assert "$schema" not in schema


def test_a_result_that_is_no_object_is_wrapped_for_the_client_and_unwrapped(desk: Desk) -> None:
    desk.workflow(
        delegate("a", 'give {"value": [1, 2]}', ", result_schema: {type: array, items: {type: integer}}"),
        RETURN,
    )
    done = desk.run()
    assert (done.status, json.loads(done.out)) == (0, [1, 2])


def test_a_misfit_is_told_and_asked_again_in_the_same_conversation(desk: Desk) -> None:
    desk.workflow(delegate("a", 'give {"n": "five"}; give {"n": 5}', SCHEMA), RETURN)
    done = desk.run()
    assert (done.status, json.loads(done.out)) == (0, {"n": 5})
    first, second = desk.calls()
    session = first["arguments"][first["arguments"].index("--session-id") + 1]
    assert second["arguments"][second["arguments"].index("--resume") + 1] == session
    assert "'five' is not of type 'integer'" in second["prompt"]
    events = [one for one in desk.history() if "agent" in one]
    assert [one["event"] for one in events] == ["refused", "submitted"]
    # The client reports the cost of the whole session; each call is counted once.
    assert [one["agent"]["usd"] for one in events] == [0.01, 0.01]


def test_a_program_that_gives_up_on_the_schema_is_asked_again_like_after_a_misfit(desk: Desk) -> None:
    gives_up = 'result {"subtype": "error_max_structured_output_retries", "is_error": true, "code": 1}'
    desk.workflow(delegate("a", f'{gives_up}; give {{"n": 5}}', SCHEMA), RETURN)
    assert desk.run().status == 0
    assert "--resume" in desk.calls()[1]["arguments"]


def test_a_result_that_can_not_be_stored_is_told_and_its_cost_counts_once(desk: Desk) -> None:
    deep = "[" * 150 + "]" * 150
    desk.workflow(delegate("a", f'give {{"n": {deep}}}; give {{"n": 5}}', SCHEMA), RETURN)
    done = desk.run()
    assert (done.status, json.loads(done.out)) == (0, {"n": 5})
    assert "nested too deeply" in desk.calls()[1]["prompt"]
    assert "--resume" in desk.calls()[1]["arguments"]
    [call] = [event["agent"] for event in desk.history() if "agent" in event]
    assert (call["usd"], call["tokens"]) == (0.02, 200)


def test_results_that_can_never_be_stored_fail_the_step(desk: Desk) -> None:
    deep = "[" * 150 + "]" * 150
    desk.workflow(delegate("a", f'give {{"n": {deep}}}', SCHEMA))
    done = desk.run()
    assert done.status == 1
    assert "nested too deeply" in done.err
    assert len(desk.calls()) == 3
    spent = [event["agent"]["usd"] for event in desk.history() if "agent" in event]
    assert spent == [0.03]


def test_misfits_fail_the_step_after_as_many_as_are_allowed(desk: Desk) -> None:
    desk.workflow(delegate("a", 'give {"n": "five"}', SCHEMA), RETURN)
    done = desk.run()
    assert done.status == 1
    assert "no result matched the result_schema" in done.err
    assert len(desk.calls()) == 3


def test_prose_instead_of_a_result_is_a_misfit(desk: Desk) -> None:
    desk.workflow(delegate("a", 'say It is five.; give {"n": 5}', SCHEMA), RETURN)
    done = desk.run()
    assert (done.status, json.loads(done.out)) == (0, {"n": 5})
    assert len(desk.calls()) == 2


def test_prose_is_no_result_even_where_the_schema_wants_text(desk: Desk) -> None:
    desk.workflow(delegate("a", 'say five; give {"value": "5"}', ", result_schema: {type: string}"), RETURN)
    done = desk.run()
    assert (done.status, done.out) == (0, "5\n")
    assert len(desk.calls()) == 2


def test_an_empty_answer_is_no_result(desk: Desk) -> None:
    desk.workflow(delegate("a", "say ; say something"), RETURN)
    done = desk.run()
    assert (done.status, json.loads(done.out)) == (0, {"response": "something"})


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ("half", "exit code 0: its output has no result"),
        ("die", "exit code 137"),
        ("exit 1", "it broke"),
        (
            'result {"is_error": true, "subtype": "error_during_execution", "terminal_reason": null}',
            "exit code 0",
        ),
        ('result {"terminal_reason": null}', "exit code 0"),
        ('result {"code": 1}', "exit code 1"),
        ('result {"subtype": "error_max_turns", "is_error": true, "code": 1}', "limit"),
        ('result {"subtype": "error_max_budget_usd", "is_error": true, "code": 1}', "limit"),
        ("server github", "MCP servers that did not start: github"),
    ],
)
def test_a_call_that_did_not_work_fails_the_step(desk: Desk, order: str, reason: str) -> None:
    desk.workflow(delegate("a", order), RETURN)
    done = desk.run()
    assert (done.status, done.out) == (1, "")
    assert reason in done.err
    assert len(desk.calls()) == 1


def test_a_failed_call_is_retried_as_the_workflow_says(desk: Desk) -> None:
    desk.workflow(delegate("a", "exit 1", ", retry: {max_attempts: 2}"), RETURN)
    assert desk.run().status == 1
    first, second = desk.calls()
    assert "--session-id" in first["arguments"]
    assert "--session-id" in second["arguments"]


DENIED = 'result {"permission_denials": [{"tool_name": "Bash", "tool_input": {}}]}'


def test_a_denied_tool_fails_the_step_although_the_client_reports_success(desk: Desk) -> None:
    desk.workflow(delegate("a", DENIED), RETURN)
    done = desk.run()
    assert done.status == 1
    assert "the agent was not allowed to use Bash" in done.err


def test_the_operator_can_let_denied_tools_pass(desk: Desk) -> None:
    desk.operator('denied = "warn"')
    desk.workflow(delegate("a", DENIED), RETURN)
    done = desk.run()
    assert done.status == 0
    assert "denied: Bash" in done.err


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"result": "Not logged in · Please run /login"}, "login"),
        ({"result": "API Error: 401", "api_error_status": 401}, "login"),
        ({"result": "API Error: Connection refused"}, "network"),
        ({"result": "overloaded", "api_error_status": 529}, "network"),
        ({"result": "slow down", "api_error_status": 429}, "quota"),
        ({"result": "Credit balance is too low", "api_error_status": 400}, "quota"),
    ],
)
def test_without_an_account_or_a_network_the_run_waits_and_no_step_fails(
    desk: Desk, fields: dict[str, object], kind: str
) -> None:
    about = {"is_error": True, "terminal_reason": "api_error", "code": 1, **fields}
    desk.workflow(delegate("a", f"result {json.dumps(about)}"), RETURN)
    done = desk.run()
    assert done.status == 6
    assert f"no agent is available ({kind})" in done.err
    assert "wfc runs resume" in done.err
    assert desk.runs()[0]["status"] == "pending_action"
    assert len(desk.calls()) == 1


def test_a_request_that_can_never_work_fails_the_step(desk: Desk) -> None:
    about = {"is_error": True, "terminal_reason": "api_error", "code": 1, "api_error_status": 400}
    desk.workflow(delegate("a", f"result {json.dumps({**about, 'result': 'prompt is too long'})}"), RETURN)
    assert desk.run().status == 1


def test_a_program_that_is_not_there_is_no_agent(desk: Desk) -> None:
    desk.operator(text='[stub]\nadapter = "claude"\ncommand = ["no-such-agent"]\n')
    desk.workflow(delegate("a", "say x"), RETURN)
    done = desk.run()
    assert done.status == 6
    assert "no-such-agent" in done.err


CALL = "{id: a, type: mcp_call, tool: github.create_issue, parameters: {title: T}, output_to: a_out%s}"


def test_a_tool_call_counts_with_the_result_of_the_tool_itself(desk: Desk) -> None:
    (desk.notes / "orders").write_text('call mcp__github__create_issue {"title": "T"}')
    desk.workflow(CALL % "", RETURN)
    done = desk.run()
    assert (done.status, json.loads(done.out)) == (0, {"number": 7})


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ("say I have called the tool, the number is 7", "did not call `mcp__github__create_issue`"),
        ('call mcp__github__create_issue {"title": "t"}', "not with these parameters"),
        ('call mcp__github__create_issue {"title": "T", "body": "more"}', "not with these parameters"),
        ('broken-call mcp__github__create_issue {"title": "T"}', "no such repository"),
        ('unanswered-call mcp__github__create_issue {"title": "T"}', "mcp__github__create_issue"),
        ('call mcp__gitlab__create_issue {"title": "T"}', "did not call `mcp__github__create_issue`"),
    ],
)
def test_a_tool_call_that_the_stream_does_not_show_fails_the_step(
    desk: Desk, order: str, reason: str
) -> None:
    (desk.notes / "orders").write_text(order)
    desk.workflow(CALL % "", RETURN)
    done = desk.run()
    assert done.status == 1
    assert reason in done.err


def test_a_tool_whose_result_does_not_fit_is_not_called_again(desk: Desk) -> None:
    (desk.notes / "orders").write_text('call mcp__github__create_issue {"title": "T"}')
    desk.workflow(CALL % ", result_schema: {type: array}", RETURN)
    assert desk.run().status == 1
    assert len(desk.calls()) == 1


def test_a_command_of_an_agent_counts_only_where_the_operator_lets_it_do_shell_steps(desk: Desk) -> None:
    (desk.notes / "orders").write_text('call Bash {"command": "make", "description": "Build"}')
    desk.workflow("{id: a, type: shell, command: make, output_to: a_out}", RETURN)
    refused = desk.run()
    assert refused.status == 4
    assert "`stub` does no shell steps" in refused.err
    assert "--agent stub --allow-exec`" in refused.err
    assert desk.calls() == []
    desk.operator('steps = ["shell"]')
    done = desk.resume()
    assert (done.status, json.loads(done.out)["exit_code"]) == (0, 0)


def test_tokens_are_counted_from_the_messages_where_the_result_has_none() -> None:
    usage = '{"usage": {"input_tokens": 0}}'
    adapter = ADAPTERS["claude"]
    said = '{"type": "assistant", "message": {"id": "m", "content": [], "usage": {"input_tokens": 7}}}'
    lines = [said, said, '{"type": "result", "subtype": "error_max_budget_usd", ' + usage[1:]]
    assert adapter.outcome(Call("x"), lines, "", 1).tokens == 7


def test_a_command_without_output_has_an_empty_one(desk: Desk) -> None:
    (desk.notes / "orders").write_text("quiet make")
    desk.operator('steps = ["shell"]')
    desk.workflow("{id: a, type: shell, command: make, output_to: a_out}", RETURN)
    assert json.loads(desk.run().out) == {"stdout": "", "stderr": "", "exit_code": 0}


def test_the_time_limit_of_a_step_and_silence_end_a_call(desk: Desk) -> None:
    desk.operator("idle = 0.5")
    desk.workflow(delegate("a", "sleep"), RETURN)
    done = desk.run()
    assert done.status == 1
    assert "printed nothing for 0.5 seconds" in done.err
    desk.operator()
    desk.workflow(delegate("a", "sleep", ", timeout: 1"), RETURN)
    done = desk.run()
    assert done.status == 1
    assert "took more than 1 seconds" in done.err


def test_any_program_is_an_agent_that_reads_a_prompt_and_prints_an_answer(desk: Desk) -> None:
    fenced = 'Here you are:\\n```json\\n{"n": 5}\\n```'
    program = f"import sys; print('{fenced}' if 'not accepted' in sys.stdin.read() else 'five')"
    words = json.dumps([sys.executable, "-c", program])
    desk.operator(text=f'[any]\nadapter = "command"\ncommand = {words}\n')
    desk.workflow(delegate("a", "x", SCHEMA), RETURN)
    done = desk.run(agent="any")
    assert (done.status, json.loads(done.out)) == (0, {"n": 5})
