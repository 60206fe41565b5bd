"""Budgets: used up, they ask a person, on the root run, and no restart gives the money back."""

from __future__ import annotations

import json
import signal

import pytest

from tests.agents.support import SCHEMA, Desk, delegate
from tests.e2e.command import wfc
from tests.support import wait_until
from wfc_runtime.errors import RefusedError
from wfc_runtime.service.sqlite import SqliteService

THREE = [delegate("a", "say x"), delegate("b", "say y"), delegate("c", "say z")]


def test_a_used_up_budget_asks_a_person_and_nothing_more_is_begun(desk: Desk) -> None:
    desk.workflow(*THREE, head="budget: {usd: 0.02}\n")
    done = desk.run()
    assert done.status == 5
    assert "The budget of `w` is used up: 0.02 of 0.02 USD. Extend it by the same amount?" in done.err
    assert len(desk.calls()) == 2
    assert desk.runs()[0]["pending"][0] == "budget@gate"
    shown = json.loads(wfc("runs", "show", desk.run_id(), "--json", cwd=desk.project).out)
    assert shown["action"]["type"] == "prompt"
    # A restart gives no money back.
    assert desk.resume().status == 5
    assert len(desk.calls()) == 2


def test_a_person_extends_a_budget_by_as_much_again(desk: Desk) -> None:
    desk.workflow(*THREE, delegate("d", "say v"), delegate("e", "say w"), head="budget: {usd: 0.02}\n")
    assert desk.run().status == 5
    # One answer extends it once.
    assert desk.resume("--answer", "budget=yes").status == 5
    assert len(desk.calls()) == 4
    answered = [one for one in desk.history() if one.get("step_id") == "budget@gate"]
    assert [one["actor"] for one in answered] == ["wfc run --answer"]
    assert desk.resume("--answer", "budget=yes").status == 0
    assert len(desk.calls()) == 5


def test_a_budget_that_is_not_extended_ends_the_run(desk: Desk) -> None:
    desk.workflow(*THREE)
    done = desk.run("--budget", "steps=1", "--answer", "budget=no")
    assert done.status == 1
    assert "was not extended" in done.err
    assert len(desk.calls()) == 1


def test_a_run_that_ends_with_its_last_step_is_not_asked(desk: Desk) -> None:
    desk.workflow(*THREE, head="budget: {steps: 3}\n")
    assert desk.run().status == 0


@pytest.mark.parametrize("limit", ["usd=0.02", "tokens=200", "steps=2", "usd=9,tokens=200"])
def test_the_command_line_sets_a_budget(desk: Desk, limit: str) -> None:
    desk.workflow(*THREE)
    assert desk.run("--budget", limit).status == 5
    assert len(desk.calls()) == 2


def test_the_least_budget_holds(desk: Desk) -> None:
    desk.workflow(*THREE, head="budget: {usd: 0.02}\n")
    assert desk.run("--budget", "usd=5").status == 5
    desk.workflow(*THREE, head="budget: {usd: 5}\n")
    assert desk.run("--budget", "usd=0.02").status == 5
    assert len(desk.calls()) == 4


def test_a_budget_set_later_counts_what_was_spent_before(desk: Desk) -> None:
    gate = "{id: ok, type: prompt, prompt_type: confirm, message: Go?, output_to: ok_out}"
    desk.workflow(*THREE[:2], gate, THREE[2])
    assert desk.run().status == 4
    assert desk.resume("--answer", "ok=yes", "--budget", "usd=0.02").status == 5
    assert len(desk.calls()) == 2


@pytest.mark.parametrize(
    "text", ["usd", "usd=0", "usd=-1", "usd=nan", "euro=1", "usd=1,usd=2", "steps=0.5", "tokens=1.5", ""]
)
def test_a_wrong_budget_is_refused_before_the_run_starts(desk: Desk, text: str) -> None:
    desk.workflow(*THREE)
    done = desk.run("--budget", text)
    assert done.status == 2
    assert "--budget" in done.err
    assert desk.calls() == []


def test_a_budget_of_less_than_a_cent_is_shown_as_it_is(desk: Desk) -> None:
    desk.workflow(*THREE)
    assert "is used up: 0.01 of 0.001 USD" in desk.run("--budget", "usd=0.001").err


def test_the_children_of_a_foreach_share_its_budget(desk: Desk) -> None:
    head = f"tasks: {{t: {{inputs: {{n: {{type: integer}}}}, steps: [{delegate('c', 'say x')}]}}}}\n"
    loop = "{id: f, type: foreach, items: [1, 2, 3, 4], task: t, sequential: true, budget: {usd: 0.02}}"
    desk.workflow(loop, delegate("z", "say z"), head=head)
    done = desk.run()
    assert done.status == 5
    assert "The budget of step `f` is used up: 0.02 of 0.02 USD" in done.err
    assert len(desk.calls()) == 2
    assert desk.resume("--answer", "budget=yes").status == 5
    assert desk.resume("--answer", "budget=yes").status == 0
    assert len(desk.calls()) == 5


