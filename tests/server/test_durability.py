"""Servers that are killed, servers side by side, and what each leaves on disk."""

from __future__ import annotations

import sqlite3
import threading

import pytest
from mcp import MCPError

from tests.runtime.support import compile_to, steps
from tests.server.driver import ERAS, SHELL_OK, Place, Reply, ToolRefusedError
from tests.support import PATIENCE, wait_until

both_eras = pytest.mark.parametrize("mode", ERAS.values(), ids=ERAS)


@both_eras
def test_a_worker_that_is_killed_is_replaced_and_its_client_goes_on(place: Place, mode: str) -> None:
    with place.server(mode=mode) as agent:
        run = agent.call("start_workflow", workflow="greet", inputs={"name": "root"})["workflow_id"]
        agent.kill_worker()
        reply = agent.call("submit_result", workflow_id=run, step_id="look-up", result=SHELL_OK)
        agent.kill_worker()
        agent.kill_worker()
        assert agent.call("get_workflow_status", workflow_id=run)["action"] == reply["action"]
        ended = agent.call("submit_result", workflow_id=run, step_id="say-hello", result="sent")
        assert ended["result"] == {"sent": "sent"}
        assert "the worker died (SIGKILL)" in agent.log


@both_eras
def test_killed_with_its_front_a_server_loses_nothing_that_it_acknowledged(place: Place, mode: str) -> None:
    with place.server(mode=mode) as agent:
        run = agent.call("start_workflow", workflow="greet", inputs={"name": "root"})["workflow_id"]
        told = agent.call("submit_result", workflow_id=run, step_id="look-up", result=SHELL_OK)
        agent.kill()
        with pytest.raises(MCPError):
            agent.call("get_workflow_status", workflow_id=run)
    with place.server("--toolsets", "core,debug", mode=mode) as agent:
        [open_run] = agent.call("list_runs")["runs"]
        assert (open_run["workflow_id"], open_run["pending"]) == (run, ["say-hello"])
        # The client did not see whether its last submit got through: it sends it again.
        again = agent.call("submit_result", workflow_id=run, step_id="look-up", result=SHELL_OK)
        assert again == {**told, "repeated": True}
        ended = agent.call("submit_result", workflow_id=run, step_id="say-hello", result="sent")
        assert ended["result"] == {"sent": "sent"}
        events = agent.call("get_workflow_history", workflow_id=run)["events"]
        assert [(event["seq"], event["event"]) for event in events] == [
            (1, "started"),
            (2, "submitted"),
            (3, "submitted"),
        ]


def test_children_survive_too(place: Place) -> None:
    with place.server() as agent:
        reply = agent.call("start_workflow", workflow="fan-out", inputs={"files": ["a", "b"]})
        run, children = reply["workflow_id"], reply["action"]["parameters"]["children"]
        one, other = (child["workflow_id"] for child in children)
        agent.call("submit_step_result", workflow_id=one, step_id="count", result={**SHELL_OK, "stdout": "1"})
        agent.kill()
    with place.server() as agent:
        waiting = agent.call("get_workflow_status", workflow_id=run)["action"]["parameters"]["children"]
        assert [child["workflow_id"] for child in waiting] == [other]
        agent.call(
            "submit_step_result", workflow_id=other, step_id="count", result={**SHELL_OK, "stdout": "2"}
        )
        assert agent.call("get_workflow_status", workflow_id=run)["result"] == {"sizes": ["1", "2"]}


