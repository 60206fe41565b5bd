"""`join` on foreach and parallel: when the step ends, and what happens to the others. On both engines."""

from __future__ import annotations

import json

import pytest

from tests.runtime.support import OK, Box, Reply, children, step_ids, steps

TASK = """
tasks:
  audit:
    inputs: {module: {type: string, required: true}}
    steps:
      - {id: look, type: shell, command: "cat {{ inputs.module | shquote }}", fails_on_exit: true, output_to: seen}
      - {id: tell, type: return, value: "{{ item }}"}
"""


def foreach(more: str, items: str = "[m1, m2, m3]") -> str:
    return (
        steps(
            f"{{id: each, type: foreach, items: {items}, task: audit, output_to: out, {more}}}",
            "{id: end, type: return, needs_state: [out], value: '{{ state.out | default(none) }}'}",
        )
        + TASK
    )


def look(box: Box, child: str, code: int = 0) -> Reply:
    return box.service.submit(child, "look", {**OK, "exit_code": code})


def test_fail_fast_cancels_the_other_children_and_queued_ones_never_start(box: Box) -> None:
    reply = box.compile(foreach("join: fail_fast, max_parallel: 2")).service.start("w")
    one, two = children(reply)
    look(box, two, 1)
    service = box.restart()
    after = service.status(reply["workflow_id"])
    assert after["status"] == "failed"
    assert "1 of 3 children failed: the command failed with exit code 1" in after["error"]["message"]
    assert service.status(one)["status"] == "cancelled"
    # A retry starts the failed child and those that did not end.
    again = service.retry(reply["workflow_id"])
    assert len(children(again)) == 2
    for _ in range(3):
        for child in children(service.status(reply["workflow_id"]))[:1]:
            service.submit(child, next(iter(step_ids(service.next_step(child)))), OK)
    assert service.status(reply["workflow_id"])["result"] == ["m1", "m2", "m3"]


def test_any_ends_with_the_first_success_and_cancels_the_others(box: Box) -> None:
    reply = box.compile(foreach("join: any")).service.start("w")
    one, two, three = children(reply)
    look(box, one, 1)
    assert box.service.status(reply["workflow_id"])["status"] == "pending_action"
    look(box, three)
    service = box.restart()
    assert service.status(reply["workflow_id"])["result"] == "m3"
    assert service.status(two)["status"] == "cancelled"


def test_any_fails_if_all_fail_and_in_turn_it_tries_one_after_the_other(box: Box) -> None:
    reply = box.compile(foreach("join: any, sequential: true, on_error: continue")).service.start("w")
    for _ in range(3):
        (child,) = children(box.service.status(reply["workflow_id"]))
        look(box, child, 2)
    assert box.service.status(reply["workflow_id"])["result"] is None


def test_any_of_no_items_fails(file_box: Box) -> None:
    reply = file_box.compile(foreach("join: any", "[]")).service.start("w")
    assert "`items` is empty" in reply["error"]["message"]


def parallel(more: str, last: str = "{id: end, type: return, value: done}") -> str:
    return (
        steps(
            f"""id: both
    type: parallel
    {more}
    branches:
      left:
        - {{id: one, type: shell, command: 'true', fails_on_exit: true, output_to: a}}
        - {{id: more, type: foreach, items: [x], task: audit}}
      right: [{{id: two, type: shell, command: 'true', fails_on_exit: true, output_to: b}}]
""",
            last,
            "{id: rescue, type: return, value: rescued}",
        )
        + TASK
    )


BAD = {**OK, "exit_code": 1}


def test_without_join_all_children_and_branches_end_before_the_step_fails(file_box: Box) -> None:
    service = file_box.compile(foreach("on_error: fail"), parallel("").replace("name: w", "name: v")).service
    run = service.start("w")["workflow_id"]
    first, second, third = children(service.status(run))
    look(file_box, first, 1)
    assert service.status(run)["status"] == "pending_action"
    look(file_box, second)
    look(file_box, third)
    assert service.status(run)["error"]["message"].startswith("1 of 3 children failed")
    other = service.start("v")["workflow_id"]
    assert step_ids(service.submit(other, "two", BAD)) == ["one"]
    assert service.submit(other, "one", BAD)["error"]["message"].startswith("2 of 2 branches failed: two: ")


