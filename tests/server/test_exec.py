"""`wfc serve --allow-exec`: commands that the server runs, through the official client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal

from tests.e2e.command import wfc
from tests.execute.conftest import is_alive
from tests.execute.serving import served_modules, until
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
        assert "the server is executing" in agent.refusal(
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
        reply = until(lambda: _ended(agent.call("get_workflow_status", workflow_id=run)))
        assert reply["action"]["interrupted_since"]
        assert '{"run_again": true}' in reply["action"]["instruction"]
        assert not is_alive(pid)
        result = {"stdout": "it had built", "stderr": "", "exit_code": 0}
        step = reply["action"]["step_id"]
        agent.call("submit_result", workflow_id=run, step_id=step, result=result)
        assert agent.call("get_workflow_status", workflow_id=run)["status"] != "failed"


def _ended(reply: dict[str, Any]) -> dict[str, Any] | None:
    return reply if reply["status"] != "running" else None


def test_a_command_that_is_not_on_the_list_is_the_agents(served: Place) -> None:
    with served.server("--allow-exec", "echo *") as agent:
        run = _asked(agent)
        reply = agent.call("submit_result", workflow_id=run, step_id="ask", result={"confirmed": True})
        assert reply["action"]["step_id"] == "deploy"
        assert "The server does not execute this itself: it needs a shell" in reply["action"]["instruction"]
        done = {"stdout": "", "stderr": "", "exit_code": 0}
        reply = agent.call("submit_result", workflow_id=run, step_id="deploy", result=done)
        assert reply["result"] == "built\n"
    assert not (served.folder / "pid").exists()


def test_without_a_grant_every_command_is_the_agents(served: Place) -> None:
    with served.server() as agent:
        assert agent.call("start_workflow", workflow="w")["action"]["step_id"] == "build"


ATTACKS = {
    "quote-in-comment": "x # '\ntouch MADE # '",
    "backslash-in-comment": "x # \\\ntouch MADE",
    "substitution-over-lines": '"$\\\n(touch MADE)"',
    "ansi-quote": "$'\\'' ; touch MADE #'",
    "arithmetic": "$[a[$(touch MADE)]]",
    "redirection": "x > MADE",
    "newline": "x\ntouch MADE",
    "process-substitution": "<(touch MADE)",
}
TAKES = steps(
    "{id: say, type: shell, command: 'echo {{ inputs.text }}', output_to: said}",
    "{id: r, type: return, needs_state: [said], value: '{{ state.said.stdout }}'}",
    head="inputs: {text: {type: string, required: true}}",
)


def test_an_input_cannot_make_another_program_out_of_a_granted_command(
    tmp_path: Path, portal: BlockingPortal
) -> None:
    place = make_place(tmp_path, portal, served_modules(TAKES))
    with place.server("--allow-exec", "echo *") as agent:
        for text in ATTACKS.values():
            reply = agent.call("start_workflow", workflow="w", inputs={"text": text})
            assert reply["action"]["parameters"]["command"] == f"echo {text}"
            assert (
                "The server does not execute this itself: it needs a shell:" in reply["action"]["instruction"]
            )
            assert not (place.folder / "MADE").exists()
        reply = agent.call("start_workflow", workflow="w", inputs={"text": "'; touch MADE'"})
        assert reply["result"] == "; touch MADE\n"
    assert not (place.folder / "MADE").exists()


def test_the_reason_is_the_same_when_an_answer_is_repeated(served: Place) -> None:
    with served.server("--allow-exec", "echo *") as agent:
        run = agent.call("start_workflow", workflow="w")["workflow_id"]
        given = {"workflow_id": run, "step_id": "ask", "result": {"confirmed": True}}
        first = agent.call("submit_result", given)
        assert agent.call("submit_result", given) == {**first, "repeated": True}
        shown = agent.call("get_workflow_status", workflow_id=run)
        assert shown["action"] == first["action"]


BAD_PATTERNS = {
    "pytest | tee *": "it needs a shell: a pipe (`|`)",
    "pytest 'x": "a quote is not closed",
    "X=1 pytest *": "an assignment",
    "cat * > out.txt": "a redirection (`>`)",
    "": "names no program",
}


@pytest.mark.parametrize("pattern", BAD_PATTERNS)
def test_a_pattern_that_can_match_nothing_is_wrong_usage(tmp_path: Path, pattern: str) -> None:
    done = wfc("serve", "--allow-exec", pattern, cwd=tmp_path)
    assert (done.status, done.out) == (2, "")
    assert f"--allow-exec: `{pattern}` is not a command pattern: " in done.err
    assert BAD_PATTERNS[pattern] in done.err
    assert "Put what needs a shell into a script" in done.err


def test_a_pattern_of_the_settings_that_can_match_nothing_is_wrong_usage_of_serve_only(
    tmp_path: Path,
) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc.exec]\nallow = ['pytest *', 'pytest | tee x']\n")
    done = wfc("serve", cwd=tmp_path)
    assert (done.status, done.out) == (2, "")
    assert "[tool.wfc.exec] allow: `pytest | tee x` is not a command pattern" in done.err
    assert "is not a command pattern" not in wfc("check", cwd=tmp_path).err
