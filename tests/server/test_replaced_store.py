"""The store deleted, moved or replaced under a real server, seen by a client over MCP."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.server.driver import SHELL_OK, Agent, Place

CALLS: list[tuple[str, dict[str, object]]] = [
    ("get_workflow_status", {}),
    ("get_next_step", {}),
    ("get_workflow_history", {}),
    ("cancel_workflow", {}),
]


def delete(folder: Path) -> None:
    shutil.rmtree(folder)


def clean(folder: Path) -> None:
    """What `git clean -fdX` does in a project that ignores its store."""
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(folder.parent)], check=True)
    subprocess.run(["git", "-C", str(folder.parent), "clean", "-fdqX"], check=True)
    assert not folder.exists()


def move(folder: Path) -> None:
    folder.rename(folder.with_name("moved"))


def replace(folder: Path) -> None:
    shutil.copytree(folder, folder.with_name("copy"))
    move(folder)
    folder.with_name("copy").rename(folder)


def begun(agent: Agent) -> str:
    run = str(agent.call("start_workflow", workflow="greet", inputs={"name": "root"})["workflow_id"])
    agent.call("submit_result", workflow_id=run, step_id="look-up", result=SHELL_OK)
    return run


@pytest.mark.parametrize("attack", [delete, clean, move, replace])
def test_an_answer_into_a_store_that_is_gone_is_an_error(
    place: Place, attack: Callable[[Path], None]
) -> None:
    folder = place.state.parent
    with place.server("--toolsets", "core,debug") as agent:
        run = begun(agent)
        attack(folder)
        said = agent.refusal("submit_result", workflow_id=run, step_id="say-hello", result="sent")
        assert f"{place.state} is not the store that this server opened" in said
        assert "estart the server" in said
        for tool, more in CALLS:
            assert "is not the store that this server opened" in agent.refusal(tool, workflow_id=run, **more)
        assert "is not the store" in agent.refusal("list_runs")
        assert "is not the store" in agent.refusal(
            "start_workflow", workflow="greet", inputs={"name": "root"}
        )
    # Where the old store has gone for good, the next server does not know the run: no answer was taken for it either.
    if attack in (move, replace):
        shutil.rmtree(folder, ignore_errors=True)
        folder.with_name("moved").rename(folder)
    with place.server() as agent:
        if attack in (move, replace):
            status = agent.call("get_workflow_status", workflow_id=run)
            assert (status["status"], status["action"]["step_id"]) == ("pending_action", "say-hello")
            ended = agent.call("submit_result", workflow_id=run, step_id="say-hello", result="sent")
            assert ended["status"] == "completed"
        else:
            assert agent.call("list_runs")["runs"] == []
            assert "there is no run" in agent.refusal("get_workflow_status", workflow_id=run)


def test_a_server_goes_on_when_its_store_is_put_back(place: Place) -> None:
    folder = place.state.parent
    with place.server() as agent:
        run = begun(agent)
        move(folder)
        assert "was moved to" in agent.refusal("get_workflow_status", workflow_id=run)
        folder.with_name("moved").rename(folder)
        ended = agent.call("submit_result", workflow_id=run, step_id="say-hello", result="sent")
        assert ended["status"] == "completed"


def test_a_server_that_ends_saves_the_answers_of_a_log_that_was_deleted(place: Place) -> None:
    with place.server() as agent:
        run = begun(agent)
        place.state.with_name("state.db-wal").unlink()
        said = agent.refusal("submit_result", workflow_id=run, step_id="say-hello", result="sent")
        assert "state.db-wal was deleted or replaced" in said
    with place.server() as agent:
        assert agent.call("get_workflow_status", workflow_id=run)["action"]["step_id"] == "say-hello"


def test_a_second_server_on_the_new_store_works_while_the_first_refuses(place: Place) -> None:
    with place.server() as first:
        run = begun(first)
        delete(place.state.parent)
        with place.server() as second:
            other = begun(second)
            said = first.refusal("submit_result", workflow_id=run, step_id="say-hello", result="sent")
            assert "another file has taken its place" in said
    with place.server() as third:
        assert third.call("get_workflow_status", workflow_id=other)["action"]["step_id"] == "say-hello"