def test_all_lets_the_other_branches_end_before_the_step_fails(box: Box) -> None:
    run = box.compile(parallel("join: all")).service.start("w")["workflow_id"]
    reply = box.service.submit(run, "two", BAD)
    assert step_ids(reply) == ["one"]
    box.service.submit(run, "one", OK)
    (child,) = children(box.service.status(run))
    look(box, child)
    after = box.restart().status(run)
    assert after["error"]["step_id"] == "both"
    assert after["error"]["message"].startswith("1 of 2 branches failed: two: the command failed")
    # A retry begins the branch that failed again, and not the one that succeeded.
    assert step_ids(box.service.retry(run)) == ["two@2"]
    assert box.restart().submit(run, "two@2", OK)["result"] == "done"


FAILING = ", fails_on_exit: true"


def branches(**lines: str) -> str:
    text = "".join(f"\n        {name}: [{line}]" for name, line in lines.items())
    return steps(
        f"id: both\n    type: parallel\n    branches:{text}\n", "{id: end, type: return, value: done}"
    )


def sh(step_id: str, more: str = FAILING) -> str:
    return f"{{id: {step_id}, type: shell, command: 'true'{more}}}"


def children_of(reply: Reply, step_id: str) -> list[str]:
    action = next(one for one in reply["actions"] if one["step_id"] == step_id)
    return children({"action": action})


def test_a_retry_enters_the_steps_that_failed_in_branches_and_repeats_none_before_them(box: Box) -> None:
    text = branches(a=f"{sh('a1')}, {sh('a2')}", b=f"{sh('b1')}, {sh('b2')}, {sh('b3')}", c=sh("c1"))
    run = box.compile(text).service.start("w")["workflow_id"]
    for visit, result in (("a1", OK), ("a2", BAD), ("b1", OK), ("b2", BAD), ("c1", OK)):
        reply = box.service.submit(run, visit, result)
    assert reply["error"]["message"].startswith("2 of 3 branches failed: a2: ")
    again = box.restart().retry(run)
    assert sorted(step_ids(again)) == ["a2@2", "b2@2"]
    assert box.service.retry(run, "both")["repeated"] is True
    box.service.submit(run, "a2@2", OK)
    assert step_ids(box.service.submit(run, "b2@2", OK)) == ["b3"]
    assert box.restart().submit(run, "b3", OK)["result"] == "done"


def test_a_retry_can_fail_in_a_later_step_of_a_branch(file_box: Box) -> None:
    run = file_box.compile(branches(a=f"{sh('a1')}, {sh('a2')}", b=sh("b1"))).service.start("w")[
        "workflow_id"
    ]
    file_box.service.submit(run, "a1", BAD)
    file_box.service.submit(run, "b1", OK)
    file_box.service.retry(run)
    file_box.service.submit(run, "a1@2", OK)
    assert file_box.service.submit(run, "a2", BAD)["status"] == "failed"
    assert step_ids(file_box.service.retry(run)) == ["a2@2"]
    assert file_box.service.submit(run, "a2@2", OK)["result"] == "done"


def test_a_retry_continues_the_failed_children_of_a_branch_and_keeps_the_results_of_the_others(
    box: Box,
) -> None:
    text = branches(a=f"{sh('a1')}, {{id: more, type: foreach, items: [x, y], task: audit}}", b=sh("b1"))
    run = box.compile(text + TASK).service.start("w")["workflow_id"]
    box.service.submit(run, "a1", OK)
    one, two = children_of(box.service.status(run), "more")
    look(box, one, 1)
    look(box, two)
    assert box.service.submit(run, "b1", OK)["status"] == "failed"
    again = box.restart().retry(run)
    assert (step_ids(again), children(again)) == (["more@2"], [one])
    box.service.submit(one, "look@2", OK)
    assert box.restart().status(run)["result"] == "done"


