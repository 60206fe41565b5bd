"""What becomes of commands when their server is killed or closed, or their run cancelled: real processes, SIGKILL."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests import forks
from tests.e2e.command import wfc
from tests.execute.conftest import is_alive
from tests.execute.serving import LONG, RETURN_A, Site, sh, start_server, until
from tests.runtime.support import steps
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store


def _kill(process: forks.Fork) -> None:
    process.signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def test_a_command_whose_server_was_killed_is_interrupted_and_not_run_twice(site: Site) -> None:
    site.compile(steps(sh("a", "echo $$ >> runs; sleep 1000")))
    process, reply = start_server(site)
    runs = site.place / "runs"
    assert until(lambda: runs.exists() and runs.read_text())
    _kill(process)
    run = reply["workflow_id"]
    service = site.server()
    action = until(lambda: service.tick() or service.status(run).get("action"))
    assert action["step_id"] == "a"
    assert action["instruction"].startswith("A server started to execute this action at")
    assert [event["event"] for event in service.history(run)["events"]] == ["started", "interrupted"]
    pids = runs.read_text().split()
    assert len(pids) == 1
    assert until(lambda: not is_alive(int(pids[0])))
    service.tick()
    assert service.status(run)["action"]["step_id"] == "a"
    assert runs.read_text().split() == pids
    done = service.submit(run, "a", {"stdout": "it had run", "stderr": "", "exit_code": 0})
    assert done["status"] == "completed"


def test_an_interrupted_command_is_started_again_where_the_agent_says_so(site: Site) -> None:
    site.compile(
        steps(sh("a", "echo x >> runs; [ $(wc -l < runs) -ge 2 ] || sleep 1000; echo done"), RETURN_A)
    )
    process, reply = start_server(site)
    run, runs = reply["workflow_id"], site.place / "runs"
    assert until(lambda: runs.exists() and runs.read_text())
    _kill(process)
    service = site.server()
    assert until(lambda: service.tick() or service.status(run).get("action"))["step_id"] == "a"
    assert service.submit(run, "a", {"run_again": True})["result"] == "done\n"
    # Sent again, it starts nothing.
    assert service.submit(run, "a", {"run_again": True})["status"] == "completed"
    assert runs.read_text() == "x\nx\n"


def test_an_interrupted_command_with_an_error_edge_takes_it(site: Site) -> None:
    site.compile(
        steps(
            sh("a", LONG, ", on_error: {goto: c}"),
            "{id: b, type: shell, command: x}",
            "{id: c, type: prompt, prompt_type: info, message: y}",
        )
    )
    process, reply = start_server(site)
    assert until(lambda: (site.place / "runs").exists())
    _kill(process)
    service = site.server()
    run = reply["workflow_id"]
    assert until(lambda: service.tick() or service.status(run).get("action"))["step_id"] == "c"
    assert service.history(run)["events"][1]["notes"][0]["code"] == "interrupted"


def test_an_interrupted_step_with_a_retry_is_tried_again_after_the_old_command_is_gone(site: Site) -> None:
    command = "echo $$ >> runs; [ $(wc -l < runs) -ge 2 ] || sleep 1000; echo done"
    site.compile(steps(sh("a", command, ", timeout: 300, retry: {max_attempts: 2}"), RETURN_A))
    process, reply = start_server(site)
    runs = site.place / "runs"
    assert until(lambda: runs.exists() and runs.read_text())
    _kill(process)
    service, run = site.server(), reply["workflow_id"]
    assert until(lambda: service.tick() or service.status(run).get("result")) == "done\n"
    first, second = runs.read_text().split()
    assert first != second
    assert until(lambda: not is_alive(int(first)))


@pytest.mark.skipif(
    sys.platform != "linux", reason="only there can one look into the environment of processes"
)
def test_what_a_command_started_in_a_session_of_its_own_ends_with_its_server(site: Site) -> None:
    site.compile(steps(sh("a", "setsid sleep 1000 & echo $! > escaped; wait")))
    process, _ = start_server(site)
    escaped = site.place / "escaped"
    assert until(lambda: escaped.exists() and escaped.read_text().endswith("\n"))
    pid = int(escaped.read_text())
    assert until(lambda: os.getsid(pid) == pid)
    _kill(process)
    assert until(lambda: not is_alive(pid))


@pytest.mark.skipif(sys.platform != "linux", reason="only there are the children of a process listed")
def test_nothing_is_tried_again_before_the_old_command_has_been_ended(site: Site) -> None:
    site.compile(steps(sh("a", LONG, ", retry: {max_attempts: 2}")))
    process, reply = start_server(site)
    assert until(lambda: (site.place / "runs").exists())
    [guard] = _children_of(process.pid)
    [supervisor] = _children_of(guard)
    for pid in (guard, supervisor):
        os.kill(pid, signal.SIGSTOP)
    try:
        _kill(process)
        other = site.server(reply_seconds=0.5)
        assert other.status(reply["workflow_id"])["running"][0]["step_id"] == "a"
    finally:
        for pid in (supervisor, guard):
            os.kill(pid, signal.SIGCONT)
    assert until(lambda: other.tick() or other.status(reply["workflow_id"])["running"][0]["step_id"] == "a@2")
    assert until(lambda: (site.place / "runs").read_text() == "x\nx\n")


def _children_of(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(one) for task in tasks for one in (task / "children").read_text().split()]


def test_commands_that_were_under_way_beside_it_are_told_too(site: Site) -> None:
    branches = ", ".join(f"b{n}: [{sh(f's{n}', LONG)}]" for n in range(3))
    site.compile(steps(f"{{id: all, type: parallel, branches: {{{branches}}}}}"))
    process, reply = start_server(site)
    runs = site.place / "runs"
    assert until(lambda: runs.exists() and runs.read_text() == "x\n" * 3)
    _kill(process)
    run = reply["workflow_id"]
    service = site.server()
    assert until(lambda: service.tick() or len(service.status(run).get("actions", [])) == 3)
    events = service.history(run)["events"][1:]
    assert sorted(event["step_id"] for event in events) == ["s0", "s1", "s2"]
    done = wfc("runs", "--state", site.state, "history", run, cwd=site.folder)
    assert f"{events[0]['step_id']}: interrupted" in done.out


def test_what_a_cancel_breaks_off_is_told(site: Site) -> None:
    site.compile(steps(sh("a", LONG)))
    service = site.server(reply_seconds=0.2)
    run = service.start("w")["workflow_id"]
    assert until(lambda: (site.place / "runs").exists())
    service.cancel(run)
    assert service.history(run)["events"][-1]["broken_off"] == ["a"]


def test_a_server_without_a_grant_finds_the_interruption_too(site: Site) -> None:
    site.compile(steps(sh("a", LONG, ", retry: {max_attempts: 2}")))
    process, reply = start_server(site)
    assert until(lambda: (site.place / "runs").exists())
    _kill(process)
    plain = SqliteService(Store(site.state), Registry(site.generated))
    assert (
        until(lambda: plain.tick() or plain.next_step(reply["workflow_id"]).get("action"))["step_id"] == "a@2"
    )
    assert plain.store.queries.claims(1) == []
    plain.close()


def test_the_command_of_a_living_server_is_left_alone(site: Site) -> None:
    site.compile(steps(sh("a", LONG)))
    process, reply = start_server(site)
    try:
        assert until(lambda: (site.place / "runs").exists())
        other = site.server(reply_seconds=0.5)
        seen = other.status(reply["workflow_id"])
        assert (seen["status"], seen["running"][0]["step_id"]) == ("running", "a")
        assert (site.place / "runs").read_text() == "x\n"
    finally:
        _kill(process)


def test_closing_a_server_ends_its_commands_and_says_so(site: Site) -> None:
    site.compile(steps(sh("a", "echo $$ > pid; exec sleep 1000")))
    service = site.server(reply_seconds=0.2)
    run = service.start("w")["workflow_id"]
    pid = int(until(lambda: (site.place / "pid").exists() and (site.place / "pid").read_text()))
    service.close()
    assert not is_alive(pid)
    plain = SqliteService(Store(site.state), Registry(site.generated))
    assert plain.status(run)["action"]["instruction"].startswith("A server started to execute this action at")
    plain.close()


def test_a_command_that_was_running_when_its_run_failed_is_the_agents_after_a_retry(site: Site) -> None:
    text = """
