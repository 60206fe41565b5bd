"""Delegate steps that take a report: refusals, repeated submits, the verdict on several reports."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.support import OK, Box
from tests.support import load
from tests.unit.explore.support import explored
from tests.unit.expr.support import ev
from wfc.checker import check_project
from wfc_runtime.errors import RefusedError
from wfc_runtime.expr import ExpressionError

REVIEW = """
name: w
version: 1.0.0
inputs:
  area: {type: string, default: the store, description: What to review.}
steps:
  - id: review
    type: delegate
    agent: "@reviewer"
    subagent_type: Explore
    instructions: "Review {{ inputs.area }}."
    result: report
    evidence: ["All of {{ inputs.area }} was read."]
    output_to: review
  - id: judge
    type: set_state
    needs_state: [review]
    updates:
      verdict: "{{ {'reviewer': state.review} | shortcomings }}"
  - id: stop
    type: fail
    needs_state: [verdict]
    when: "{{ state.verdict.problems | length > 0 }}"
    code: review_failed
    message: "{{ state.verdict.problems | join(' ') }}"
  - {id: done, type: return, needs_state: [review], value: "{{ state.review }}"}
"""
TEXT = """\
  STATUS: success
  SUMMARY: Read it.
  DECISIONS:
  - Question: Split it?
    Chosen: No
  EVIDENCE:
  - All of the store was read.: see the notes
agentId: x
"""


def test_a_report_is_submitted_as_text_and_the_state_has_it_read(box: Box) -> None:
    started = box.compile(REVIEW).service.start("w")
    run, action = started["workflow_id"], started["action"]
    assert action["parameters"]["subagent_type"] == "Explore"
    assert action["instruction"].startswith(
        "Give this to a sub-agent of type Explore as @reviewer and submit"
    )
    assert "as the agent's own text" in action["instruction"]
    schema = action["result_schema"]
    assert schema["required"] == ["status", "summary", "evidence"]
    assert schema["properties"]["evidence"]["required"] == ["All of the store was read."]
    with pytest.raises(
        RefusedError, match=r"the text has no STATUS line\. Use this form:\nSTATUS: success"
    ) as caught:
        box.service.submit(run, "review", "All is well.")
    assert caught.value.code == "result_misfit"
    with pytest.raises(RefusedError, match="there is no evidence for: All of the store was"):
        box.service.submit(run, "review", {"status": "success", "summary": "x"})
    ended = box.service.submit(run, "review", TEXT)
    assert (ended["status"], ended["result"]["decisions"][0]["chosen"]) == ("completed", "No")
    # The same text again is the same answer, and another one is not, even if it reads as the same report.
    assert box.service.submit(run, "review", TEXT)["repeated"] is True
    with pytest.raises(RefusedError) as refused:
        box.service.submit(run, "review", ended["result"])
    assert refused.value.code == "answered"
    event = box.service.history(run)["events"][-1]
    # The journal reads reports from the history, which has the report and recognises the text by its digest.
    assert event["result"] == ended["result"]


def test_a_report_that_falls_short_fails_the_run_with_what_the_agent_said(box: Box) -> None:
    run = box.compile(REVIEW).service.start("w")["workflow_id"]
    report = {
        "status": "partial",
        "summary": "Half.",
        "issues": [{"description": "No key", "requires_human": True}],
        "evidence": {"1": "notes"},
    }
    error = box.service.submit(run, "review", report)["error"]
    assert error["message"] == "reviewer reports partial: Half. reviewer is blocked: No key"
    assert box.service.retry(run)["action"]["step_id"] == "review@2"


def test_a_workflow_with_reports_is_clean_and_explored_to_every_branch() -> None:
    assert [str(item) for item in check_project(load(REVIEW))] == []
    report = explored(REVIEW)
    assert (report.problems, report.unreached) == ([], [])


GOOD: dict[str, Any] = {"status": "success", "summary": "ok", "issues": []}
BAD: dict[str, Any] = {"status": "failed", "summary": "broke", "issues": []}
RESOLVED = {"description": "d", "requires_human": True, "resolution": "asked"}
STUCK = {"description": "no key", "requires_human": True, "resolution": ""}


@pytest.mark.parametrize(
    ("call", "reports", "problems", "again"),
    [
        ("", {"a": GOOD, "b": GOOD}, [], []),
        ("", {"a": GOOD, "b": BAD}, ["b reports failed: broke"], ["b"]),
        ("", {"a": GOOD, "b": None}, ["b has not reported."], ["b"]),
        ("([], 'any agent success')", {"a": GOOD, "b": BAD}, [], []),
        (
            "([], 'any agent success')",
            {"a": None, "b": BAD},
            ["a has not reported.", "b reports failed: broke"],
            ["a", "b"],
        ),
        ("([], 'all agents done')", {"a": GOOD, "b": BAD}, [], []),
        ("([], 'all agents done')", {"a": None, "b": BAD}, ["a has not reported."], ["a"]),
        ("(['x.md'])", {"a": GOOD, "b": GOOD}, ["x.md is missing."], ["a", "b"]),
        ("(none, 'all agents done', ['y'])", {"a": GOOD}, ["y was changed outside of the scope."], ["a"]),
        ("", {"a": {**GOOD, "issues": [RESOLVED]}}, [], []),
        (
            "([], 'all agents done')",
            {"a": {**GOOD, "issues": [STUCK]}, "b": GOOD},
            ["a is blocked: no key"],
            ["a"],
        ),
        (
            "([], 'any agent success')",
            {"a": GOOD, "b": {**BAD, "issues": [STUCK]}},
            ["b is blocked: no key"],
            ["b"],
        ),
        ("", {}, [], []),
        (
            "",
            {"a": {"issues": "odd"}, "b": "odd"},
            ["b has not reported.", "a reports no status: no summary"],
            ["a", "b"],
        ),
    ],
)
def test_shortcomings_name_the_problems_and_whom_to_ask_again(
    call: str, reports: dict[str, Any], problems: list[str], again: list[str]
) -> None:
    found = ev(f"{{{{ r | shortcomings{call} }}}}", r=reports)
    assert found == {"problems": problems, "again": again}


@pytest.mark.parametrize(
    "call", ["[1] | shortcomings", "{} | shortcomings([], 'most')", "{} | shortcomings(1)"]
)
def test_shortcomings_refuse_what_they_do_not_know(call: str) -> None:
    with pytest.raises(ExpressionError):
        ev(f"{{{{ {call} }}}}")


PROOF = """
name: w
version: 1.0.0
steps:
  - {id: before, type: git_snapshot, otherwise: skip, output_to: before}
  - {id: write, type: shell, command: make docs}
  - id: changes
    type: git_changes
    needs_state: [before]
    since: "{{ state.before }}"
    otherwise: skip
    output_to: changes
  - {id: done, type: return, needs_state: [changes], value: "{{ state.changes }}"}
"""


def test_on_temporal_git_steps_are_skipped_where_the_workflow_says_so(temporal_box: Box) -> None:
    service = temporal_box.compile(PROOF).service
    started = service.start("w")
    assert started["action"]["step_id"] == "write"
    ended = service.submit(started["workflow_id"], "write", OK)
    assert (ended["status"], ended["result"]["proved"]) == ("completed", False)
    assert ended["result"]["skipped"].startswith("the server may not run `git status`")
