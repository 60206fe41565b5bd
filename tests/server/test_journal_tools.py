"""The journal tools over the real client: what is logged survives every kill, and moves nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.server.driver import ERAS, SHELL_OK, Agent, Place

DECISION = {"question": "Which greeting?", "chosen": "Hello", "reasoning": "It is short."}


def start(agent: Agent) -> str:
    return str(agent.call("start_workflow", workflow="greet", inputs={"name": "root"})["workflow_id"])


def work_through(agent: Agent, run: str) -> dict[str, Any]:
    agent.call("submit_result", workflow_id=run, step_id="look-up", result=SHELL_OK)
    return agent.call("submit_result", workflow_id=run, step_id="say-hello", result="sent")


@pytest.mark.parametrize("mode", ERAS.values(), ids=ERAS)
def test_an_agent_keeps_its_journal_through_every_kill_of_the_server(place: Place, mode: str) -> None:
    with place.server("--toolsets", "core,journal", mode=mode) as agent:
        run = start(agent)
        step = f"{run}/look-up"
        first = agent.call("log_decision", task_id=step, **DECISION, options_considered='["Hi", "Hello"]')
        agent.kill_worker()
        # The client repeats what it is not sure of.
        assert agent.call("log_decision", task_id=step, **DECISION) == first
        agent.kill_worker()
        agent.call("log_milestone", task_id=step, message="Half of it", progress="50")
        asked = agent.call("log_issue", task_id=run, description="May I?", requires_human_review="True")
        assert asked["blocks"] is True
        agent.kill_worker()
        now = agent.call("get_workflow_status", workflow_id=run)
        assert [one["issue_id"] for one in now["blockers"]] == [asked["entry"]]
        assert list(now)[-1] == "next"
        agent.call("log_issue", task_id=run, issue_id=asked["entry"], resolution="Yes.")
        found = agent.call("get_context", workflow_id=run, limit=3)
        assert [one["task"] for one in found["tasks"]] == [step]
        assert found["decisions"][0]["options_considered"] == ["Hi", "Hello"]
        assert (len(found["milestones"]), found["issues"]) == (1, [])
        rest = agent.call(
            "get_context", workflow_id=run, after=found["next"].rpartition("after=")[2].split(",")[0]
        )
        assert (rest["issues"][0]["resolution"], rest["blockers"]) == ("Yes.", [])
        journal = json.loads(agent.read(f"wfc://runs/{run}/journal"))
        agent.kill()
    with place.server("--toolsets", "core,journal,debug", mode=mode) as agent:
        assert json.loads(agent.read(f"wfc://runs/{run}/journal")) == journal
        assert work_through(agent, run)["status"] == "completed"
        events = agent.call("get_workflow_history", workflow_id=run)["events"]
        assert [event["event"] for event in events] == [
            *("started", "journal", "journal", "journal", "journal"),
            *("submitted", "submitted"),
        ]


def test_nobody_can_declare_an_open_run_done(place: Place) -> None:
    with place.server("--toolsets", "core,journal") as agent:
        run = start(agent)
        for status in ("completed", "partial", "success"):
            said = agent.refusal("complete_workflow", workflow_id=run, status=status, summary="Done!")
            assert "a summary does not finish it" in said
            assert '"step_id":"look-up"' in said
        assert agent.call("get_workflow_status", workflow_id=run)["status"] == "pending_action"
        assert "unknown `status`" in agent.refusal("complete_workflow", workflow_id=run, status="done")
        assert work_through(agent, run)["status"] == "completed"
        told = agent.call(
            "complete_workflow",
            workflow_id=run,
            status="completed",
            summary="Greeted.",
            achievements=["polite"],
        )
        assert (told["status"], told["metrics"]["tasks"]) == ("completed", 0)
        assert set(told["metrics"]) == {"tasks", "completed_tasks", "seconds", "tokens", "files"}
        [kept] = json.loads(agent.read(f"wfc://runs/{run}/journal"))["summaries"]
        assert (kept["summary"], kept["achievements"]) == ("Greeted.", ["polite"])
        # Giving up is a cancellation, with the reason.
        other = start(agent)
        told = agent.call("complete_workflow", workflow_id=other, status="failed", summary="No network.")
        assert told["status"] == "cancelled"
        assert agent.call("get_workflow_status", workflow_id=other)["reason"] == "No network."
        assert (
            agent.call("complete_workflow", workflow_id=other, status="failed", summary="No network.") == told
        )


def test_tasks_and_phases_are_told_apart_from_steps(place: Place) -> None:
    with place.server("--toolsets", "core,journal") as agent:
        run = start(agent)
        phase = agent.call("start_phase", workflow_id=run, number=1, name="Reading", is_parallel=True)
        task = agent.call(
            "start_task",
            workflow_id=run,
            name="Read it",
            caller_type="subagent",
            agent_name="@reader",
            areas=["src"],
            phase_id=phase["phase_id"],
        )
        assert task == {
            "task_id": f"{run}/t1",
            "proof": "agent",
            "next": f'complete_task(task_id="{run}/t1", status=..., outcome=...) when it is done',
        }
        assert agent.call("start_task", workflow_id=run, name="look-up")["task_id"] == f"{run}/look-up"
        assert "submitting its result completes it" in agent.refusal(
            "complete_task", task_id=f"{run}/look-up", status="success"
        )
        assert "has open tasks" in agent.refusal("complete_phase", phase_id=phase["phase_id"])
        done = agent.call(
            "complete_task", task_id=task["task_id"], status="completed", metadata={"files": ["src/a.py"]}
        )
        assert done["files_changed"] == ["src/a.py"]
        assert agent.call("complete_phase", phase_id=phase["phase_id"])["status"] == "completed"
        found = agent.call("get_context", workflow_id=run, include=["tasks"], filter={"agent": "reader"})
        assert [(one["name"], one["status"]) for one in found["tasks"]] == [("Read it", "success")]


def test_twenty_calls_that_say_too_much_or_nonsense_are_refused_and_change_nothing(place: Place) -> None:
    with place.server("--toolsets", "core,journal,debug") as agent:
        run, other = start(agent), start(agent)
        wrong: list[tuple[str, dict[str, Any], str]] = [
            ("log_decision", {"task_id": run, **DECISION, "reasoning": "x" * 4001}, "the limit is 4,000"),
            ("log_decision", {"task_id": run, **DECISION, "question": " "}, "must not be empty"),
            (
                "log_decision",
                {"task_id": run, **DECISION, "options_considered": ["x"] * 101},
                "the limit is 100",
            ),
            ("log_decision", {"task_id": f"{run}/nothing", **DECISION}, "has no task `nothing`"),
            ("log_decision", {"task_id": f"{run}/say-hello", **DECISION}, "has no task `say-hello`"),
            ("log_decision", {"task_id": f"{run}/look-up@2", **DECISION}, "has no task"),
            ("log_decision", {"task_id": f"{run}/look-up/x", **DECISION}, "not the id of a task"),
            ("log_decision", {"task_id": "../../etc", **DECISION}, "not the id of a task"),
            ("log_decision", {"task_id": "nosuchrun", **DECISION}, "there is no run"),
            ("log_decision", {"task_id": run, "question": "?", "chosen": "!"}, "`reasoning` is missing"),
            ("log_milestone", {"task_id": run, "message": "x" * 501}, "the limit is 500"),
            ("log_milestone", {"task_id": run, "message": "x", "progress": 101}, "between 0 and 100"),
            ("log_issue", {"task_id": run}, "`description` must not be empty"),
            ("log_issue", {"task_id": run, "issue_id": f"{run}:1", "resolution": "x"}, "has no issue"),
            ("log_issue", {"task_id": run, "issue_id": "x", "resolution": ""}, "must not be empty"),
            (
                "start_task",
                {"workflow_id": run, "name": "x", "caller_type": "server"},
                "unknown `caller_type`",
            ),
            ("start_task", {"workflow_id": run, "name": "x", "parent_task_id": other}, "belongs to run"),
            ("start_task", {"workflow_id": run, "name": "x", "phase_id": f"{run}/p1"}, "has no phase"),
            ("start_phase", {"workflow_id": run, "number": 0, "name": "x"}, "must be 1 or more"),
            ("complete_phase", {"phase_id": f"{run}/p7"}, "has no phase"),
            ("complete_task", {"task_id": run, "status": "success"}, "is a whole run"),
            ("complete_task", {"task_id": f"{run}/t1", "status": "success"}, "has no task"),
            ("get_context", {"workflow_id": run, "include": ["decision"]}, "Did you mean `decisions`?"),
            ("get_context", {"workflow_id": run, "filter": {"who": "x"}}, "`filter` has no `who`"),
        ]
        for tool, arguments, why in wrong:
            assert why in agent.refusal(tool, **arguments), (tool, arguments)
        events = agent.call("get_workflow_history", workflow_id=run)["events"]
        assert [event["event"] for event in events] == ["started"]


def test_marks_and_entries_make_no_checkpoint_stale(place: Place) -> None:
    with place.server("--toolsets", "core,debug,journal") as agent:
        run = start(agent)
        agent.call("checkpoint", workflow_id=run, reason="lunch")
        agent.call("log_decision", task_id=run, **DECISION)
        for event in (1, 2, 3):
            shown = agent.call("resume_workflow", checkpoint_id=f"{run}:{event}")
            assert shown["action"]["step_id"] == "look-up"
            assert agent.call("get_checkpoint", checkpoint_id=f"{run}:{event}")["is_latest"] is True
        agent.call("submit_result", workflow_id=run, step_id="look-up", result=SHELL_OK)
        for event in (1, 2, 3):
            assert "has continued since" in agent.refusal("resume_workflow", checkpoint_id=f"{run}:{event}")
            assert agent.call("get_checkpoint", checkpoint_id=f"{run}:{event}")["is_latest"] is False
        assert "has continued since" in agent.refusal("resume_workflow", checkpoint_id=f"{run}:99")
        agent.call("log_milestone", task_id=run, message="Half")
        assert agent.call("resume_workflow", checkpoint_id=f"{run}:4")["action"]["step_id"] == "say-hello"


def test_a_project_can_demand_that_every_entry_names_an_agent(place: Place) -> None:
    settings = "[tool.wfc]\n[tool.wfc.journal]\nrequire_agent = true\n"
    (place.folder / "pyproject.toml").write_text(settings, encoding="utf-8")
    with place.server("--toolsets", "core,journal") as agent:
        run = start(agent)
        assert "named agents" in agent.refusal("log_decision", task_id=run, **DECISION)
        task = agent.call("start_task", workflow_id=run, name="Look", agent_name="reader")["task_id"]
        agent.call("log_decision", task_id=task, **DECISION)
        [found] = agent.call("get_context", workflow_id=run)["decisions"]
        assert (found["agent"], found["task"]) == ("reader", task)