name: w
version: 1.0.0
steps:
  - id: both
    type: parallel
    join: fail_fast
    branches:
      left:
        - {id: long, type: shell, timeout: 1000, command: "echo x >> runs; sleep 1000"}
      right:
        - {id: mine, type: prompt, prompt_type: confirm, message: go?}
"""
    site.compile(text)
    service = site.server()
    run = service.start("w")["workflow_id"]
    runs = site.place / "runs"
    assert until(lambda: runs.exists() and runs.read_text())
    assert service.submit(run, "mine", {"error": "nobody"})["status"] == "failed"
    again = service.retry(run)
    actions = {action["step_id"]: action for action in again["actions"]}
    assert set(actions) == {"long", "mine@2"}
    assert actions["long"]["instruction"].startswith("A server started to execute this action at")
    assert runs.read_text() == "x\n"
    service.submit(run, "mine@2", {"confirmed": True})
    done = {"stdout": "it had run", "stderr": "", "exit_code": 0}
    assert service.submit(run, "long", done)["status"] == "completed"


def test_a_failed_command_that_is_retried_is_executed_by_the_server_again(site: Site) -> None:
    site.compile(steps(sh("a", "echo x >> runs; [ $(wc -l < runs) -ge 2 ]", ", fails_on_exit: true")))
    service = site.server()
    reply = service.start("w")
    assert reply["error"]["code"] == "exit_code"
    assert service.retry(reply["workflow_id"], "a")["status"] == "completed"
    assert (site.place / "runs").read_text() == "x\nx\n"
