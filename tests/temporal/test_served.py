"""The tools don't know which engine they are on: a real client, a real server process, a real Temporal."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from tests.runtime.support import TWO, compile_to
from tests.server.driver import SHELL_OK, Place
from tests.temporal.processes import WFC
from tests.temporal_server import temporal_binary

PAGE = Path(__file__).parents[2] / "docs" / "temporal.md"


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as portal:
        yield portal


@pytest.fixture
def place(tmp_path: Path, portal: BlockingPortal) -> Place:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    compile_to(tmp_path / "generated", TWO)
    return Place(tmp_path, portal)


@pytest.fixture
def env(temporal_address: str) -> dict[str, str]:
    queue = f"served-{secrets.token_hex(6)}"
    return {"WFC_TEMPORAL_ADDRESS": temporal_address, "WFC_TEMPORAL_TASK_QUEUE": queue}


def test_one_process_serves_and_works_and_another_picks_the_run_up_after_it_was_killed(
    place: Place, env: dict[str, str]
) -> None:
    with place.server("--engine", "temporal", "--with-worker", env=env) as agent:
        reply = agent.call("start_workflow", workflow="w")
        run = reply["workflow_id"]
        assert reply["action"]["step_id"] == "build"
        agent.call("submit_result", workflow_id=run, step_id="build", result=SHELL_OK)
        agent.kill()
    with place.server("--engine", "temporal", "--with-worker", "--toolsets", "core,debug", env=env) as agent:
        assert agent.call("list_runs")["runs"][0]["workflow_id"] == run
        assert agent.call("get_workflow_status", workflow_id=run)["action"]["step_id"] == "test"
        end = agent.call("submit_result", workflow_id=run, step_id="test", result=SHELL_OK)
        assert (end["status"], end["result"]) == ("completed", 0)
        assert (
            agent.call("get_workflow_state", workflow_id=run, fields=["built"])["state"]["built"] == SHELL_OK
        )
        events = agent.call("get_workflow_history", workflow_id=run)["events"]
        assert [event["event"] for event in events] == ["started", "submitted", "submitted"]


def test_without_a_worker_the_agent_is_told_what_is_missing(place: Place, env: dict[str, str]) -> None:
    with place.server("--engine", "temporal", env=env) as agent:
        told = agent.refusal("start_workflow", workflow="w")
        assert f"no worker polls task queue `{env['WFC_TEMPORAL_TASK_QUEUE']}`" in told
        assert "wfc worker" in told


def test_a_server_that_is_not_there_is_told_to_the_agent_and_the_next_call_tries_again(place: Place) -> None:
    env = {"WFC_TEMPORAL_ADDRESS": "127.0.0.1:1"}
    with place.server("--engine", "temporal", "--with-worker", env=env) as agent:
        for _ in range(2):
            assert "there is no Temporal server at 127.0.0.1:1" in agent.refusal("list_runs")


def test_wfc_runs_works_on_the_engine(place: Place, env: dict[str, str]) -> None:
    def runs(*arguments: str, status: int = 0) -> str:
        done = subprocess.run(
            [*WFC, "runs", *arguments],
            cwd=place.folder,
            env={**os.environ, **env, "WFC_ENGINE": "temporal", "WFC_STATE": str(place.state)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    with place.server("--engine", "temporal", "--with-worker", env=env) as agent:
        run = agent.call("start_workflow", workflow="w")["workflow_id"]
        assert "waits in build" in runs("show", run)
        agent.call("submit_result", workflow_id=run, step_id="build", result=SHELL_OK)
        assert "build" in runs("history", run)
        assert json.loads(runs("state", run, "--json"))["state"]["built"] == SHELL_OK
        assert f"{run} is cancelled" in runs("cancel", run, "--reason", "enough")
        assert json.loads(runs("list", "--status", "cancelled", "--json"))["runs"][0]["workflow_id"] == run
        assert "there is no run `nobody`" in runs("show", "nobody", status=2)
        assert runs("prune", "--older-than", "1d") == "no run is that old\n"
        assert "the engine here is temporal" in runs("resume", run, "--skip-waits", status=2)


def test_temporal_s_own_search_finds_runs_by_what_they_wait_in(place: Place, env: dict[str, str]) -> None:
    with place.server("--engine", "temporal", "--with-worker", env=env) as agent:
        run = agent.call("start_workflow", workflow="w")["workflow_id"]
        terms = {
            "WfcWorkflow": "w",
            "WfcVersion": "1.0.0",
            "WfcStatus": "pending_action",
            "WfcPending": "build",
        }
        terms["TaskQueue"] = env["WFC_TEMPORAL_TASK_QUEUE"]
        query = " AND ".join(f"{name} = '{value}'" for name, value in terms.items())
        command = [temporal_binary(), "workflow", "list", "--query", query, "--output", "json"]
        for _ in range(50):
            found = subprocess.run(
                [*command, "--address", env["WFC_TEMPORAL_ADDRESS"]],
                capture_output=True,
                text=True,
                check=True,
            )
            if run in found.stdout:
                return
    raise AssertionError(f"not found: {found.stdout}")


def test_the_two_commands_of_the_page_are_the_ones_that_these_tests_run() -> None:
    [block] = re.findall(r"```sh\n# try it\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    commands = [line.partition("#")[0].strip() for line in block.strip().splitlines()]
    assert commands == [
        "temporal server start-dev --headless",
        "claude mcp add workflows -- wfc serve --engine temporal --with-worker",
    ]
