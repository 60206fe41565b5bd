"""The tools that work a run, in both protocol eras."""

from __future__ import annotations

from typing import Any

from tests.server.driver import SHELL_OK, Agent
from tests.support import wait_until


def start_greeting(agent: Agent, **inputs: Any) -> str:
    reply = agent.call("start_workflow", workflow="greet", inputs={"name": "root", **inputs})
    return str(reply["workflow_id"])


def test_starting_a_workflow_gives_its_first_action_and_the_exact_call_that_answers_it(agent: Agent) -> None:
    reply = agent.call("start_workflow", workflow="greet", inputs={"name": "root"})
    run = reply["workflow_id"]
    assert reply["status"] == "pending_action"
    assert reply["action"]["step_id"] == "look-up"
    assert reply["action"]["parameters"] == {"command": "getent passwd root", "timeout": 10}
    assert reply["next"].startswith(f'submit_result(workflow_id="{run}", step_id="look-up"')
    assert list(reply)[-1] == "next"


def test_an_agent_that_does_what_each_reply_says_gets_to_the_end(agent: Agent) -> None:
    run = start_greeting(agent)
    reply = agent.call("submit_result", workflow_id=run, step_id="look-up", result=SHELL_OK)
    assert reply["action"]["parameters"]["parameters"] == {"text": "Hello root, 1 times (0)"}
    reply = agent.call("submit_result", workflow_id=run, step_id="say-hello", result={"id": 7})
    assert reply == {
        "workflow_id": run,
        "status": "completed",
        "result": {"sent": {"id": 7}},
        "next": "nothing: the run is completed",
    }


def test_submitting_the_same_result_again_says_where_the_run_is_now(agent: Agent) -> None:
    run = start_greeting(agent)
    first = agent.call("submit_result", workflow_id=run, step_id="look-up", result=SHELL_OK)
    again = agent.call("submit_result", workflow_id=run, step_id="look-up", result=SHELL_OK)
    assert again == {**first, "repeated": True}
    assert "already been answered with a different result" in agent.refusal(
        "submit_result", workflow_id=run, step_id="look-up", result={**SHELL_OK, "exit_code": 1}
    )


def test_a_result_sent_as_json_text_is_read_where_the_step_takes_an_object(agent: Agent) -> None:
    run = start_greeting(agent)
    text = '{"stdout": "fine", "stderr": "", "exit_code": 0}'
    first = agent.call("submit_result", workflow_id=run, step_id="look-up", result=text)
    assert first["action"]["step_id"] == "say-hello"
    again = agent.call("submit_result", workflow_id=run, step_id="look-up", result=text)
    assert again == {**first, "repeated": True}
    # This step says nothing of its result, so text stays text.
    done = agent.call("submit_result", workflow_id=run, step_id="say-hello", result='{"id": 7}')
    assert done["result"] == {"sent": '{"id": 7}'}


def test_the_status_says_where_a_run_is_and_what_it_waits_for(agent: Agent) -> None:
    run = start_greeting(agent)
    reply = agent.call("get_workflow_status", workflow_id=run)
    assert reply["workflow"] == "greet"
    assert reply["status"] == "pending_action"
    assert reply["action"]["step_id"] == "look-up"
    assert "progress" in reply
    assert list(reply)[-1] == "next"


def test_sub_agents_work_their_children_and_the_parent_goes_on_by_itself(agent: Agent) -> None:
    reply = agent.call("start_workflow", workflow="fan-out", inputs={"files": ["a", "b"]})
    run, children = reply["workflow_id"], reply["action"]["parameters"]["children"]
    assert [child["item"] for child in children] == ["a", "b"]
    for child in children:
        assert child["workflow_id"] in child["prompt"]
        step = agent.call("get_next_step", workflow_id=child["workflow_id"])
        assert step["action"]["parameters"]["command"] == f"wc -c -- {child['item']}"
        ended = agent.call(
            "submit_step_result",
            workflow_id=child["workflow_id"],
            step_id=step["action"]["step_id"],
            result={**SHELL_OK, "stdout": f"1 {child['item']}\n"},
        )
        assert ended["status"] == "completed"
    assert agent.call("get_workflow_status", workflow_id=run)["result"] == {"sizes": ["1 a", "1 b"]}


def test_a_hundred_children_fit_into_one_reply(agent: Agent) -> None:
    files = [f"some/rather/long/path/to/file_{number}.py" for number in range(100)]
    reply = agent.call("start_workflow", workflow="fan-out", inputs={"files": files})
    children = reply["action"]["parameters"]["children"]
    assert [child["item"] for child in children] == files
    assert all(
        f'get_workflow_status(workflow_id="{child["workflow_id"]}")' in child["prompt"] for child in children
    )
    assert len(str(reply)) < 25_000


