"""The tools that other systems call checkpoints, on runs that need none, and replies with everything in them."""

from __future__ import annotations

from tests.server.driver import Agent, Place

ASKING = """\
name: ask-twice
version: "1.0.0"
steps:
  - {id: first, type: prompt, prompt_type: text, message: 'Name?', output_to: name}
  - {id: second, type: prompt, prompt_type: confirm, message: 'Sure?', output_to: sure}
  - id: done
    type: return
    needs_state: [name, sure]
    value: "{{ state.name.input }} {{ state.sure.confirmed }}"
"""


def _start(agent: Agent, **more: str) -> dict[str, object]:
    return agent.call("execute_inline_workflow", yaml=ASKING, **more)


def test_a_run_is_resumed_from_its_latest_checkpoint_with_a_plain_answer(agent: Agent) -> None:
    run = _start(agent)["workflow_id"]
    [listed] = [
        one
        for one in agent.call("list_checkpoints", workflow="ask-twice")["checkpoints"]
        if one["workflow_id"] == run
    ]
    assert (listed["checkpoint_id"], listed["prompt"], listed["paused"]) == (f"{run}:1", "Name?", True)
    shown = agent.call("resume_workflow", checkpoint_id=f"{run}:1")
    assert shown["action"]["step_id"] == "first"
    reply = agent.call("resume_workflow", checkpoint_id=f"{run}:1", response="Ada")
    assert reply["action"]["step_id"] == "second"
    assert "has continued since" in agent.refusal("resume_workflow", checkpoint_id=f"{run}:1", response="Bob")
    assert "yes or no" in agent.refusal("resume_workflow", checkpoint_id=f"{run}:2", response="perhaps")
    reply = agent.call("resume_workflow", checkpoint_id=f"{run}:2", response="Yes.")
    assert (reply["status"], reply["result"]) == ("completed", "Ada True")


def test_a_checkpoint_says_what_was_done_and_a_marked_one_why(agent: Agent) -> None:
    run = _start(agent)["workflow_id"]
    agent.call("submit_result", workflow_id=run, step_id="first", result={"input": "Ada"})
    made = agent.call("checkpoint", workflow_id=run, reason="lunch")
    assert made["checkpoint_id"] == f"{run}:3"
    about = agent.call("get_checkpoint", checkpoint_id=made["checkpoint_id"])
    assert (about["reason"], about["completed_steps"], about["fields"]) == ("lunch", ["first"], ["name"])
    assert (about["is_latest"], about["waits_in"]) == (True, ["second"])
    earlier = agent.call("get_checkpoint", checkpoint_id=f"{run}:1")
    assert (earlier["completed_steps"], earlier["is_latest"]) == ([], False)
    every = agent.call("list_checkpoints", workflow_id=run)["checkpoints"]
    assert [one["event"] for one in every] == ["started", "submitted", "checkpoint"]
    assert "no event 9" in agent.refusal("get_checkpoint", checkpoint_id=f"{run}:9")
    assert "is not a checkpoint id" in agent.refusal("get_checkpoint", checkpoint_id="x")


CALLING = """\
name: call-one
description: Calls a workflow that asks.
blocks:
  - {id: inner, type: Workflow, inputs: {workflow: ask-all}}
"""


def test_the_question_of_a_called_workflow_is_that_of_its_caller(agent: Agent) -> None:
    run = agent.call("execute_inline_workflow", yaml=CALLING)["workflow_id"]
    [listed] = agent.call("list_checkpoints", workflow="call-one")["checkpoints"]
    assert (listed["checkpoint_id"], listed["prompt"]) == (f"{run}:1", "Three questions follow.")
    agent.call("resume_workflow", checkpoint_id=f"{run}:1", response="yes")
    about = agent.call("get_checkpoint", checkpoint_id=f"{run}:1")
    assert (about["waits_in"], about["prompt"]) == (["inner"], "Shall we begin?")


def test_resuming_shows_as_much_as_is_asked_for(agent: Agent) -> None:
    run = _start(agent)["workflow_id"]
    refused = agent.refusal("resume_workflow", checkpoint_id=f"{run}:1", response_format="loud")
    assert "must be one of minimal, detailed" in refused
    reply = agent.call(
        "resume_workflow", checkpoint_id=f"{run}:1", response="yes", response_format="detailed"
    )
    assert [event["event"] for event in reply["events"]] == ["started", "submitted"]
    again = agent.call("resume_workflow", checkpoint_id=f"{run}:2", response="yes")
    assert "events" not in again


def test_deleting_a_checkpoint_gives_the_run_up_and_erases_it(agent: Agent) -> None:
    run = _start(agent)["workflow_id"]
    assert agent.call("delete_checkpoint", checkpoint_id=f"{run}:1")["deleted"] == 1
    assert "there is no run" in agent.refusal("get_workflow_status", workflow_id=run)


def test_a_childs_checkpoint_is_not_deleted_and_nothing_comes_of_trying(agent: Agent) -> None:
    text = """
name: fan-out
version: "1.0.0"
steps:
  - {id: each, type: foreach, items: "{{ [1, 2] }}", task: t}
tasks:
  t: {steps: [{id: look, type: shell, command: ls}]}
"""
    reply = agent.call("execute_inline_workflow", yaml=text)
    child = reply["action"]["parameters"]["children"][0]["workflow_id"]
    assert "is a child run" in agent.refusal("delete_checkpoint", checkpoint_id=f"{child}:1")
    now = agent.call("get_workflow_status", workflow_id=reply["workflow_id"])
    assert now["action"] == reply["action"]
    assert agent.call("get_workflow_status", workflow_id=child)["action"]["step_id"] == "look"


def test_cleaning_up_erases_what_has_ended_and_nothing_else(place: Place) -> None:
    with place.server("--toolsets", "core,debug,author") as agent:
        ended, still = _start(agent)["workflow_id"], _start(agent)["workflow_id"]
        agent.call("cancel_workflow", workflow_id=ended)
        assert agent.call("cleanup_checkpoints", days=1)["deleted"] == 0
        assert "`days` must be 0 or more, not -1" in agent.refusal("cleanup_checkpoints", days=-1)
        assert agent.call("cleanup_checkpoints", days=0)["deleted"] == 1
        assert [one["workflow_id"] for one in agent.call("list_runs", status="all")["runs"]] == [still]


def test_a_detailed_reply_has_the_events_and_the_state(agent: Agent) -> None:
    reply = _start(agent, response_format="detailed")
    run = reply["workflow_id"]
    assert list(reply)[-3:] == ["events", "state", "next"]
    agent.call("submit_result", workflow_id=run, step_id="first", result={"input": "Ada"})
    now = agent.call("get_workflow_status", workflow_id=run, response_format="detailed")
    assert now["state"] == {"name": {"input": "Ada"}}
    assert [event["event"] for event in now["events"]] == ["started", "submitted"]
    assert "events" not in agent.call("get_workflow_status", workflow_id=run, response_format="minimal")
    before = len(agent.call("list_runs", status="all", limit=200)["runs"])
    assert "response_format" in agent.refusal("start_workflow", workflow="greet", response_format="long")
    assert len(agent.call("list_runs", status="all", limit=200)["runs"]) == before


def test_the_schema_of_a_language_can_be_had(agent: Agent) -> None:
    reply = agent.call("get_workflow_schema")
    assert reply["schema"]["$schema"].startswith("http://json-schema.org/draft-07")
    assert "Available: steps" in agent.refusal("get_workflow_schema", language="cobol")
