"""Retrying a parent retries its failed children, and retrying a child continues the parents that failed with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.runtime.support import OK, TWO, Box, Reply, children, step_ids, steps
from tests.runtime.test_children import foreach
from tests.runtime.test_retry import BROKEN, kinds, refusal

CALLER = steps(
    "{id: call, type: call, workflow: w, with: {}, output_to: o}",
    "{id: r, type: return, needs_state: [o], value: '{{ state.o }}'}",
    name="caller",
)
OUTER = steps("{id: outer, type: call, workflow: caller, with: {}, output_to: o}", name="outermost")


def spread(box: Box, count: int, broken: set[int], more: str = "") -> tuple[str, list[str]]:
    """A run of `w` over some items, of which some children fail."""
    items = f"[{', '.join(f'm{number}' for number in range(count))}]"
    reply = box.compile(foreach(more, items)).service.start("w")
    found = children(reply)
    for number, child in enumerate(found):
        box.service.submit(child, "look", BROKEN if number in broken else {**OK, "exit_code": number})
    return str(reply["workflow_id"]), found


def of(reply: Reply, kind: str) -> Any:
    actions = reply.get("actions") or [reply["action"]]
    return next(action for action in actions if action["type"] == kind)


def test_retrying_a_foreach_retries_its_failed_children_and_keeps_the_results_of_the_others(box: Box) -> None:
    run, found = spread(box, 40, {3, 17, 39})
    assert box.service.status(run)["error"]["message"].startswith("3 of 40 children failed")
    again = box.service.retry(run, "each")
    assert step_ids(again) == ["each@2"]
    assert children(again) == [found[3], found[17], found[39]]
    for child in children(again):
        assert step_ids(box.service.status(child)) == ["look@2"]
        box.service.submit(child, "look@2", {**OK, "exit_code": 99})
    ended = box.service.status(run)
    assert [one["code"] for one in ended["result"]] == [
        99 if number in (3, 17, 39) else number for number in range(40)
    ]
    assert kinds(box, found[3]) == ["started", "submitted", "retried", "submitted"]
    assert kinds(box, found[4]) == ["started", "submitted"]


def test_retrying_a_child_continues_the_parent_that_failed_because_of_it(box: Box) -> None:
    run, found = spread(box, 3, {0, 1})
    reply = box.service.retry(found[0], "look")
    assert (reply["workflow_id"], step_ids(reply)) == (found[0], ["look@2"])
    again = box.service.status(run)
    assert (step_ids(again), children(again)) == (["each@2"], [found[0]])
    box.service.submit(found[0], "look@2", OK)
    # The other child is still failed, so the parent is again.
    assert box.service.status(run)["error"]["message"].startswith("1 of 3 children failed")
    box.service.retry(found[1])
    box.service.submit(found[1], "look@2", OK)
    assert [one["code"] for one in box.service.status(run)["result"]] == [0, 0, 2]
    assert kinds(box, run).count("retried") == 2


def test_a_child_that_was_retried_with_its_parent_is_free_and_its_visit_counts_as_retried(box: Box) -> None:
    run, found = spread(box, 3, {0, 1})
    box.service.retry(run)
    # Whoever worked on it before was told that it had failed, and has stopped.
    shown = of(box.service.status(run), "foreach")
    assert ["worked_on" in child for child in shown["parameters"]["children"]] == [False, False]
    assert "worked_on" not in shown["instruction"]
    # The reply of the child named this call, and another window may still make it.
    again = box.service.retry(found[0], "look")
    assert (again["repeated"], step_ids(again)) == (True, ["look@2"])
    assert kinds(box, found[0]) == ["started", "submitted", "retried"]
    assert "in progress" in str(refusal(box, found[0], "look@2"))
    box.service.submit(found[0], "look@2", BROKEN)
    assert children(box.service.status(run)) == [found[1]]
    # A child that failed again is retried from its second visit.
    assert step_ids(box.service.retry(found[0], "look@2")) == ["look@3"]
    assert box.service.retry(found[0], "look")["repeated"] is True


def test_a_child_can_be_retried_while_its_parent_waits_for_others(box: Box) -> None:
    reply = box.compile(foreach()).service.start("w")
    run, (one, two) = reply["workflow_id"], children(reply)
    box.service.submit(one, "look", BROKEN)
    assert step_ids(box.service.retry(one)) == ["look@2"]
    assert box.service.retry(one, "look")["repeated"] is True
    assert children(box.service.status(run)) == [one, two]
    box.service.submit(two, "look", {**OK, "exit_code": 2})
    assert children(box.service.status(run)) == [one]
    box.service.submit(one, "look@2", {**OK, "exit_code": 1})
    assert [found["code"] for found in box.service.status(run)["result"]] == [1, 2]
    assert "child_retried" in kinds(box, run)


def test_a_child_of_a_sequential_foreach_is_retried_when_no_other_is_at_work(box: Box) -> None:
    reply = box.compile(foreach(", sequential: true")).service.start("w")
    run, [one] = reply["workflow_id"], children(reply)
    box.service.submit(one, "look", BROKEN)
    [two] = children(box.service.status(run))
    assert "one after the other" in refusal(box, one).message
    box.service.submit(two, "look", OK)
    assert box.service.status(run)["status"] == "failed"
    box.service.retry(one)
    box.service.submit(one, "look@2", {**OK, "exit_code": 1})
    assert [found["code"] for found in box.service.status(run)["result"]] == [1, 0]


def test_a_child_whose_parent_has_continued_without_it_is_not_retried(box: Box) -> None:
    run, found = spread(box, 2, {0}, ", on_error: continue")
    assert box.service.status(run)["status"] == "completed"
    assert refusal(box, found[0]).message == f"its parent {run} has continued without it"
    assert box.service.status(found[0])["status"] == "failed"


def test_a_called_workflow_that_failed_is_retried_through_all_callers_and_from_each(box: Box) -> None:
    for start_from in range(3):
        reply = box.compile(TWO, CALLER, OUTER).service.start("outermost")
        top = reply["workflow_id"]
        [middle] = children(box.service.status(top))
        [inner] = children(box.service.status(middle))
        box.service.submit(inner, "build", BROKEN)
        assert box.service.status(top)["status"] == "failed"
        box.service.retry([top, middle, inner][start_from])
        assert step_ids(box.service.status(top)) == ["outer@2"]
        assert step_ids(box.service.status(middle)) == ["call@2"]
        assert step_ids(box.service.status(inner)) == ["build@2"]
        box.service.submit(inner, "build@2", OK)
        box.service.submit(inner, "test", {**OK, "exit_code": 7})
        assert box.service.status(middle)["result"] == 7
        assert box.service.status(top)["status"] == "completed"


TWICE = """
name: w
version: 1.0.0
steps:
  - id: both
    type: parallel
    join: fail_fast
    branches:
      left:
        - {id: build, type: shell, command: make}
      right:
        - {id: each, type: foreach, items: [a, b, c], task: audit, output_to: out}