def test_a_child_that_failed_in_a_branch_is_retried_with_its_parent(file_box: Box) -> None:
    text = branches(a="{id: more, type: foreach, items: [x], task: audit}", b=f"{sh('b1')}, {sh('b2')}")
    run = file_box.compile(text + TASK).service.start("w")["workflow_id"]
    (child,) = children_of(file_box.service.status(run), "more")
    look(file_box, child, 1)
    file_box.service.submit(run, "b1", OK)
    file_box.service.submit(run, "b2", BAD)
    file_box.service.retry(child)
    assert sorted(step_ids(file_box.service.status(run))) == ["b2@2", "more@2"]
    file_box.service.submit(child, "look@2", OK)
    assert file_box.service.submit(run, "b2@2", OK)["result"] == "done"


def test_children_that_were_at_work_when_their_branch_failed_start_again(file_box: Box) -> None:
    text = branches(a="{id: more, type: foreach, items: [x, y], task: audit, deadline: 60}", b=sh("b1"))
    run = file_box.compile(text + TASK).service.start("w")["workflow_id"]
    one, two = children_of(file_box.service.status(run), "more")
    look(file_box, one)
    file_box.clock.pass_(61)
    assert file_box.service.submit(run, "b1", OK)["error"]["message"].startswith(
        "1 of 2 branches failed: more"
    )
    again = file_box.service.retry(run)
    (other,) = children(again)
    assert other not in (one, two)
    look(file_box, other)
    assert file_box.service.status(run)["result"] == "done"


def test_a_retry_enters_the_steps_that_failed_in_a_parallel_step_inside_a_branch(box: Box) -> None:
    inner = f"{{id: inner, type: parallel, branches: {{c: [{sh('c1')}, {sh('c2')}], d: [{sh('d1')}]}}}}, {sh('after')}"
    run = box.compile(branches(a=f"{sh('a1')}, {inner}", b=sh("b1"))).service.start("w")["workflow_id"]
    for visit, result in (("a1", OK), ("c1", OK), ("c2", BAD), ("d1", OK), ("b1", OK)):
        reply = box.service.submit(run, visit, result)
    assert reply["error"]["step_id"] == "both"
    assert step_ids(box.restart().retry(run)) == ["c2@2"]
    assert step_ids(box.service.submit(run, "c2@2", OK)) == ["after"]
    assert box.service.submit(run, "after", OK)["result"] == "done"


def test_a_branch_that_failed_in_a_loop_over_items_begins_again(file_box: Box) -> None:
    loop = f"{{id: turns, type: each, items: [1, 2], as: n, steps: [{sh('one')}, {sh('two')}]}}"
    run = file_box.compile(branches(a=f"{sh('a1')}, {loop}", b=sh("b1"))).service.start("w")["workflow_id"]
    for visit, result in (("a1", OK), ("one", OK), ("two", BAD), ("b1", OK)):
        file_box.service.submit(run, visit, result)
    assert step_ids(file_box.service.retry(run)) == ["a1@2"]
    for visit in ("a1@2", "one@2", "two@2", "one@3"):
        file_box.service.submit(run, visit, OK)
    assert file_box.service.submit(run, "two@3", OK)["result"] == "done"


@pytest.mark.parametrize("handler", ["", ", on_error: defer"])
def test_branches_that_another_failure_cancelled_begin_again(file_box: Box, handler: str) -> None:
    inner = (
        f"join: fail_fast{handler}, branches: {{c: [{sh('c1')}, {sh('c2')}], d: [{sh('d1')}, {sh('d2')}]}}"
    )
    text = branches(a=f"{sh('a1')}, {{id: inner, type: parallel, {inner}}}", b=sh("b1"))
    run = file_box.compile(text).service.start("w")["workflow_id"]
    for visit, result in (("a1", OK), ("d1", OK), ("c1", BAD), ("b1", OK)):
        file_box.service.submit(run, visit, result)
    again = file_box.service.retry(run)
    assert sorted(step_ids(again)) == ["c1@2", "d1@2"]
    for visit in ("c1@2", "d1@2", "c2", "d2@2"):
        reply = file_box.service.submit(run, visit, OK)
    assert reply["result"] == "done"