def test_refused_results_cost_money_too(desk: Desk) -> None:
    desk.workflow(
        delegate("a", 'give {"n": "five"}; give {"n": 5}', SCHEMA), *THREE[1:], head="budget: {usd: 0.02}\n"
    )
    assert desk.run().status == 5
    # The refused result was asked for again: that call was in hand.
    assert len(desk.calls()) == 2


def test_a_step_with_a_budget_of_its_own_passes_it_to_the_program(desk: Desk) -> None:
    desk.workflow(delegate("a", "say x", ", budget: {usd: 0.5, seconds: 100}"), head="budget: {usd: 2}\n")
    assert desk.run().status == 0
    [call] = desk.calls()
    assert call["arguments"][call["arguments"].index("--max-budget-usd") + 1] == "0.5000"


def test_a_call_that_has_spent_its_share_goes_on_in_the_same_conversation_when_there_is_more(
    desk: Desk,
) -> None:
    stop = 'result {"subtype": "error_max_budget_usd", "is_error": true, "code": 1, "total_cost_usd": 0.03}'
    desk.workflow(delegate("a", f"{stop}; say done"), head="budget: {usd: 0.02}\n")
    done = desk.run("--answer", "budget=yes")
    assert done.status == 0, done.err
    first, second = desk.calls()
    session = first["arguments"][first["arguments"].index("--session-id") + 1]
    assert second["arguments"][second["arguments"].index("--resume") + 1] == session
    assert "continue where you stopped" in second["prompt"]


def test_another_process_goes_on_in_the_conversation_that_a_budget_has_stopped(desk: Desk) -> None:
    stop = 'result {"subtype": "error_max_budget_usd", "is_error": true, "code": 1, "total_cost_usd": 0.03}'
    desk.workflow(delegate("a", f"{stop}; say done"), head="budget: {usd: 0.02}\n")
    assert desk.run().status == 5
    done = desk.resume("--answer", "budget=yes")
    assert done.status == 0, done.err
    first, second = desk.calls()
    session = first["arguments"][first["arguments"].index("--session-id") + 1]
    assert second["arguments"][second["arguments"].index("--resume") + 1] == session
    assert "continue where you stopped" in second["prompt"]


def test_another_process_tells_the_agent_in_the_same_conversation_why_its_result_was_refused(
    desk: Desk,
) -> None:
    desk.workflow(delegate("a", 'give {"n": "x"}; sleep; give {"n": 1}', SCHEMA))
    driver = desk.start("run", "w", "--agent", "stub")
    wait_until(lambda: len(desk.calls()) == 2, "the second call")
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    done = desk.resume()
    assert done.status == 0, done.err
    first, _, third = desk.calls()
    session = first["arguments"][first["arguments"].index("--session-id") + 1]
    assert third["arguments"][third["arguments"].index("--resume") + 1] == session
    assert "not accepted: the result of `a` does not fit: result.n" in third["prompt"]


def test_what_a_killed_driver_had_recorded_stays_spent(desk: Desk) -> None:
    desk.workflow(THREE[0], delegate("b", "sleep"), THREE[2])
    driver = desk.start("run", "w", "--agent", "stub", "--budget", "steps=2")
    wait_until(lambda: len(desk.calls()) == 2, "the second call")
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    (desk.notes / "orders").write_text("say now")
    assert desk.resume().status == 5
    assert len(desk.calls()) == 3


def test_any_other_client_sees_the_question_as_a_prompt_of_the_root_run_and_can_answer_it(desk: Desk) -> None:
    head = f"tasks: {{t: {{inputs: {{n: {{type: integer}}}}, steps: [{delegate('c', 'say x')}]}}}}\n"
    desk.workflow("{id: f, type: foreach, items: [1, 2], task: t, sequential: true, output_to: o}", head=head)
    assert wfc("compile", cwd=desk.project).status == 0
    assert desk.run("--budget", "steps=1").status == 5
    service = SqliteService.open(desk.project / ".wfc" / "state.db", desk.project / "generated")
    try:
        run = desk.run_id()
        reply = service.status(run)
        assert reply["action"]["step_id"] == "budget@gate"
        [child] = [one for one in service.family(run)["children"] if one["status"] != "completed"]
        held = service.next_step(child["workflow_id"])
        assert "action" not in held
        assert "budget" in held["held_back"]
        with pytest.raises(RefusedError, match="does not fit"):
            service.submit(run, "budget@gate", {"confirmed": "sure"})
        after = service.submit(run, "budget@gate", {"confirmed": True}, actor="a person")
        assert after["action"]["type"] == "foreach"
        assert service.next_step(child["workflow_id"])["action"]["step_id"] == "c"
        # Tokens that an agent reports count.
        service.submit(child["workflow_id"], "c", {"response": "x", "tokens_used": 7})
        assert service.status(run)["status"] == "completed"
    finally:
        service.close()
