"""A run that a `fail` step has ended: what the caller sees, and where a retry continues."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.support import OK, Box, step_ids
from tests.support import load
from tests.unit.explore.support import explored
from wfc.checker import check_project
from wfc.picture import to_picture
from wfc_runtime.errors import RefusedError
from wfc_runtime.picture.mermaid import render_mermaid

GATE = """
name: w
version: 1.0.0
inputs:
  service: {type: string, default: billing, description: The service.}
steps:
  - {id: hello, type: prompt, prompt_type: info, message: Welcome.}
  - id: stop
    type: prompt
    prompt_type: choice
    message: "Release {{ inputs.service }}?"
    options: [release, again, stop]
    output_to: verdict
  - {id: build, type: shell, command: make, output_to: built}
  - id: again
    type: goto
    needs_state: [verdict]
    when: "{{ state.verdict.selected == 'again' }}"
    target: stop
    max_iterations: 1
  - id: check
    type: condition
    needs_state: [verdict]
    if: "{{ state.verdict.selected == 'stop' }}"
    then:
      - id: reject
        type: fail
        needs_state: [built]
        code: rejected
        message: "{{ inputs.service }}: {{ state.built.stdout }}"
  - {id: done, type: return, value: released}
"""


def to_the_end(box: Box, run: str, verdict: str, number: str = "") -> dict[str, object]:
    box.service.submit(run, f"stop{number}", {"selected": verdict})
    return box.service.submit(run, f"build{number}", {**OK, "stdout": "built"})


def test_a_run_fails_with_the_code_and_the_message_of_the_step_and_a_retry_asks_the_person_again(
    box: Box,
) -> None:
    run = box.compile(GATE).service.start("w")["workflow_id"]
    box.service.submit(run, "hello", {"acknowledged": True})
    ended = to_the_end(box, run, "stop")
    error = ended["error"]
    assert isinstance(error, dict)
    assert (ended["status"], error["code"], error["step_id"]) == ("failed", "rejected", "reject")
    assert error["message"] == "billing: built"
    assert error["hint"].startswith("The workflow ended the run here. A retry continues at `stop`.")
    assert str(ended["next"]).endswith("only if the person wants to decide again")
    again = box.service.retry(run, "reject")
    assert step_ids(again) == ["stop@2"]
    assert box.service.retry(run, "reject") == {**again, "repeated": True}
    assert box.service.state(run, ["built"])["state"]["built"]["stdout"] == "built"
    assert to_the_end(box, run, "release", "@2")["result"] == "released"


LOOP = """
name: w
version: 1.0.0
steps:
  - {id: ask, type: prompt, prompt_type: confirm, message: Good?, output_to: good}
  - id: again
    type: goto
    needs_state: [good]
    when: "{{ not state.good.confirmed }}"
    target: ask
    max_iterations: 1
    else: give-up
  - {id: done, type: return, value: good}
  - {id: give-up, type: fail, code: too_often, message: Asked too often.}
"""


def test_a_jump_that_was_used_up_is_allowed_again_after_a_retry(box: Box) -> None:
    run = box.compile(LOOP).service.start("w")["workflow_id"]
    for visit in ("ask", "ask@2"):
        reply = box.service.submit(run, visit, {"confirmed": False})
    assert reply["error"]["code"] == "too_often"
    assert step_ids(box.service.retry(run)) == ["ask@3"]
    assert step_ids(box.service.submit(run, "ask@3", {"confirmed": False})) == ["ask@4"]
    assert box.service.submit(run, "ask@4", {"confirmed": True})["result"] == "good"


SIDES = """
name: w
version: 1.0.0
steps:
  - {id: prepare, type: shell, command: prepare}
  - id: both
    type: parallel
    branches:
      left:
        - {id: ask, type: prompt, prompt_type: confirm, message: Sure?, output_to: sure}
        - {id: other, type: shell, command: other}
      right:
        - {id: tests, type: shell, command: tests, output_to: tests}
        - id: broken
          type: fail
          needs_state: [tests]
          when: "{{ state.tests.exit_code != 0 }}"
          message: The tests fail.
