"""Every error says what failed, why, and what to call next; and the server goes on answering."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp import MCPError
from mcp_types import INVALID_PARAMS

from tests.server.driver import SHELL_OK, Agent


def start(agent: Agent, workflow: str = "greet", **inputs: object) -> str:
    given = inputs or {"name": "root"}
    return str(agent.call("start_workflow", workflow=workflow, inputs=given)["workflow_id"])


def test_an_unknown_workflow_is_refused_with_the_nearest_name(agent: Agent) -> None:
    told = agent.refusal("start_workflow", workflow="gret", inputs={})
    assert told.startswith("start_workflow: there is no workflow `gret`.")
    assert "Did you mean `greet`?" in told


def test_wrong_inputs_are_refused_with_every_problem_at_once(agent: Agent) -> None:
    told = agent.refusal("start_workflow", workflow="greet", inputs={"nme": "x", "times": 9})
    assert "`name` is required" in told
    assert "`times` must be at most 3" in told
    assert "did you mean `name`?" in told


def test_an_unknown_run_is_refused_with_how_to_find_the_open_ones(agent: Agent) -> None:
    for tool in ("get_workflow_status", "get_next_step", "cancel_workflow", "get_workflow_history"):
        told = agent.refusal(tool, workflow_id="nobodyknowsthisrun")
        assert (
            told == f"{tool}: there is no run `nobodyknowsthisrun`. list_runs() shows the runs that are open."
        )


@pytest.mark.parametrize("bad", ["../../etc/passwd", "a\0b", "", "x" * 200, "'; DROP TABLE runs; --"])
def test_an_id_that_is_none_is_refused(agent: Agent, bad: str) -> None:
    assert "`workflow_id` is not a valid id" in agent.refusal("get_workflow_status", workflow_id=bad)


def test_a_submit_for_a_step_that_is_not_pending_is_refused_with_the_call_that_would_fit(
    agent: Agent,
) -> None:
    run = start(agent)
    told = agent.refusal("submit_result", workflow_id=run, step_id="say-hello", result={})
    assert "`say-hello` has not been reached" in told
    assert f'Next: submit_result(workflow_id="{run}", step_id="look-up"' in told
    assert "the run has no step `nonsense`" in agent.refusal(
        "submit_result", workflow_id=run, step_id="nonsense", result={}
    )


def pending_in(told: str) -> dict[str, Any]:
    """The pending actions that a refusal shows."""
    _, _, shown = told.partition("\nPending now: ")
    found: dict[str, Any] = json.loads(shown)
    return found


def test_an_agent_that_lost_its_context_can_go_on_from_any_refusal_alone(agent: Agent) -> None:
    run = start(agent)
    agent.call("submit_result", workflow_id=run, step_id="look-up", result=SHELL_OK)
    whole = agent.call("get_workflow_status", workflow_id=run)["action"]
    for wrong in (
        {"step_id": "look-up", "result": {**SHELL_OK, "exit_code": 7}},
        {"step_id": "return-sent", "result": 1},
        {"step_id": "nonsense", "result": 1},
        {"step_id": "not/an id", "result": 1},
        {"step_id": "say-hello", "result": "x" * 300_000},
        {"step_id": "say-hello"},
        {"result": 1, "step": "say-hello"},
    ):
        for tool in ("submit_result", "submit_step_result"):
            assert pending_in(agent.refusal(tool, workflow_id=run, **wrong)) == {"action": whole}, wrong
    done = agent.call("submit_result", workflow_id=run, step_id=whole["step_id"], result={"id": 1})
    assert done["status"] == "completed"
    assert "Pending now" not in agent.refusal("submit_result", workflow_id=run, step_id="nonsense", result=1)


def test_a_refusal_shows_every_action_of_parallel_steps(agent: Agent) -> None:
    run = str(agent.call("start_workflow", workflow="side-by-side")["workflow_id"])
    whole = agent.call("get_workflow_status", workflow_id=run)["actions"]
    told = agent.refusal("submit_result", workflow_id=run, step_id="run-lint", result={"stdout": 3})
    assert pending_in(told) == {"actions": whole}
    assert "the step fails. Pending: `run-lint`, `run-test`. Next: submit_result(" in told


def test_refusals_of_a_retry_a_wait_and_a_foreach_show_what_is_pending_whole(agent: Agent) -> None:
    pause = 'name: w\nversion: "1.0.0"\nsteps: [{id: pause, type: wait, duration_seconds: 600}]\n'
    runs = {
        "look-up": start(agent),
        "measure": start(agent, "fan-out", files=["a", "b"]),
        "pause": str(agent.call("execute_inline_workflow", yaml=pause)["workflow_id"]),
    }
    for step_id, run in runs.items():
        refusals = [
            agent.refusal("retry_workflow", workflow_id=run),
            agent.refusal("retry_workflow", workflow_id=run, step_id="nonsense"),
            agent.refusal("retry_workflow", workflow_id=run, step_id="not/an id"),
            agent.refusal("submit_result", workflow_id=run, step_id=step_id, result=[]),
            agent.refusal("submit_result", workflow_id=run, step_id=f"{step_id}@2", result={}),
        ]
        whole = agent.call("get_workflow_status", workflow_id=run)["action"]
        for told in refusals:
            shown = pending_in(told)["action"]
            whole["parameters"].pop("seconds_left", None)
            shown["parameters"].pop("seconds_left", None)
            assert shown == whole, told


def test_actions_too_large_for_a_refusal_are_left_to_the_one_call_that_shows_them(agent: Agent) -> None:
    run = str(agent.call("start_workflow", workflow="keep")["workflow_id"])
    agent.call("submit_result", workflow_id=run, step_id="fetch", result={"response": "x" * 20_000})
    told = agent.refusal("submit_result", workflow_id=run, step_id="nonsense", result=1)
    assert told.endswith(
        f'Next: get_workflow_status(workflow_id="{run}"), which shows the pending actions whole'
    )
    assert told.count("(workflow_id=") == 1
    assert len(told) < 1_000


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        ({"workflow": "gret"}, "list_workflows()"),
        ({"workflow": "not a name"}, "list_workflows()"),
        ({"workflow": "greet"}, 'get_workflow_info(workflow="greet")'),
        ({"workflow": "greet", "inputs": {"name": 3}}, 'get_workflow_info(workflow="greet")'),
        ({"workflow": "greet", "inputs": [1]}, "start_workflow(workflow=..., [inputs=...]"),
        ({"inputs": {}}, "start_workflow(workflow=..., [inputs=...]"),
        ({"workflow": "greet", "response_format": "long"}, "list_workflows()"),
    ],
)
def test_every_refusal_to_start_a_workflow_names_the_next_call(
    agent: Agent, arguments: dict[str, Any], call: str
) -> None:
    assert f"Next: {call}" in agent.refusal("start_workflow", **arguments)


@pytest.mark.parametrize("inputs", [{}, {"n": "x"}, {"n": 1, "m": 2}])
def test_wrong_inputs_of_an_inline_workflow_are_refused_with_the_next_call(
    agent: Agent, inputs: dict[str, Any]
) -> None:
    head = 'name: w\nversion: "1.0.0"\ninputs: {n: {type: integer, required: true}}\n'
    text = f"{head}steps: [{{id: a, type: shell, command: x}}]\n"
    told = agent.refusal("execute_inline_workflow", yaml=text, inputs=inputs)
    assert told.endswith("Next: execute_inline_workflow(yaml=..., inputs={...})")


def test_a_result_that_does_not_fit_is_refused_and_the_step_stays_pending(agent: Agent) -> None:
    run = start(agent)
    told = agent.refusal("submit_result", workflow_id=run, step_id="look-up", result={"stdout": "x"})
    assert "'exit_code' is a required property" in told
    assert "the step fails" in told
    reply = agent.call("submit_result", workflow_id=run, step_id="look-up", result=SHELL_OK)
    assert reply["action"]["step_id"] == "say-hello"


def test_a_submit_to_a_finished_run_is_refused(agent: Agent) -> None:
    run = start(agent)
    agent.call("cancel_workflow", workflow_id=run)
    told = agent.refusal("submit_result", workflow_id=run, step_id="look-up", result=SHELL_OK)
    assert "the run is cancelled" in told


def test_a_result_that_is_too_large_is_refused_and_the_run_stays_usable(agent: Agent) -> None:
    run = start(agent)
    large = {**SHELL_OK, "stdout": "x" * 300_000}
    told = agent.refusal("submit_result", workflow_id=run, step_id="look-up", result=large)
    assert "the limit is 262,144" in told
    assert agent.call("get_workflow_status", workflow_id=run)["action"]["step_id"] == "look-up"


def test_arguments_that_do_not_fit_are_refused_with_how_the_tool_is_called(agent: Agent) -> None:
    told = agent.refusal("submit_result", workflow_id=7, step="look-up")
    assert told == (
        "submit_result: `step` is not an argument; `step_id` is missing; `result` is missing; "
        "`workflow_id` must be text. Next: submit_result(workflow_id=..., step_id=..., result=..., [usage=...])"
    )
    assert "`inputs` must be an object" in agent.refusal("start_workflow", workflow="greet", inputs=[1])
    assert "[reason=...]" in agent.refusal("cancel_workflow", why="x")


def test_inputs_that_a_model_sent_as_json_text_are_read(agent: Agent) -> None:
    reply = agent.call("start_workflow", workflow="greet", inputs='{"name": "root"}')
    assert reply["status"] == "pending_action"
    assert "must be an object" in agent.refusal("start_workflow", workflow="greet", inputs="{nonsense")


def test_an_unknown_tool_is_an_error_of_the_protocol_that_names_those_that_there_are(agent: Agent) -> None:
    with pytest.raises(
        MCPError, match=r"Unknown tool: start_workflows\. The tools of wfc are start_workflow, "
    ) as caught:
        agent.call("start_workflows")
    assert caught.value.error.code == INVALID_PARAMS


def test_a_failed_run_says_which_step_failed_why_and_where_it_stands(agent: Agent) -> None:
    run = start(agent)
    reply = agent.call("submit_result", workflow_id=run, step_id="look-up", result={"error": "no such host"})
    assert reply["status"] == "failed"
    assert reply["error"]["code"] == "agent_error"
    assert reply["error"]["message"] == "no such host"
    assert reply["error"]["step_id"] == "look-up"
    assert "workflows/greet.yaml:" in reply["error"]["hint"]
