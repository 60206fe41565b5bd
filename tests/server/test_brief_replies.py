"""Replies that repeat nothing, and that show who works on what: in both protocol eras, with kills and two servers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.server.driver import ERAS, SHELL_OK, Agent, Place, Reply

both_eras = pytest.mark.parametrize("mode", ERAS.values(), ids=ERAS)
EACH = """
name: each
version: "1.0.0"
inputs: {items: {type: array, required: true}}
steps:
  - {id: each, type: foreach, items: "{{ inputs.items }}", task: t, agent: "@task", max_items: 100}
tasks:
  t:
    inputs: {item: {type: string, required: true}}
    steps:
      - {id: look, type: shell, command: "ls {{ inputs.item | shquote }}"}
      - {id: again, type: shell, command: make}
"""
BRANCHES = """
name: branches
version: "1.0.0"
steps:
  - id: both
    type: parallel
    branches:
      x: [{id: a, type: shell, command: a}, {id: c, type: shell, command: c}]
      y: [{id: b, type: shell, command: b}]
"""


def tokens(reply: Reply) -> float:
    """What a model reads, at four characters a token."""
    return len(json.dumps(reply, ensure_ascii=False, separators=(",", ":"))) / 4


def each(agent: Agent, items: list[str]) -> Reply:
    return agent.call("execute_inline_workflow", yaml=EACH, inputs={"items": items})


def children_of(agent: Agent, run: str) -> list[dict[str, Any]]:
    reply = agent.call("get_workflow_status", workflow_id=run)
    found: list[dict[str, Any]] = reply["action"]["parameters"]["children"]
    return found


def submit(agent: Agent, run: str, step_id: str) -> Reply:
    return agent.call("submit_result", workflow_id=run, step_id=step_id, result=SHELL_OK)


def test_after_a_submit_new_actions_come_whole_and_the_others_by_their_id(agent: Agent) -> None:
    reply = agent.call("execute_inline_workflow", yaml=BRANCHES)
    run, actions = reply["workflow_id"], {one["step_id"]: one for one in reply["actions"]}
    after = submit(agent, run, "a")
    assert list(after) == ["workflow_id", "status", "action", "still_pending", "next"]
    assert (after["action"]["step_id"], after["still_pending"]) == ("c", ["b"])
    assert after["next"].startswith(f'submit_result(workflow_id="{run}", step_id=<each of "b", "c"')
    # Nothing is new, and the run still waits.
    after = submit(agent, run, "c")
    assert "action" not in after
    assert (after["status"], after["still_pending"]) == ("pending_action", ["b"])
    # A call that asks for the status gets everything.
    assert agent.call("get_workflow_status", workflow_id=run)["action"] == actions["b"]
    assert submit(agent, run, "b")["status"] == "completed"


def test_a_trivial_step_costs_few_tokens(agent: Agent) -> None:
    text = BRANCHES.partition("steps:")[0] + "steps: [{id: build, type: shell, command: make}]\n"
    assert tokens(agent.call("execute_inline_workflow", yaml=text)) <= 120


@pytest.mark.parametrize(("count", "most"), [(3, 1_000), (10, 1_200), (40, 2_500), (100, 6_000)])
def test_children_cost_few_tokens_however_long_their_items_are(agent: Agent, count: int, most: int) -> None:
    for long in ("x" * 2_000, '"' * 1_000, "\n" * 1_000, "ä" * 1_000):
        reply = each(agent, [f"{number} {long}" for number in range(count)])
        assert len(reply["action"]["parameters"]["children"]) == count
        assert tokens(reply) <= most
        agent.call("cancel_workflow", workflow_id=reply["workflow_id"])
    names = [f"src/package/module_{number}.py" for number in range(count)]
    reply = each(agent, names)
    assert [child["item"] for child in reply["action"]["parameters"]["children"]] == names
    assert tokens(reply) <= most


def test_children_are_worked_with_the_tools_of_any_run_and_the_other_names_do_the_same(agent: Agent) -> None:
    one, two = each(agent, ["a", "b"])["action"]["parameters"]["children"]
    first = agent.call("get_workflow_status", workflow_id=one["workflow_id"])
    assert "You execute one task of a workflow" in first["rules"]
    assert first["next"].startswith("submit_result(")
    assert agent.call("get_next_step", workflow_id=one["workflow_id"]) == first
    assert "rules" not in submit(agent, one["workflow_id"], "look")
    assert submit(agent, one["workflow_id"], "again")["status"] == "completed"
    for step_id in ("look", "again"):
        arguments = {"workflow_id": two["workflow_id"], "step_id": step_id, "result": SHELL_OK}
        ended = agent.call("submit_step_result", arguments)
    assert ended["status"] == "completed"


@both_eras
def test_the_status_tells_children_at_work_from_free_ones_in_both_windows_and_after_a_kill(
    place: Place, mode: str
) -> None:
    with place.server("--toolsets", "core,author", mode=mode) as one, place.server(mode=mode) as other:
        reply = each(one, ["a", "b", "c"])
        run = reply["workflow_id"]
        first, second, third = [child["workflow_id"] for child in reply["action"]["parameters"]["children"]]

        def workers(agent: Agent) -> dict[str, Any]:
            return {
                child["workflow_id"]: child.get("worked_on", {}).get("by")
                for child in children_of(agent, run)
            }

        assert set(workers(one).values()) == {None}
        one.call("get_workflow_status", workflow_id=first)
        other.call(
            "submit_result",
            workflow_id=second,
            step_id="look",
            result=SHELL_OK,
            meta={"claudecode/toolUseId": "toolu_2"},
        )
        assert workers(one) == {first: "this session", second: "toolu_2", third: None}
        assert workers(other) == {first: None, second: "this session", third: None}
        instruction = one.call("get_workflow_status", workflow_id=run)["action"]["instruction"]
        assert "Another worker is executing 2 of them (`worked_on`)" in instruction
        # A submit is on disk: every server knows of it, also one that was started after a kill.
        submit(one, first, "look")
        one.kill_worker()
        assert {name for name, by in workers(one).items() if by} == {first, second}
        assert {name for name, by in workers(other).items() if by} == {first, second}


@both_eras
def test_a_window_that_was_never_shown_an_action_gets_it_from_the_refusal(place: Place, mode: str) -> None:
    with place.server("--toolsets", "core,author", mode=mode) as one, place.server(mode=mode) as other:
        run = one.call("execute_inline_workflow", yaml=BRANCHES)["workflow_id"]
        submit(one, run, "a")
        told = other.refusal(
            "submit_result", workflow_id=run, step_id="a", result={**SHELL_OK, "exit_code": 2}
        )
        _, _, shown = told.partition("\nPending now: ")
        one.kill_worker()
        assert json.loads(shown)["actions"] == one.call("get_workflow_status", workflow_id=run)["actions"]


def test_open_runs_are_listed_with_their_inputs_age_and_whom_they_wait_for(agent: Agent) -> None:
    run = agent.call("start_workflow", workflow="greet", inputs={"name": "r" * 200})["workflow_id"]
    [found] = [one for one in agent.call("list_runs")["runs"] if one["workflow_id"] == run]
    assert found["inputs"] == {"name": f"{'r' * 80}...", "times": 1}
    assert found["waits_for"] == ["agent"]
    assert found["age_seconds"] >= 0
    agent.call("start_workflow", workflow="ask-all")
    assert agent.call("list_runs", limit=1)["runs"][0]["waits_for"] == ["person"]
    agent.call("start_workflow", workflow="log-in", inputs={"token": "tk"})
    assert agent.call("list_runs", limit=1)["runs"][0]["inputs"] == {"token": "***"}
    each(agent, ["a"])
    assert agent.call("list_runs", limit=1)["runs"][0]["waits_for"] == ["children"]


def test_a_client_reports_what_the_work_cost(agent: Agent) -> None:
    text = (
        'name: costly\nversion: "1.0.0"\nbudget: {usd: 1}\nsteps:\n'
        "  - {id: a, type: delegate, instructions: Do it.}\n  - {id: b, type: delegate, instructions: Do it.}\n"
    )
    run = agent.call("execute_inline_workflow", yaml=text)["workflow_id"]
    given = {"workflow_id": run, "step_id": "a", "result": {"response": "done"}}
    reply = agent.call("submit_result", {**given, "usage": {"usd": 1.5, "tokens": 9}})
    assert reply["action"]["step_id"] == "budget@gate"
    assert "1.50 of 1.00 USD" in reply["action"]["parameters"]["message"]