def test_two_servers_on_one_file_see_each_others_runs_and_only_one_wins_a_step(place: Place) -> None:
    with place.server() as left, place.server(mode="legacy") as right:
        run = left.call("start_workflow", workflow="greet", inputs={"name": "root"})["workflow_id"]
        assert right.call("get_workflow_status", workflow_id=run)["action"]["step_id"] == "look-up"
        outcomes: list[Reply | ToolRefusedError] = []

        def submit(number: int) -> None:
            agent = (left, right)[number]
            result = {**SHELL_OK, "exit_code": number}
            try:
                outcomes.append(
                    agent.call("submit_result", workflow_id=run, step_id="look-up", result=result)
                )
            except ToolRefusedError as refused:
                outcomes.append(refused)

        threads = [threading.Thread(target=submit, args=(number,)) for number in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=PATIENCE)
        [won] = [outcome for outcome in outcomes if isinstance(outcome, dict)]
        [lost] = [outcome for outcome in outcomes if isinstance(outcome, ToolRefusedError)]
        assert won["action"]["step_id"] == "say-hello"
        assert "`look-up`" in str(lost)
        assert 'step_id="say-hello"' in str(lost)
        assert right.call("get_workflow_status", workflow_id=run)["action"] == won["action"]


def test_many_calls_at_once_are_all_answered(place: Place) -> None:
    with place.server() as agent:
        runs = [
            agent.call("start_workflow", workflow="greet", inputs={"name": f"user{number}"})["workflow_id"]
            for number in range(12)
        ]
        replies: dict[str, Reply] = {}

        def work(run: str) -> None:
            replies[run] = agent.call("submit_result", workflow_id=run, step_id="look-up", result=SHELL_OK)

        threads = [threading.Thread(target=work, args=(run,)) for run in runs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=PATIENCE)
        texts = [replies[run]["action"]["parameters"]["parameters"]["text"] for run in runs]
        assert texts == [f"Hello user{number}, 1 times (0)" for number in range(12)]


def test_what_is_on_disk_is_private_and_has_nothing_of_the_environment(place: Place) -> None:
    with place.server(env={"SECRET_API_KEY": "sk-very-secret", "PATH": "/usr/bin:/bin"}) as agent:
        agent.call("start_workflow", workflow="greet", inputs={"name": "root"})
        files = list(place.state.parent.iterdir())
        assert {path.stat().st_mode & 0o077 for path in files} == {0}
        assert all(b"sk-very-secret" not in path.read_bytes() for path in files)
        assert "sk-very-secret" not in agent.log


def test_a_store_that_cannot_be_used_is_said_so_and_used_as_soon_as_it_can(place: Place) -> None:
    place.state.parent.mkdir()
    with sqlite3.connect(place.state) as other:
        other.execute("CREATE TABLE somebody_elses (x)")
    other.close()
    with place.server() as agent:
        assert agent.call("list_workflows")["workflows"]
        told = agent.refusal("start_workflow", workflow="greet", inputs={"name": "root"})
        assert "is another program's database" in told
        assert "--state or WFC_STATE" in told
        place.state.unlink()
        reply = agent.call("start_workflow", workflow="greet", inputs={"name": "root"})
        assert reply["status"] == "pending_action"


def test_a_run_under_way_keeps_its_version_when_the_workflow_is_recompiled(
    place: Place, modules: dict[str, str]
) -> None:
    with place.server() as agent:
        run = agent.call("start_workflow", workflow="greet", inputs={"name": "root"})["workflow_id"]
        (place.folder / "generated" / "greet.py").unlink()
    with place.server() as agent:
        assert agent.call("list_workflows", query="greet")["workflows"] == []
        reply = agent.call("submit_result", workflow_id=run, step_id="look-up", result=SHELL_OK)
        assert reply["action"]["step_id"] == "say-hello"
        assert "look_up" in agent.read(f"wfc://runs/{run}/chart")


def test_a_wait_ends_in_a_server_that_nobody_asks(place: Place) -> None:
    text = steps(
        "{id: pause, type: wait, duration_seconds: 1}",
        "{id: look-up, type: shell, command: id}",
        name="settle",
    )
    compile_to(place.folder / "generated", text)
    with place.server() as agent:
        run = agent.call("start_workflow", workflow="settle")["workflow_id"]
        agent.kill()
    # Nobody calls a tool of this server: its ticker alone moves the run.
    with place.server():
        pending = "SELECT pending FROM runs WHERE id = ?"
        with sqlite3.connect(place.state) as store:
            wait_until(
                lambda: store.execute(pending, (run,)).fetchone() == ("look-up",), "the end of the wait"
            )
        store.close()