tasks:
  audit:
    steps:
      - {id: look, type: shell, command: x, output_to: seen}
      - {id: more, type: shell, command: y, output_to: seen}
"""


def test_children_that_ended_because_their_parent_failed_go_on_where_they_were(box: Box) -> None:
    reply = box.compile(TWICE).service.start("w")
    run = reply["workflow_id"]
    one, two, three = [child["workflow_id"] for child in of(reply, "foreach")["parameters"]["children"]]
    box.service.submit(one, "look", OK)
    box.service.submit(two, "look", BROKEN)
    box.service.submit(run, "build", BROKEN)
    assert [box.service.status(child)["status"] for child in (one, two, three)] == [
        "cancelled",
        "failed",
        "cancelled",
    ]
    assert "its parent failed" in json.dumps(box.service.status(one))
    hint = refusal(box, one).hint
    assert f'retry_workflow(workflow_id="{run}")' in hint
    assert f'retry_workflow(workflow_id="{run}")' in refusal(box, two).hint
    again = box.service.retry(run)
    assert sorted(step_ids(again)) == ["build@2", "each"]
    assert step_ids(box.service.status(one)) == ["more"]
    assert step_ids(box.service.status(three)) == ["look"]
    box.service.retry(two)
    for child, visit in ((one, "more"), (two, "look@2"), (two, "more"), (three, "look"), (three, "more")):
        box.service.submit(child, visit, OK)
    assert step_ids(box.service.status(run)) == ["build@2"]
    assert box.service.submit(run, "build@2", OK)["status"] == "completed"


def test_children_that_were_stopped_by_a_deadline_go_on_when_the_step_is_retried(box: Box) -> None:
    reply = box.compile(foreach(", deadline: 60")).service.start("w")
    run, (one, two) = reply["workflow_id"], children(reply)
    box.service.submit(one, "look", OK)
    box.clock.pass_(61)
    assert box.service.status(run)["error"]["code"] == "deadline"
    again = box.service.retry(run)
    assert (step_ids(again), children(again)) == (["each@2"], [two])
    box.clock.pass_(59)
    box.service.submit(two, "look", OK)
    assert box.service.status(run)["status"] == "completed"


def test_a_child_that_somebody_cancelled_is_started_anew_with_its_parent(box: Box) -> None:
    reply = box.compile(foreach()).service.start("w")
    run, (one, two) = reply["workflow_id"], children(reply)
    box.service.submit(two, "look", OK)
    box.service.cancel(one, "wrong one")
    assert box.service.status(run)["status"] == "failed"
    assert refusal(box, one).message.startswith("the run is cancelled")
    [new] = children(box.service.retry(run))
    assert new not in (one, two)
    box.service.submit(new, "look", OK)
    assert box.service.status(run)["status"] == "completed"


def test_a_child_that_could_not_start_is_started_again(box: Box) -> None:
    run = box.compile(foreach(items="[m1, {module: 5}]")).service.start("w")["workflow_id"]
    [one] = children(box.service.status(run))
    box.service.submit(one, "look", OK)
    assert box.service.status(run)["status"] == "failed"
    again = box.service.retry(run)
    assert (again["status"], again["error"]["step_id"]) == ("failed", "each@2")


def test_a_family_that_was_cancelled_is_not_retried(box: Box) -> None:
    reply = box.compile(foreach()).service.start("w")
    run, (one, two) = reply["workflow_id"], children(reply)
    box.service.submit(one, "look", BROKEN)
    box.service.cancel(run)
    for member in (run, two):
        assert refusal(box, member).message == "the run is cancelled: only a failed run can be retried"
    assert refusal(box, one).message == f"its parent {run} has continued without it"


def test_a_retried_family_survives_a_restart(box: Box) -> None:
    run, found = spread(box, 2, {1})
    box.restart().retry(run)
    assert children(box.restart().status(run)) == [found[1]]
    box.service.submit(found[1], "look@2", OK)
    assert box.restart().status(run)["status"] == "completed"


def test_the_results_of_a_foreach_that_failed_show_errors_and_no_ids(box: Box) -> None:
    run, _ = spread(box, 2, {1})
    [good, bad] = box.service.state(run, ["out"])["state"]["out"]
    assert good == {"module": "m0", "code": 0}
    assert list(bad) == ["error"]


@pytest.mark.parametrize("agent", ["'@task'", "'@helper'"])
def test_children_of_agents_are_retried_too(box: Box, agent: str) -> None:
    reply = box.compile(foreach(f", agent: {agent}")).service.start("w")
    run, (one, two) = reply["workflow_id"], children(reply)
    visit = step_ids(box.service.status(one))[0]
    for child in (one, two):
        reply = box.service.submit(child, visit, BROKEN)
    assert reply["next"].startswith("nothing: the task is failed; end here")
    assert f'retry_workflow(workflow_id="{two}", step_id="{visit}")' in reply["next"]
    again = box.service.retry(run)
    assert children(again) == [one, two]
    assert step_ids(box.service.status(one)) == [f"{visit}@2"]