def test_the_path_of_a_run_leads_from_the_frame_of_the_step_to_the_next_one(file_box: Box) -> None:
    run = file_box.compile(parallel("join: all")).service.start("w")["workflow_id"]
    for visit in ("one", "two"):
        file_box.service.submit(run, visit, OK)
    look(file_box, children(file_box.service.status(run))[0])
    path = file_box.service.path(run)
    assert ["both", "end", 1] in path["taken"]
    assert not any("both_join" in str(one) for one in (path["taken"], path["visited"]))


def test_any_leaves_the_other_branches_and_cancels_their_children(box: Box) -> None:
    run = box.compile(parallel("join: any")).service.start("w")["workflow_id"]
    box.service.submit(run, "one", OK)
    shown = box.service.status(run)
    (child,) = [
        one["workflow_id"] for action in shown["actions"] for one in action["parameters"].get("children", ())
    ]
    assert box.service.submit(run, "two", OK)["result"] == "done"
    assert box.restart().status(child)["status"] == "cancelled"


def test_any_fails_only_if_every_branch_fails(box: Box) -> None:
    run = box.compile(parallel("join: any")).service.start("w")["workflow_id"]
    box.service.submit(run, "one", BAD)
    reply = box.restart().submit(run, "two", BAD)
    assert reply["error"]["message"].startswith("2 of 2 branches failed: one: ")


@pytest.mark.parametrize("handler", ["continue", "{goto: rescue}", "defer"])
def test_with_fail_fast_a_handler_of_the_step_sees_the_first_failure_at_once(
    file_box: Box, handler: str
) -> None:
    run = file_box.compile(parallel(f"join: fail_fast\n    on_error: {handler}")).service.start("w")[
        "workflow_id"
    ]
    reply = file_box.service.submit(run, "two", BAD)
    expected = {"continue": "done", "{goto: rescue}": "rescued"}
    assert reply.get("result") == expected.get(handler)
    assert handler != "defer" or reply["error"]["step_id"] == "both"


def test_inner_steps_fail_the_step_that_is_nearest_around_them(file_box: Box) -> None:
    text = steps(
        """id: outer
    type: parallel
    join: all
    on_error: continue
    branches:
      a:
        - id: inner
          type: parallel
          join: all
          branches:
            c: [{id: one, type: shell, command: 'true', fails_on_exit: true}]
            d: [{id: two, type: shell, command: 'true', fails_on_exit: true}]
        - {id: never, type: shell, command: 'true'}
      b:
        - id: fast
          type: parallel
          join: fail_fast
          branches:
            e: [{id: three, type: shell, command: 'true', fails_on_exit: true}]
            f: [{id: four, type: shell, command: 'true'}]
""",
        "{id: end, type: return, value: done}",
    )
    run = file_box.compile(text).service.start("w")["workflow_id"]
    file_box.service.submit(run, "one", BAD)
    # The fast step inside fails at once, and leads to the end of its branch.
    assert step_ids(file_box.service.submit(run, "three", BAD)) == ["two"]
    reply = file_box.service.submit(run, "two", OK)
    assert reply["result"] == "done"
    notes = [one for one in file_box.service.history(run)["events"] if "2 of 2 branches" in json.dumps(one)]
    assert notes


def test_the_failures_of_an_earlier_turn_do_not_count(file_box: Box) -> None:
    text = steps(
        """id: turns
    type: while
    if: "{{ state.n < 2 }}"
    needs_state: [n]
    max_iterations: 3
    steps:
      - id: both
        type: parallel
        join: any
        branches:
          left: [{id: one, type: shell, command: 'true', fails_on_exit: true}]
          right: [{id: two, type: shell, command: 'true', fails_on_exit: true}]
      - {id: count, type: set_state, needs_state: [n], updates: {n: "{{ state.n + 1 }}"}}
"""
    ).replace("steps:", "initial_state: {n: 0}\nsteps:", 1)
    run = file_box.compile(text).service.start("w")["workflow_id"]
    file_box.service.submit(run, "one", BAD)
    file_box.service.submit(run, "two", OK)
    file_box.service.submit(run, "two@2", BAD)
    reply = file_box.service.submit(run, "one@2", BAD)
    assert reply["error"]["message"].startswith("2 of 2 branches failed: two@2: ")