"""


def test_a_run_that_asked_nobody_continues_at_the_last_answered_step_of_its_own_branch(box: Box) -> None:
    run = box.compile(SIDES).service.start("w")["workflow_id"]
    box.service.submit(run, "prepare", OK)
    box.service.submit(run, "ask", {"confirmed": True})
    failed = box.service.submit(run, "tests", {**OK, "exit_code": 1})
    assert (failed["error"]["code"], failed["error"]["message"]) == ("failed", "The tests fail.")
    # The question in the other branch is not on the way to the failure.
    assert sorted(step_ids(box.service.retry(run))) == ["other", "tests@2"]
    box.service.submit(run, "tests@2", OK)
    assert box.service.submit(run, "other", OK)["status"] == "completed"


AT_ONCE = """
name: w
version: 1.0.0
inputs:
  size: {type: integer, default: 1, description: How many.}
steps:
  - id: small
    type: fail
    when: "{{ inputs.size < 5 }}"
    code: "{{ 'too_small' if inputs.size > 0 else 'not a code' }}"
    message: "{{ inputs.size }} is too small."
  - {id: work, type: shell, command: work}
"""


def test_a_run_that_fails_before_any_answer_can_not_be_retried(box: Box) -> None:
    failed = box.compile(AT_ONCE).service.start("w")
    assert (failed["error"]["code"], failed["error"]["message"]) == ("too_small", "1 is too small.")
    assert "retry_workflow" not in failed["next"]
    with pytest.raises(RefusedError, match="before any step was answered") as caught:
        box.service.retry(failed["workflow_id"])
    assert caught.value.code == "no_gate"
    # A code that is none is an error of the workflow, and its message says so.
    wrong = box.service.start("w", {"size": 0})["error"]
    assert (wrong["code"], "not an error code" in wrong["message"]) == ("expression", True)


CHILDREN = """
name: w
version: 1.0.0
tasks:
  part:
    inputs:
      name: {type: string, required: true, description: The part.}
    steps:
      - {id: odd, type: fail, when: "{{ inputs.name == 'odd' }}", code: odd, message: Odd.}
      - {id: look, type: shell, command: look, output_to: seen}
      - {id: bad, type: fail, needs_state: [seen], when: "{{ state.seen.exit_code > 0 }}", code: bad, message: Bad.}
      - {id: name, type: return, value: "{{ inputs.name }}"}
steps:
  - {id: parts, type: foreach, items: [odd, even], task: part, output_to: found}
  - {id: done, type: return, needs_state: [found], value: "{{ state.found }}"}
"""


def test_a_task_that_fails_is_a_failed_child_and_is_retried_with_its_parent(box: Box) -> None:
    started = box.compile(CHILDREN).service.start("w")
    run = started["workflow_id"]
    even = started["action"]["parameters"]["children"][-1]["workflow_id"]
    ended = box.service.submit(even, "look", {**OK, "exit_code": 1})
    assert ended["error"]["code"] == "bad"
    parent = box.service.status(run)
    assert parent["status"] == "failed"
    again = box.service.retry(run)
    # The one that failed before any answer starts over, and fails again; the other continues at its last answer.
    assert step_ids(box.service.status(even)) == ["look@2"]
    assert again["status"] == "pending_action"
    assert box.service.submit(even, "look@2", OK)["result"] == "even"
    assert box.service.status(run)["status"] == "failed"


def test_it_is_checked_explored_and_drawn_like_every_other_step() -> None:
    text = (Path(__file__).parents[1] / "golden/fail/workflow.yaml").read_text(encoding="utf-8")
    project = load(text)
    assert [str(item) for item in check_project(project)] == []
    report = explored(text)
    assert (report.problems, report.unreached) == ([], [])
    module = project.files[0].module
    assert module is not None
    drawn = render_mermaid(to_picture(module))
    assert "fail rejected" in drawn
