"""`wfc serve --allow-exec`: commands that the server runs, through the official client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal

from tests.execute.conftest import is_alive
from tests.execute.serving import served_modules
from tests.runtime.support import steps
from tests.server.conftest import make_place
from tests.server.driver import Agent, Place
from tests.support import wait_until

TEXT = steps(
    "{id: build, type: shell, command: 'echo built', output_to: built}",
    "{id: ask, type: prompt, prompt_type: confirm, message: 'Deploy?'}",
    "{id: deploy, type: shell, command: 'echo $$ > pid; until [ -f go ]; do sleep 0.05; done', output_to: d}",
    "{id: r, type: return, needs_state: [built], value: '{{ state.built.stdout }}'}",
)


@pytest.fixture
def served(tmp_path: Path, portal: BlockingPortal) -> Place:
    return make_place(tmp_path, portal, served_modules(TEXT))


def _settings(place: Place, text: str) -> None:
    (place.folder / "pyproject.toml").write_text(f"[tool.wfc.exec]\n{text}\n", encoding="utf-8")


def _pid(place: Place) -> int:
    path = place.folder / "pid"
    return int(wait_until(lambda: path.exists() and path.read_text().strip(), "the command"))


def _asked(agent: Agent) -> str:
    """A new run, once it has come to its question; on a busy machine that may take longer than a reply waits."""
    run = str(agent.call("start_workflow", workflow="w")["workflow_id"])
    action = wait_until(lambda: agent.call("get_workflow_status", workflow_id=run).get("action"))
    assert action["step_id"] == "ask"
    return run


def test_a_run_goes_on_to_the_first_question_and_says_what_is_still_running(served: Place) -> None:
    _settings(served, "allow = true\nreply_seconds = 5")
    told: list[str] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(str(message))

    with served.server() as agent:
        run = _asked(agent)
        given = {"workflow_id": run, "step_id": "ask", "result": {"confirmed": True}}
        result = agent.ask("call_tool", "submit_result", given, progress_callback=on_progress)
        running: Any = result.structured_content
        assert (running["status"], running["running"][0]["step_id"]) == ("running", "deploy")
        assert "get_workflow_status" in running["next"]
        assert told
        assert told[0].startswith("deploy: ")
        assert "being done by the server" in agent.refusal(
            "submit_result",
            workflow_id=run,
            step_id="deploy",
            result={"stdout": "", "stderr": "", "exit_code": 0},
        )
        (served.folder / "go").touch()
        found = wait_until(lambda: agent.call("get_workflow_status", workflow_id=run).get("result"))
        assert found == "built\n"


def test_a_killed_server_leaves_an_interrupted_step_and_no_command(served: Place) -> None:
    _settings(served, "allow = true\nreply_seconds = 1")
    with served.server() as agent:
        run = _asked(agent)
        agent.call("submit_result", workflow_id=run, step_id="ask", result={"confirmed": True})
        pid = _pid(served)
        agent.kill()
    with served.server() as agent:
        reply = agent.call("get_workflow_status", workflow_id=run)
        assert (reply["status"], reply["error"]["code"]) == ("failed", "interrupted")
    assert not is_alive(pid)


def test_a_command_that_is_not_on_the_list_is_the_agents(served: Place) -> None:
    with served.server("--allow-exec", "echo *") as agent:
        run = _asked(agent)
        reply = agent.call("submit_result", workflow_id=run, step_id="ask", result={"confirmed": True})
        assert reply["action"]["step_id"] == "deploy"
        done = {"stdout": "", "stderr": "", "exit_code": 0}
        reply = agent.call("submit_result", workflow_id=run, step_id="deploy", result=done)
        assert reply["result"] == "built\n"
    assert not (served.folder / "pid").exists()


def test_without_a_grant_every_command_is_the_agents(served: Place) -> None:
    with served.server() as agent:
        assert agent.call("start_workflow", workflow="w")["action"]["step_id"] == "build"
