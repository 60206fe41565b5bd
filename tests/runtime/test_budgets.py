"""Budgets on both engines: what a client reports counts, and a used-up budget asks a person on the root run."""

from __future__ import annotations

import pytest

from tests.runtime.support import Box, Reply, children, step_ids, steps
from tests.support import wait_until
from wfc_runtime.errors import RequestError

DONE = {"response": "done"}
GATE = "budget@gate"


def delegate(name: str, more: str = "") -> str:
    return f"{{id: {name}, type: delegate, instructions: Do it.{more}}}"


def submit(box: Box, run: str, step: str, usd: float = 0.0, tokens: float = 0) -> Reply:
    return box.service.submit(run, step, DONE, usage={"usd": usd, "tokens": tokens})


def test_what_a_client_reports_counts_and_no_restart_resets_it(box: Box) -> None:
    text = steps(*map(delegate, "abcd"), head="budget: {usd: 1, tokens: 1000}")
    run = box.compile(text).service.start("w")["workflow_id"]
    assert step_ids(submit(box, run, "a", 0.4, 10)) == ["b"]
    reply = submit(box, run, "b", 0.7)
    assert step_ids(reply) == [GATE]
    message = reply["action"]["parameters"]["message"]
    assert message.startswith("The budget of `w` is used up: 1.10 of 1.00 USD.")
    service = box.restart()
    assert step_ids(service.status(run)) == [GATE]
    assert step_ids(service.submit(run, GATE, {"confirmed": True}, actor="person")) == ["c"]
    # As much again, and tokens count too.
    assert step_ids(submit(box, run, "c", 0.1, 995)) == [f"{GATE}2"]
    reply = box.service.submit(run, f"{GATE}2", {"confirmed": False})
    assert reply["status"] == "failed"
    assert reply["error"]["code"] == "budget"


TASK = """
tasks:
  look:
    inputs: {name: {type: string, required: true}}
    steps:
      - {id: see, type: delegate, instructions: "Look at {{ inputs.name }}."}
      - {id: tell, type: delegate, instructions: Tell.}
"""


def test_children_count_towards_the_root_run_and_are_held_back_with_it(box: Box) -> None:
    text = steps(
        "{id: each, type: foreach, items: [x, y], task: look, budget: {usd: 0.5}}", head="budget: {steps: 50}"
    )
    reply = box.compile(text + TASK).service.start("w")
    run, (one, two) = reply["workflow_id"], children(reply)
    submit(box, one, "see", 0.3)
    assert step_ids(box.service.status(run)) == ["each"]
    submit(box, two, "see", 0.3)
    wait_until(lambda: step_ids(box.service.status(run))[0] == GATE)
    shown = box.service.status(run)["action"]["parameters"]["message"]
    assert shown.startswith("The budget of step `each` is used up: 0.60 of 0.50 USD.")
    for child in (one, two):
        wait_until(lambda child=child: "held_back" in box.service.status(child))
    service = box.restart()
    assert "held_back" in service.status(one)
    service.submit(run, GATE, {"confirmed": True})
    for child in (one, two):
        wait_until(lambda child=child: "action" in box.service.status(child))
        submit(box, child, "tell", 0.1)
    wait_until(lambda: box.service.status(run)["status"] == "completed")


def test_a_called_workflow_has_its_own_budget_within_that_of_its_caller(box: Box) -> None:
    caller = steps("{id: part, type: call, workflow: part}", delegate("last"), head="budget: {tokens: 100}")
    part = steps(delegate("a"), delegate("b"), name="part", head="budget: {tokens: 10}")
    reply = box.compile(caller, part).service.start("w")
    run, (child,) = reply["workflow_id"], children(reply)
    submit(box, child, "a", tokens=20)
    wait_until(lambda: step_ids(box.service.status(run))[0] == GATE)
    message = box.service.status(run)["action"]["parameters"]["message"]
    assert message.startswith("The budget of `part` is used up: 20 of 10 tokens.")


MISSION = """
name: w
proof: none
budget: {steps: 1}
phases:
  - {id: a, number: 1, agents: [{type: general-purpose}], completion: all agents success, retry: 1}
"""
REACTIVE = """
name: w
description: Ask until it is done.
version: "1.0.0"
budget: {steps: 1}
default_state: {raw: {done: false}}
steps:
  - id: until
    type: while
    condition: "{{ !done }}"
    body: [{id: a, type: agent_prompt, prompt: Do it., state_update: {path: raw.done, value: "{{ response.done }}"}}]
"""


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        (MISSION, {"status": "failed", "summary": "no"}, {"status": "success", "summary": "yes"}),
        (REACTIVE, {"done": False}, {"done": True}),
    ],
    ids=["phases", "reactive"],
)
def test_missions_and_reactive_workflows_have_budgets(
    box: Box, text: str, first: dict[str, object], last: dict[str, object]
) -> None:
    run = box.compile(text).service.start("w")["workflow_id"]
    reply = box.service.submit(run, "a", first)
    assert step_ids(reply) == [GATE]
    message = reply["action"]["parameters"]["message"]
    assert message.startswith("The budget of `w` is used up: 1 of 1 steps.")
    (again,) = step_ids(box.service.submit(run, GATE, {"confirmed": True}))
    assert again == "a@2"
    assert box.service.submit(run, again, last)["status"] == "completed"


@pytest.mark.parametrize(
    "usage",
    [
        5,
        "x",
        [],
        {"usd": "1"},
        {"usd": -1},
        {"eur": 1},
        {"tokens": True},
        {"usd": float("nan")},
        {"usd": 1e300},
    ],
)
def test_a_usage_that_is_none_is_refused_and_the_step_stays_pending(file_box: Box, usage: object) -> None:
    run = file_box.compile(steps(delegate("a"))).service.start("w")["workflow_id"]
    with pytest.raises(RequestError, match="`usage` takes"):
        file_box.service.submit(run, "a", DONE, usage=usage)
    assert step_ids(file_box.service.status(run)) == ["a"]


def test_without_usage_the_tokens_inside_a_result_count(box: Box) -> None:
    text = steps(*map(delegate, "ab"), head="budget: {tokens: 5}")
    run = box.compile(text).service.start("w")["workflow_id"]
    assert step_ids(box.service.submit(run, "a", {**DONE, "tokens_used": 5})) == [GATE]
