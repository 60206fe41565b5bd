"""The guard and its supervisors, when a command attacks them or the server ends in the ordinary way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.execute.conftest import Execute, is_alive
from tests.execute.serving import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers and /proc")
GUARD = "$(cut -d ' ' -f 4 /proc/$PPID/stat)"
"""The process above the supervisor."""


def test_a_command_that_kills_its_supervisor_is_interrupted(sh: Execute) -> None:
    error = sh("kill -KILL $PPID; sleep 1000")["error"]
    assert (error["code"], error["message"]) == (
        "interrupted",
        "the process that supervised the command was killed",
    )
    assert sh("echo next")["stdout"] == "next\n"


def test_a_command_goes_on_without_the_guard_and_the_next_one_gets_a_new_one(sh: Execute) -> None:
    before = sh(f"echo {GUARD}; kill -KILL {GUARD}; echo still")["stdout"].split()
    assert before[1:] == ["still"]
    after = sh(f"echo {GUARD}")["stdout"].split()
    assert after != before[:1]
    assert sh(f"echo {GUARD}")["stdout"].split() == after


def test_a_command_that_stops_its_supervisor_is_not_waited_for_in_vain(sh: Execute) -> None:
    assert sh("kill -STOP $PPID; echo on", timeout=600)["stdout"] == "on\n"


def test_many_commands_at_once_have_supervisors_of_their_own(root: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from wfc_runtime.execute import Grant, execute

    def run(number: int) -> str:
        action = {"type": "shell", "parameters": {"command": f"echo $PPID {number}; sleep 1000 &"}}
        return str(execute(action, Grant(root, commands=None))["stdout"])

    with ThreadPoolExecutor(12) as pool:
        said = [one.split() for one in pool.map(run, range(24))]
    assert [number for _, number in said] == [str(number) for number in range(24)]
    assert len({supervisor for supervisor, _ in said}) == 24


def test_a_long_command_line_reaches_its_program_whole(sh: Execute) -> None:
    text = "x" * 120_000
    assert sh(f"printf %s {text} | wc -c")["stdout"].strip() == "120000"
    long = sh(f"true {'x' * 3_000_000}")["error"]["message"]
    assert "can't be started: Argument list too long" in long


def test_a_server_that_ends_in_the_ordinary_way_leaves_nothing(tmp_path: Path) -> None:
    program = f"""
import threading, time, pathlib
from wfc_runtime.execute import Grant, execute
root = pathlib.Path({str(tmp_path)!r})
action = {{"type": "shell", "parameters": {{"command": "setsid sh -c 'echo $$ > pid; exec sleep 1000' & sleep 1000"}}}}
threading.Thread(target=execute, args=(action, Grant(root, commands=None)), daemon=True).start()
while not (root / "pid").exists() or not (root / "pid").read_text().strip():
    time.sleep(0.01)
"""
    subprocess.run([sys.executable, "-c", program], check=True, stdin=subprocess.DEVNULL)
    assert until(lambda: not is_alive(int((tmp_path / "pid").read_text())))
