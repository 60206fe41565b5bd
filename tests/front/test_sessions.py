"""The front with the real worker: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.front.conftest import WORK, write_modules
from tests.front.wire import ERAS, HELLO, MODERN, Message, ServerWire, server
from tests.support import PATIENCE, wait_until

both_eras = pytest.mark.parametrize("era", ERAS)
STARTS = 25
OK = {"stdout": "", "stderr": "", "exit_code": 0}
INLINE = WORK.replace("name: work", "name: inline")


def runs(front: ServerWire) -> list[Message]:
    found: list[Message] = front.do("list_runs", limit=100)["runs"]
    return found


@both_eras
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("start_workflow", {"workflow": "work"}),
        ("start_work", {}),
        ("execute_inline_workflow", {"yaml": INLINE}),
    ],
    ids=["by name", "typed", "inline"],
)
def test_starts_whose_worker_is_killed_are_done_once(
    project: Path, era: str, tool: str, arguments: Message
) -> None:
    chance = random.Random(19)
    with server(project, era, "--typed-tools", "--toolsets", "core,author") as front:
        front.greet()
        front.do("list_runs")
        started = []
        for _ in range(STARTS):
            number = front.call(tool, **arguments)
            timer = threading.Timer(chance.random() * 0.008, front.kill_worker)
            timer.start()
            started.append(front.reply(number)["workflow_id"])
            timer.join()
            front.do("list_runs")
        assert sorted(one["workflow_id"] for one in runs(front)) == sorted(started)
        assert len(set(started)) == STARTS
        assert front.said().count("the worker died (SIGKILL)") >= STARTS // 2


@both_eras
def test_a_run_is_worked_to_its_end_while_workers_are_killed(project: Path, era: str) -> None:
    with server(project, era) as front:
        front.greet()
        for _ in range(3):
            run = front.do("start_workflow", workflow="work")["workflow_id"]
            number = front.call("submit_result", workflow_id=run, step_id="build", result=OK)
            front.kill_worker()
            assert front.reply(number)["status"] == "completed"


def accept(front: ServerWire, shown: Message, confirmed: bool) -> None:
    front.send({"id": shown["id"], "result": {"action": "accept", "content": {"confirmed": confirmed}}})


def form(front: ServerWire, number: int) -> Message:
    front.wait_for(lambda _: len(front.named("elicitation/create")) >= number, "a form")
    return front.named("elicitation/create")[number - 1]


def test_a_form_stays_open_while_its_worker_is_killed_and_answers_its_own_visit_only(project: Path) -> None:
    """Both questions have the same words."""
    with server(project, "legacy", "--elicit", "--toolsets", "core,debug") as front:
        front.greet()
        number = front.call("start_workflow", workflow="ask")
        first = form(front, 1)
        before = front.worker()
        front.kill_worker()
        wait_until(lambda: front.worker() != before)
        accept(front, first, True)
        second = form(front, 2)
        assert (second["params"]["message"], len(front.named("elicitation/create"))) == ("Continue?", 2)
        assert first["params"]["_meta"] != second["params"]["_meta"]
        front.kill_worker()
        accept(front, second, False)
        reply = front.reply(number)
        assert reply["status"] == "completed"
        events = front.do("get_workflow_history", workflow_id=reply["workflow_id"])["events"]
        given = [event["result"]["confirmed"] for event in events if event["event"] == "submitted"]
        assert given == [True, False]
        assert len(runs(front)) == 0


@both_eras
def test_new_runs_and_workflows_are_told_to_the_client(project: Path, era: str) -> None:
    with server(project, era, "--typed-tools") as front:
        front.greet()
        if era == "modern":
            wanted = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")
            front.request("subscriptions/listen", {"notifications": dict.fromkeys(wanted, True)})
            front.wait_for(lambda one: "acknowledged" in one.get("method", ""))
        front.do("list_runs")
        assert [one for one in front.messages if "list_changed" in one.get("method", "")] == []
        front.do("start_workflow", workflow="work")
        front.wait_for(lambda one: one.get("method") == "notifications/resources/list_changed")
        # A person may want the prompt of a new workflow before the agent calls anything.
        write_modules(project, WORK.replace("name: work", "name: more"))
        for kind in ("prompts", "tools"):
            front.wait_for(lambda one, kind=kind: one.get("method") == f"notifications/{kind}/list_changed")
        assert len(front.named("notifications/resources/list_changed")) == 1


def test_a_client_that_falls_back_to_the_older_protocol_gets_one_answer_for_both(
    project: Path, tmp_path: Path
) -> None:
    """Claude Code does that when the first answer takes three seconds. A handshake from the cache would make it go on
    with a protocol that the worker, which was asked in the newer one first, refuses."""
    with server(project, "legacy", cache=tmp_path / "cache") as front:
        front.greet()
        assert front.end() == 0
    with server(project, "modern", cache=tmp_path / "cache") as front:
        probe = {"id": "probe", "method": "server/discover", "params": {"_meta": MODERN}}
        older = {"id": 0, "method": "initialize", "params": HELLO}
        # In one piece: the front reads both before the worker can answer.
        lines = [json.dumps({"jsonrpc": "2.0", **one}) for one in (probe, older)]
        front.write("".join(f"{line}\n" for line in lines).encode())
        assert front.answer(0)["error"]["data"]["supported"] == ["2026-07-28"]
        front.wait_for(lambda one: one.get("id") == "probe" and "result" in one)
        assert front.do("list_runs")["runs"] == []
        front.kill_worker()
        assert front.do("list_runs")["runs"] == []


@both_eras
def test_the_server_says_that_its_lists_may_change(project: Path, era: str) -> None:
    with server(project, era) as front:
        if era == "legacy":
            front.greet()
            capabilities = front.answers(1)[0]["result"]["capabilities"]
        else:
            capabilities = front.ask("server/discover")["capabilities"]
        assert all(capabilities[kind]["listChanged"] for kind in ("tools", "prompts", "resources"))


def test_a_command_of_the_server_is_not_repeated(project: Path) -> None:
    text = """
