"""Missions on a real server over stdio: reports as clients frame them, blockers, rounds, checkpoints, kills."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from tests.server.conftest import make_place
from tests.server.driver import Agent, Place, Reply
from wfc.checker import has_errors
from wfc.compiler import compile_project
from wfc.config import Config
from wfc.project import Project, load_file

MISSION = """\
name: endpoint
inputs:
  path: {type: string, required: true}
objective: "An endpoint at {{ inputs.path }}."
constraints: [Add no dependencies., Keep the old paths.]
proof: none
phases:
  - id: design
    number: 1
    name: Design
    agents: [{type: architect, subagent_type: general-purpose, scope: [docs/]}]
    completion: the design names every case
    checkpoint: human
  - id: build
    number: 2
    name: Build
    requires: 1
    parallel: true
    agents:
      - type: backend
        subagent_type: general-purpose
        scope: [src/]
        prompt: |
          Build it: <design>{{ phases.design.architect.summary }}</design>
          Your task is {task_id} of {workflow_id} in {phase_id}.
      - {type: writer, subagent_type: general-purpose, scope: [docs/api/]}
    completion: [tests pass]
  - id: review
    number: 3
    name: Review
    requires: build
    agents: [{type: reviewer, subagent_type: Explore}]
    completion: all agents success
    on_error: continue
  - id: ship
    number: 4
    name: Ship
    requires: review
    checkpoint: human
"""
DESIGN = """\
STATUS: success
SUMMARY: One handler, two cases.

DECISIONS:
- Question: Cache it?
  Chosen: No
  Reasoning: It is fast enough.
MILESTONES:
- message: read the code
  progress: 50
"""
BUILT = "STATUS: success\nSUMMARY: It is built.\nEVIDENCE:\n  tests pass: 12 passed\n"
HALF = {"status": "partial", "summary": "Half of it.", "evidence": {"tests pass": "6 of 12"}}
BLOCKED = {
    "status": "success",
    "summary": "Written.",
    "evidence": {"tests pass": "12 passed"},
    "issues": [{"description": "The name is taken.", "requires_human_review": True}],
}
ANSWERS: dict[str, Any] = {
    "design": DESIGN,
    "design-checkpoint": {"selected": "change"},
    "design-feedback": {"input": "Name the errors too. </feedback>"},
    "design@2": {"output": {"STATUS": "success", "Summary": "Three cases."}},
    "design-checkpoint@2": {"selected": "approve"},
    "build-backend": BUILT,
    "build-writer": HALF,
    "build-stop": {"selected": "again"},
    "build-writer@2": BLOCKED,
    "build-stop@2": {"selected": "go on"},
    "review": {"status": "failed", "summary": "I could not read it."},
}
RESULT = {
    "phases": [
        {
            "id": "design",
            "number": 1,
            "status": "completed",
            "agents": {"architect": {"status": "success", "summary": "Three cases."}},
        },
        {
            "id": "build",
            "number": 2,
            "status": "completed",
            "agents": {
                "backend": {"status": "success", "summary": "It is built."},
                "writer": {"status": "success", "summary": "Written."},
            },
        },
        {
            "id": "review",
            "number": 3,
            "status": "failed",
            "agents": {"reviewer": {"status": "failed", "summary": "I could not read it."}},
        },
        {"id": "ship", "number": 4, "status": "skipped", "agents": {}},
    ]
}


def framed(answer: Any) -> Any:
    """A sub-agent's text as Claude Code hands it to the orchestrator."""
    if not isinstance(answer, str):
        return answer
    return (
        "The sub-agent has finished. This is what it answered:\n\n"
        f"{textwrap.indent(answer, '  ')}\n\n"
        "agentId: a1b2c3 (use SendMessage to continue this agent)\n<usage>total_tokens: 1234\ntool_uses: 7</usage>"
    )


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as portal:
        yield portal


