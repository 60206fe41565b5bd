"""The protocol's own Inspector, a client that is not Python's: what it calls portable, other clients can use."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests.bench.node import node_package
from tests.bench.venvs import CannotInstallError
from tests.forks import command
from tests.server.driver import Place
from tests.support import PATIENCE

Ask = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def inspect(place: Place) -> Ask:
    """Asks a server of its own one question."""
    try:
        inspector = node_package("@modelcontextprotocol/inspector", "2.12.0", print)
    except CannotInstallError as error:
        pytest.skip(str(error))
    script = inspector.folder / "clients" / "cli" / "build" / "index.js"

    def ask(*options: str, serve: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        server = command("serve", "--state", place.state, *serve)
        question = [inspector.node, script, "--cwd", place.folder, *server, *options]
        return subprocess.run(question, capture_output=True, text=True, check=False, timeout=PATIENCE)

    return ask


def answer(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_inspector_finds_every_tool_of_every_set_portable(inspect: Ask) -> None:
    sets = ("--toolsets", "core,author,debug", "--typed-tools")
    # It ends with 6 where a schema has an error.
    names = {
        tool["name"] for tool in answer(inspect("--method", "tools/list", "--strict", serve=sets))["tools"]
    }
    assert {"start_workflow", "get_workflow_state", "execute_inline_workflow", "start_greet"} <= names


def test_a_run_is_worked_by_the_inspector_with_a_new_server_for_each_call(inspect: Ask) -> None:
    def call(tool: str, **arguments: Any) -> Any:
        pairs = [f"{name}={json.dumps(value)}" for name, value in arguments.items()]
        done = inspect("--method", "tools/call", "--tool-name", tool, "--tool-arg", *pairs)
        return answer(done)["structuredContent"]

    reply = call("start_workflow", workflow="greet", inputs={"name": "ada"})
    assert reply["action"]["parameters"] == {"command": "getent passwd ada", "timeout": 10}
    run = reply["workflow_id"]
    entry = {"stdout": "", "stderr": "", "exit_code": 2}
    reply = call("submit_result", workflow_id=run, step_id="look-up", result=entry)
    assert reply["action"]["parameters"]["parameters"] == {"text": "Hello ada, 1 times (2)"}
    reply = call("submit_result", workflow_id=run, step_id="say-hello", result={"at": "noon"})
    assert (reply["status"], reply["result"]) == ("completed", {"sent": {"at": "noon"}})