def test_actions_side_by_side_come_together_and_a_wait_ends_for_whoever_asks(agent: Agent) -> None:
    reply = agent.call("start_workflow", workflow="side-by-side")
    run = reply["workflow_id"]
    assert [action["step_id"] for action in reply["actions"]] == ["run-lint", "run-test"]
    agent.call("submit_result", workflow_id=run, step_id="run-test", result=SHELL_OK)
    reply = agent.call(
        "submit_result", workflow_id=run, step_id="run-lint", result={**SHELL_OK, "exit_code": 2}
    )
    assert reply["action"]["type"] == "wait"
    found = wait_until(lambda: agent.call("get_workflow_status", workflow_id=run).get("result"))
    assert found == [2, 0]


def test_listing_workflows_says_what_each_is_for_and_what_it_takes(agent: Agent) -> None:
    reply = agent.call("list_workflows")
    found = {one["workflow"]: one for one in reply["workflows"]}
    assert set(found) == {"ask-all", "fan-out", "greet", "keep", "log-in", "side-by-side"}
    assert found["greet"] == {
        "workflow": "greet",
        "version": "1.0.0",
        "description": "Say hello to somebody, as often as wanted.",
        "inputs": ["name", "times?"],
    }
    assert "broken" not in reply
    assert [one["workflow"] for one in agent.call("list_workflows", query="HELLO often")["workflows"]] == [
        "greet"
    ]
    assert agent.call("list_workflows", query="nothing like it")["workflows"] == []


def test_the_information_on_a_workflow_has_its_inputs_steps_tools_and_agents(agent: Agent) -> None:
    info = agent.call("get_workflow_info", workflow="greet")
    assert info["inputs"]["required"] == ["name"]
    assert info["inputs"]["properties"]["times"]["maximum"] == 3
    assert [(step["id"], step["type"]) for step in info["steps"]] == [
        ("look-up", "shell"),
        ("say-hello", "mcp_call"),
        ("return-sent", "return"),
    ]
    assert info["tools"] == ["chat.send"]
    assert info["source"] == "workflows/greet.yaml"
    info = agent.call("get_workflow_info", workflow="fan-out")
    assert info["agents"] == ["@task"]
    assert [step["type"] for step in info["tasks"]["measure_file"]] == ["shell", "return"]
    info = agent.call("get_workflow_info", workflow="side-by-side")
    assert [step["type"] for step in info["steps"]] == ["parallel", "shell", "shell", "wait", "return"]


def test_open_runs_are_listed_for_a_new_session_to_go_on_with(agent: Agent) -> None:
    older, newer = start_greeting(agent), start_greeting(agent)
    runs = agent.call("list_runs")["runs"]
    assert [one["workflow_id"] for one in runs[:2]] == [newer, older]
    assert runs[0]["pending"] == ["look-up"]
    rest = agent.call("list_runs", before=newer, limit=1)
    assert [one["workflow_id"] for one in rest["runs"]] == [older]
    agent.call("cancel_workflow", workflow_id=newer)
    assert agent.call("list_runs", limit=1)["runs"][0]["workflow_id"] == older
    assert agent.call("list_runs", status="cancelled", limit=1)["runs"][0]["workflow_id"] == newer
    assert "unknown status" in agent.refusal("list_runs", status="sleeping")


def test_cancelling_ends_a_run_with_its_children_and_can_be_repeated(agent: Agent) -> None:
    reply = agent.call("start_workflow", workflow="fan-out", inputs={"files": ["a"]})
    run, [child] = reply["workflow_id"], reply["action"]["parameters"]["children"]
    ended = agent.call("cancel_workflow", workflow_id=run, reason="changed my mind")
    assert (ended["status"], ended["reason"]) == ("cancelled", "changed my mind")
    assert agent.call("cancel_workflow", workflow_id=run)["reason"] == "changed my mind"
    assert agent.call("get_next_step", workflow_id=child["workflow_id"])["status"] == "cancelled"


def test_a_failed_run_is_retried_with_the_call_that_its_reply_names(agent: Agent) -> None:
    run = start_greeting(agent)
    failed = agent.call("submit_result", workflow_id=run, step_id="look-up", result={"error": "no network"})
    assert failed["next"].startswith(f'retry_workflow(workflow_id="{run}", step_id="look-up") when')
    reply = agent.call("retry_workflow", workflow_id=run, step_id=failed["error"]["step_id"])
    assert (reply["status"], reply["action"]["step_id"]) == ("pending_action", "look-up@2")
    assert agent.call("retry_workflow", workflow_id=run, step_id="look-up") == {**reply, "repeated": True}
    assert "the run is in progress" in agent.refusal("retry_workflow", workflow_id=start_greeting(agent))
    assert "[step_id=...]" in agent.refusal("retry_workflow")


def test_retrying_a_parent_offers_its_failed_children_again(agent: Agent) -> None:
    reply = agent.call("start_workflow", workflow="fan-out", inputs={"files": ["a", "b"]})
    run, (one, two) = reply["workflow_id"], reply["action"]["parameters"]["children"]
    agent.call("submit_step_result", workflow_id=one["workflow_id"], step_id="count", result={"error": "no"})
    agent.call("submit_step_result", workflow_id=two["workflow_id"], step_id="count", result=SHELL_OK)
    again = agent.call("retry_workflow", workflow_id=run)
    assert [child["workflow_id"] for child in again["action"]["parameters"]["children"]] == [
        one["workflow_id"]
    ]