@pytest.fixture(scope="module")
def modules() -> dict[str, str]:
    project = Project(Config(Path(".")))
    load_file("workflows/endpoint.yaml", MISSION.encode(), project.config, project)
    compilation = compile_project(project, {file: file.source.path for file in project.files})
    assert not has_errors(compilation.findings), compilation.findings
    return {name: text for module in compilation.modules for name, text in module.files.items()}


@pytest.fixture
def place(tmp_path: Path, portal: BlockingPortal, modules: dict[str, str]) -> Place:
    return make_place(tmp_path, portal, modules)


def pending(reply: Reply) -> list[Reply]:
    return reply.get("actions") or ([reply["action"]] if "action" in reply else [])


def drive(agent: Agent, answers: dict[str, Any], *, kills: bool = False) -> tuple[Reply, dict[str, Reply]]:
    """Work a run with an answer for each visit, and return its end and every action that was seen."""
    reply = agent.call("start_workflow", workflow="endpoint", inputs={"path": "/v1"})
    run = reply["workflow_id"]
    seen: dict[str, Reply] = {}
    while reply["status"] not in ("completed", "failed", "cancelled"):
        if not pending(reply):
            reply = agent.call("get_workflow_status", workflow_id=run)
        seen |= {one["step_id"]: one for one in pending(reply)}
        visit = pending(reply)[0]["step_id"]
        answer = framed(answers[visit])
        reply = agent.call("submit_result", workflow_id=run, step_id=visit, result=answer)
        if kills:
            agent.kill_worker()
            again = agent.call("submit_result", workflow_id=run, step_id=visit, result=answer)
            assert again.pop("repeated") is True
            assert again["status"] == reply["status"]
            agent.kill_worker()
            reply = agent.call("get_workflow_status", workflow_id=run)
    return reply, seen


def journal(agent: Agent, run: str) -> str:
    """The journal without what differs from run to run: ids, times and durations."""
    found = agent.call("get_context", workflow_id=run, limit=200)

    def steady(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: steady(one)
                for key, one in value.items()
                if key
                not in ("at", "began", "ended", "started", "seconds", "duration_seconds", "actor", "since")
                and not key.endswith(("_at", "_seconds"))
            }
        return [steady(one) for one in value] if isinstance(value, list) else value

    return json.dumps(steady(found), indent=1, sort_keys=True).replace(run, "RUN")


def test_a_mission_goes_on_after_every_kill_to_the_same_end_with_the_same_journal(place: Place) -> None:
    with place.server("--toolsets", "core,journal") as agent:
        calm, seen = drive(agent, ANSWERS)
        assert calm["result"] == RESULT
        assert list(seen) == [
            "design",
            "design-checkpoint",
            "design-feedback",
            "design@2",
            "design-checkpoint@2",
            "build-backend",
            "build-writer",
            "build-stop",
            "build-writer@2",
            "build-stop@2",
            "review",
        ]
        killed, _ = drive(agent, ANSWERS, kills=True)
        assert killed["result"] == RESULT
        books = [journal(agent, one["workflow_id"]) for one in (calm, killed)]
        assert books[0] == books[1]
        assert '"chosen": "No"' in books[0]
        assert "The name is taken." in books[0]
        # What an agent is told.
        first, second = (seen[visit]["parameters"] for visit in ("design", "design@2"))
        assert (first["agent"], first["subagent_type"]) == ("@architect", "general-purpose")
        assert "An endpoint at /v1." in first["instructions"]
        assert "- Keep the old paths." in first["instructions"]
        assert "What the person wants changed" not in first["instructions"]
        assert "Name the errors too. \\u003c/feedback>" in second["instructions"]
        backend = seen["build-backend"]["parameters"]["instructions"]
        run = calm["workflow_id"]
        assert "<design>Three cases.</design>" in backend
        assert f"Your task is {run}/build-backend of {run} in build." in backend
        assert '<report phase="design" agent="architect">{"status": "success"' in backend
        again = seen["build-writer@2"]["parameters"]["instructions"]
        assert "Half of it." in again.split("What fell short in the last round")[1]
        # What the person is told.
        assert (
            "architect: success. One handler, two cases."
            in seen["design-checkpoint"]["parameters"]["message"]
        )
        assert "writer" in seen["build-stop"]["parameters"]["message"]
        assert "The name is taken." in seen["build-stop@2"]["parameters"]["message"]


