"""Programs that do not end when they are asked to, sessions that are taken, and failures of wfc itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from threading import Event

import pytest

from tests.agents.support import Desk, delegate
from tests.execute.conftest import is_alive
from tests.support import wait_until
from wfc_runtime.agents import ADAPTERS, calls
from wfc_runtime.agents.logs import CallLog
from wfc_runtime.agents.settings import Program
from wfc_runtime.execute.process import run_process


def _ignoring(desk: Desk) -> list[int]:
    """The processes of agents that ignore SIGTERM by now."""
    return [int(path.name.partition("-")[2]) for path in desk.notes.glob("ignoring-*")]


def test_a_program_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    """At the timeout of its step, when the driver is interrupted, and when the driver is terminated."""
    # Side by side, since each takes as long as a program has to end.
    late, stopped, ended = Desk(tmp_path / "late"), Desk(tmp_path / "stopped"), Desk(tmp_path / "ended")
    late.workflow(delegate("a", "ignore", ", timeout: 1"))
    for desk in (stopped, ended):
        desk.workflow(delegate("a", "ignore"))
    drivers = [desk.start("run", "w", "--agent", "stub") for desk in (late, stopped, ended)]
    for desk in (late, stopped, ended):
        wait_until(lambda desk=desk: _ignoring(desk), "an agent that ignores SIGTERM")  # type: ignore[misc]
    drivers[1].send_signal(signal.SIGINT)
    drivers[2].send_signal(signal.SIGTERM)
    errors = [driver.communicate()[1] for driver in drivers]
    assert [driver.returncode for driver in drivers] == [1, 130, 128 + signal.SIGTERM]
    assert "took more than 1 seconds" in errors[0]
    assert not is_alive(*_ignoring(late))
    for desk, said in ((stopped, errors[1]), (ended, errors[2])):
        assert not is_alive(*_ignoring(desk))
        assert f"continue with `wfc runs resume {desk.run_id()} --agent stub`" in said
    for desk in (stopped, ended):
        assert desk.runs()[0]["pending"] == ["a"]
        (desk.notes / "orders").write_text("say now")
        assert desk.resume().status == 0


def test_the_commands_of_an_agent_that_is_killed_end_with_it(desk: Desk) -> None:
    desk.workflow(delegate("a", "orphan"))
    done = desk.run()
    assert done.status == 1
    assert "exit code 137" in done.err
    assert not is_alive(int((desk.notes / "child").read_text()))


def test_a_program_that_does_not_end_after_its_result_has_not_succeeded_and_its_cost_counts(
    desk: Desk,
) -> None:
    desk.operator("idle = 0.5")
    desk.workflow(delegate("a", "linger x"))
    done = desk.run()
    assert (done.status, done.out) == (1, "")
    assert "printed nothing for 0.5 seconds" in done.err
    assert [event["agent"]["usd"] for event in desk.history() if "agent" in event] == [0.01]


def test_the_time_at_which_an_account_is_available_again_is_shown(desk: Desk) -> None:
    desk.workflow(delegate("a", "limited 1900000000"))
    done = desk.run("--events", "-")
    assert done.status == 6
    assert json.loads(done.out.splitlines()[-1])["resets_at"] == "2030-03-17T17:46:40+00:00"
    assert "2030-03-17" in done.err


@pytest.mark.parametrize("at", ["1900000000000", "9" * 40, "-1", "0"])
def test_a_time_that_can_not_be_one_is_left_out(desk: Desk, at: str) -> None:
    desk.workflow(delegate("a", f"limited {at}"))
    done = desk.run()
    assert done.status == 6, done.err
    assert "available again" not in done.err


def test_a_prompt_that_is_longer_than_an_argument_may_be_reaches_the_agent(desk: Desk) -> None:
    text = "word " * 40_000 + "END"
    (desk.notes / "inputs.json").write_text(json.dumps({"text": text}))
    head = "inputs: {text: {type: string, required: true}}\n"
    desk.workflow(delegate("a", "say x", ", context: {text: '{{ inputs.text }}'}"), head=head)
    done = desk.run("--inputs", str(desk.notes / "inputs.json"))
    assert done.status == 0, done.err
    assert text in desk.calls()[0]["prompt"]


def _given_session(call: dict[str, list[str]]) -> str:
    words = call["arguments"]
    return words[words.index("--session-id") + 1]


def test_a_session_that_is_in_use_is_replaced_and_the_step_is_done_once(desk: Desk) -> None:
    desk.workflow(delegate("a", "say x", ", session: author"), delegate("b", "say y"))
    (desk.notes / "taken").write_text("1")
    done = desk.run()
    assert done.status == 0, done.err
    assert "can't continue the session; a new one begins" in done.err
    assert len(desk.calls()) == 2
    # The id of the label is the one that works.
    noted = [event["session"] for event in desk.history() if event["event"] == "session"]
    assert len(noted) == 2
    assert noted[-1] == _given_session(desk.calls()[0])


def test_a_tool_call_whose_session_is_in_use_is_asked_for_again_as_a_tool_call(desk: Desk) -> None:
    (desk.notes / "taken").write_text("1")
    (desk.notes / "orders").write_text('call mcp__github__get_issue {"number": 7}')
    desk.workflow(
        "{id: b, type: mcp_call, tool: github.get_issue, parameters: {number: 7}, output_to: b_out}"
    )
    assert desk.run().status == 0
    (call,) = desk.calls()
    assert "mcp__github__get_issue" in call["prompt"]


def test_a_program_that_finds_every_session_in_use_fails_the_step(desk: Desk) -> None:
    desk.workflow(delegate("a", "say x"))
    (desk.notes / "taken").write_text("12")
    done = desk.run()
    assert (done.status, done.out, desk.calls()) == (1, "", [])
    assert "already in use" in done.err
    assert desk.runs()[0]["status"] == "failed"
    assert '"agent_crash"' in json.dumps(desk.history())


@pytest.mark.parametrize(
    ("broken", "calls"),
    [
        ("wfc_runtime.service.agent_calls.run_call", 1),
        ("wfc_runtime.service.agent_calls.AgentCalls.finish", 2),
    ],
    ids=["before the call", "after the call"],
)
def test_a_failure_of_wfc_itself_ends_the_driver_and_fails_no_step(
    desk: Desk, broken: str, calls: int
) -> None:
    desk.workflow(delegate("a", "say x", ", retry: {max_attempts: 2}"))
    program = (
        "import sys; from unittest.mock import patch; from wfc.cli.main import main\n"
        f"with patch({broken!r}, side_effect=LookupError('tk-9f8e7d')): main()"
    )
    driver = subprocess.run(
        [sys.executable, "-c", program, "run", "w", "--agent", "stub"],
        cwd=desk.project,
        env={**os.environ, **desk.env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (driver.returncode, driver.stdout) == (3, ""), driver.stderr
    assert "internal error: LookupError" in driver.stderr
    assert "continue with `wfc runs resume" in driver.stderr
    assert "tk-9f8e7d" not in driver.stderr
    assert desk.runs()[0]["pending"] == ["a"]
    assert desk.resume().status == 0
    assert len(desk.calls()) == calls


def test_a_driver_that_is_terminated_records_what_its_call_has_cost(desk: Desk) -> None:
    desk.workflow(delegate("a", "spend"))
    driver = desk.start("run", "w", "--agent", "stub")
    wait_until((desk.notes / "spending").exists, "the call")
    # As `timeout` and a cancelled job in CI do.
    driver.send_signal(signal.SIGTERM)
    driver.communicate()
    assert driver.returncode == 143
    assert [event["agent"]["tokens"] for event in desk.history() if "agent" in event] == [10]


def test_lines_are_put_together_however_the_output_is_cut(tmp_path: Path) -> None:
    log = CallLog(tmp_path, "a")
    program = Program("any", ADAPTERS["command"], ("any",))
    seen: list[str] = []
    lines = calls.Lines(program, log, seen.append, is_secret=False)
    for part in (b"on", b"e\ntwo\n", b"", b"\nthr", b"ee \xe2\x82", b"\xac"):
        lines.add(part)
    lines.close()
    log.close()
    assert seen == ["one", "two", "three \u20ac"]
    assert log.path is not None
    assert log.path.read_text() == "one\ntwo\n\nthree \u20ac\n"


def test_a_line_without_an_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    log = CallLog(tmp_path, "a")
    lines = calls.Lines(
        Program("any", ADAPTERS["command"], ("any",)), log, lambda words: None, is_secret=False
    )
    tracemalloc.start()
    for _ in range(100):
        lines.add(b"x" * 1024 * 1024)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    log.close()
    assert most < 50 * 1024 * 1024


def test_the_time_that_wfc_takes_to_read_output_is_no_silence_of_the_program(tmp_path: Path) -> None:
    finished = run_process(
        ["sh", "-c", "echo a; sleep 0.1; echo b"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        seconds=60,
        limits=(1000, 1000),
        stop=Event(),
        on_output=lambda data: time.sleep(1.2),
        idle=1.0,
    )
    assert (finished.exit_code, finished.was_idle) == (0, False)
