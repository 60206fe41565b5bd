"""Missions on both engines, and as steps: every round, question and end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.phases.test_server import ANSWERS, MISSION, RESULT, framed
from tests.runtime.support import Box, Reply
from tests.support import file_of
from wfc.checker import check_file
from wfc.cli.convert import to_steps
from wfc.findings import Severity
from wfc.ir import dump
from wfc_runtime.service.journal_pages import whole_journal


def pending(reply: Reply) -> list[Reply]:
    return reply.get("actions") or ([reply["action"]] if "action" in reply else [])


def drive(box: Box, answers: dict[str, Any], *, restarts: bool = False) -> Reply:
    service = box.service
    reply = service.start("endpoint", {"path": "/v1"})
    run = reply["workflow_id"]
    while reply["status"] not in ("completed", "failed", "cancelled"):
        visit = pending(service.status(run))[0]["step_id"]
        reply = service.submit(run, visit, framed(answers[visit]))
        if restarts:
            service = box.restart()
    return reply


def test_a_mission_ends_the_same_on_both_engines(box: Box) -> None:
    box.compile(MISSION)
    assert drive(box, ANSWERS)["result"] == RESULT


def test_a_mission_has_the_same_journal_on_both_engines_with_a_restart_after_every_submit(
    file_box: Box, temporal_box: Any
) -> None:
    assert journal(file_box, restarts=False) == journal(temporal_box, restarts=True)


def journal(box: Box, *, restarts: bool) -> str:
    """The journal of a run, without ids, times and durations."""
    box.compile(MISSION)
    run = str(drive(box, ANSWERS, restarts=restarts)["workflow_id"])
    times = ("at", "began", "ended", "seconds")

    def steady(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: steady(one) for key, one in value.items() if key not in times}
        return [steady(one) for one in value] if isinstance(value, list) else value

    return json.dumps(steady(whole_journal(box.service.journal(run))), indent=1).replace(run, "RUN")


def test_a_mission_survives_a_restart_after_every_submit(file_box: Box) -> None:
    file_box.compile(MISSION)
    assert drive(file_box, ANSWERS, restarts=True)["result"] == RESULT


def test_a_mission_is_the_same_machine_as_steps(file_box: Box) -> None:
    file = file_of(MISSION)
    steps = to_steps(file)
    as_steps = file_of(steps)
    assert [one.message for one in check_file(as_steps) if one.severity is Severity.ERROR] == []
    assert file.module is not None
    assert as_steps.module is not None
    assert dump(as_steps.module) == dump(file.module)
    assert as_steps.module.main.facts == file.module.main.facts
    file_box.compile(steps)
    assert drive(file_box, ANSWERS)["result"] == RESULT


@pytest.mark.parametrize(
    ("question", "answer", "before"),
    [
        ("design-stop", "again", {"status": "partial", "summary": "Half."}),
        ("design-checkpoint", "change", {"status": "success", "summary": "Done."}),
    ],
)
def test_a_phase_begins_again_five_times_and_a_retry_asks_once_more(
    file_box: Box, question: str, answer: str, before: dict[str, Any]
) -> None:
    service = file_box.compile(MISSION).service
    reply = service.start("endpoint", {"path": "/v1"})
    run = reply["workflow_id"]
    given = {"design": before, question: {"selected": answer}, "design-feedback": {"input": "More."}}
    asked = 0
    while reply["status"] != "failed":
        visit = pending(reply)[0]["step_id"]
        asked += visit.startswith(question)
        reply = service.submit(run, visit, given[visit.partition("@")[0]])
    assert (asked, reply["error"]["code"]) == (6, "too_many_rounds")
    assert pending(service.retry(run))[0]["step_id"].startswith(("design-stop", "design-feedback"))


@pytest.mark.parametrize("answer", ["change", "again"])
def test_an_agent_that_gives_no_report_in_a_later_round_has_none(file_box: Box, answer: str) -> None:
    service = file_box.compile(MISSION).service
    reply = service.start("endpoint", {"path": "/v1"})
    run = reply["workflow_id"]
    status = "success" if answer == "change" else "partial"
    service.submit(run, "design", {"status": status, "summary": "The first one."})
    if answer == "change":
        service.submit(run, "design-checkpoint", {"selected": "change"})
        service.submit(run, "design-feedback", {"input": "More."})
    else:
        service.submit(run, "design-stop", {"selected": "again"})
    reply = service.submit(run, "design@2", {"error": "the sub-agent crashed"})
    [asked] = pending(reply)
    assert asked["step_id"].startswith("design-stop")
    assert "architect has not reported." in asked["parameters"]["message"]
    assert "The first one." not in asked["parameters"]["message"]