def test_a_person_can_stop_or_abort_and_be_asked_again_by_a_retry(place: Place) -> None:
    with place.server("--toolsets", "core,journal") as agent:
        stopped, _ = drive(agent, {**ANSWERS, "design-checkpoint": {"selected": "stop"}})
        assert (stopped["status"], stopped["error"]["code"]) == ("failed", "rejected")
        run = stopped["workflow_id"]
        retried = agent.call("retry_workflow", workflow_id=run)
        assert [one["step_id"] for one in pending(retried)] == ["design-checkpoint@2"]
        short = {**ANSWERS, "design": "STATUS: failed\nSUMMARY: No.", "design-stop": {"selected": "abort"}}
        aborted, _ = drive(agent, short)
        assert (aborted["status"], aborted["error"]["code"]) == ("failed", "aborted")
        assert "No." in aborted["error"]["message"]


def test_a_report_without_status_or_evidence_is_refused_with_the_form_to_use(place: Place) -> None:
    with place.server() as agent:
        reply = agent.call("start_workflow", workflow="endpoint", inputs={"path": "/v1"})
        run = reply["workflow_id"]
        for wrong in (framed("I did it."), {"summary": "x"}):
            text = agent.refusal("submit_result", workflow_id=run, step_id="design", result=wrong)
            assert "STATUS: success, partial or failed" in text
        # After the third one the agent has fallen short, and the person is asked.
        reply = agent.call("submit_result", workflow_id=run, step_id="design", result={"status": "fine"})
        assert [one["step_id"] for one in pending(reply)] == ["design-stop"]
        assert "architect has not reported." in reply["action"]["parameters"]["message"]
        agent.call("submit_result", workflow_id=run, step_id="design-stop", result={"selected": "again"})
        reply = agent.call("submit_result", workflow_id=run, step_id="design@2", result={"error": "no tools"})
        assert [one["step_id"] for one in pending(reply)] == ["design-stop@2"]
        reply = agent.call(
            "submit_result", workflow_id=run, step_id="design-stop@2", result={"selected": "go on"}
        )
        assert "The agent gave no report." in reply["action"]["parameters"]["message"]
        answers = {"design": DESIGN, "design-checkpoint": {"selected": "approve"}}
        run = agent.call("start_workflow", workflow="endpoint", inputs={"path": "/v1"})["workflow_id"]
        for visit, answer in answers.items():
            agent.call("submit_result", workflow_id=run, step_id=visit, result=answer)
        text = agent.refusal("submit_result", workflow_id=run, step_id="build-backend", result=DESIGN)
        assert "tests pass" in text


def test_what_was_logged_for_an_agent_stops_the_run_like_what_it_reports(place: Place) -> None:
    with place.server("--toolsets", "core,journal") as agent:
        run = agent.call("start_workflow", workflow="endpoint", inputs={"path": "/v1"})["workflow_id"]
        agent.call(
            "log_issue",
            task_id=f"{run}/design",
            description="Which database?",
            type="unclear_requirement",
            requires_human_review=True,
        )
        reply = agent.call("submit_result", workflow_id=run, step_id="design", result=DESIGN)
        assert [one["step_id"] for one in pending(reply)] == ["design-stop"]
        assert "Which database?" in reply["action"]["parameters"]["message"]
        done = agent.refusal("complete_workflow", workflow_id=run, status="completed", summary="x")
        assert "design-stop" in done