name: served
version: 1.0.0
steps:
  - {id: note, type: shell, runner: server, command: "echo x >> noted; sleep 100000"}
"""
    write_modules(project, text)
    with server(project, "legacy", "--allow-exec") as front:
        front.greet()
        number = front.call("start_workflow", workflow="served")
        wait_until((project / "noted").exists)
        front.kill_worker()
        assert front.answer(number)["result"]["structuredContent"]["workflow_id"]
        assert (project / "noted").read_text(encoding="utf-8") == "x\n"


def test_killing_the_front_ends_the_worker(project: Path) -> None:
    with server(project, "legacy") as front:
        front.greet()
        worker = front.worker()
        # What the test started stands in for the front, so its own id is not the one to kill.
        front_pid = int(next(project.glob("*.pid")).read_text(encoding="ascii"))
        os.kill(front_pid, 9)
        wait_until(lambda: not Path(f"/proc/{worker}").exists())


MARK = "import pathlib; pathlib.Path({mark!r}).touch()\n"


def test_neither_process_imports_anything_from_the_project(project: Path, tmp_path: Path) -> None:
    """`python -m wfc` would find a `wfc` in the folder where the worker is started."""
    mark = MARK.format(mark=str(tmp_path / "mark"))
    for name in ("json", "wfc", "wfc_runtime", "click", "mcp", "anyio", "select"):
        (project / f"{name}.py").write_text(mark, encoding="utf-8")
        (project / name).mkdir()
        for part in ("__init__", "__main__"):
            (project / name / f"{part}.py").write_text(mark, encoding="utf-8")
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", "from wfc.__main__ import main; main()", "serve"],
        cwd=project,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(hello).encode() + b"\n")
        process.stdin.flush()
        # The pipe stays open until the answer is there: a worker gets two seconds to end after that.
        answer = process.stdout.readline()
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    assert json.loads(answer)["result"]["serverInfo"]["name"] == "wfc"
    assert not (tmp_path / "mark").exists()


def test_a_wrong_option_is_said_of_the_command_that_was_typed(project: Path) -> None:
    command = [sys.executable, "-m", "wfc", "serve", "--no-such-option"]
    done = subprocess.run(
        command, cwd=project, capture_output=True, text=True, check=False, timeout=PATIENCE, input=""
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: wfc serve [OPTIONS]\n")
    assert "serve-worker" not in done.stderr
