"""The command itself: what it refuses, and what it loads before its first answer."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import wfc
from tests.forks import command
from tests.server.driver import Place
from tests.support import PATIENCE
from wfc_runtime.header import digest, read_header

LOADED = """\
import json, sys
sys.argv = ["wfc", "serve"]
from wfc.cli.main import main
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "probe", "version": "1"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def calling(tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": tool, "method": "tools/call", "params": params}


def test_wrong_usage_is_refused_before_anything_is_served(place: Place) -> None:
    result = wfc("serve", "--toolsets", "core,debugg", cwd=place.folder)
    assert (result.status, result.out) == (2, "")
    assert "there is no toolset `debugg`" in result.err
    assert "--port requires --http" in wfc("serve", "--port", "1", cwd=place.folder).err
    assert wfc("serve", "--toolsets", ",", cwd=place.folder).status == 2


def test_a_token_that_is_too_short_and_a_port_that_is_taken_are_refused(place: Place) -> None:
    result = wfc("serve", "--http", "--port", "0", cwd=place.folder, env={"WFC_TOKEN": "short"})
    assert result.status == 2
    assert "WFC_TOKEN must be 16 or more" in result.err


def test_settings_that_cannot_be_used_are_refused_with_their_place(place: Place) -> None:
    settings = place.folder / "pyproject.toml"
    settings.write_text('[tool.wfc]\nelicit = "yes"\n', encoding="utf-8")
    assert "elicit must be true or false" in wfc("serve", cwd=place.folder).err
    settings.write_text("[tool.wfc.run_limits]\nresult_byte = 5\n", encoding="utf-8")
    assert "did you mean `result_bytes`?" in wfc("serve", cwd=place.folder).err


def test_limits_of_the_project_hold_for_its_runs(place: Place) -> None:
    settings = place.folder / "pyproject.toml"
    settings.write_text("[tool.wfc.run_limits]\nresult_bytes = 100\n", encoding="utf-8")
    with place.server() as agent:
        run = agent.call("start_workflow", workflow="keep")["workflow_id"]
        told = agent.refusal(
            "submit_result", workflow_id=run, step_id="fetch", result={"response": "x" * 200}
        )
        assert "the limit is 100" in told


def test_a_server_whose_client_goes_away_ends_without_a_word(place: Place) -> None:
    result = wfc("serve", cwd=place.folder, stdin="")
    assert (result.status, result.out, result.err) == (0, "", "")
    assert not (place.folder / ".wfc").exists()


def test_nothing_but_the_sdk_is_loaded_before_the_first_answer(place: Place) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        cwd=place.folder,
        input=json.dumps(HELLO) + "\n",
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=True,
    )
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "wfc"
    loaded = set(json.loads(done.stderr))
    for heavy in (
        "statemachine",
        "sqlite3",
        "yaml",
        "black",
        "wfc.project",
        "wfc_runtime.machine",
        "wfc_runtime.store",
    ):
        assert heavy not in loaded


def test_an_older_client_that_knows_no_structured_content_gets_text(place: Place) -> None:
    old = {**HELLO, "params": {**HELLO["params"], "protocolVersion": "2024-11-05"}}
    process = subprocess.Popen(
        command("serve"),
        cwd=place.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        for message in (old, READY, calling("list_workflows", query="greet")):
            process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        process.stdout.readline()
        result = json.loads(process.stdout.readline())["result"]
        process.stdin.close()
    assert "structuredContent" not in result
    assert json.loads(result["content"][0]["text"])["workflows"][0]["workflow"] == "greet"


@pytest.mark.parametrize("shared", [False, True], ids=["one socket each way", "one socket both ways"])
def test_a_client_may_talk_over_sockets_as_node_does(place: Place, shared: bool) -> None:
    ours, theirs = socket.socketpair()
    read_from, written_to = (ours, theirs) if shared else socket.socketpair()
    process = subprocess.Popen(
        command("serve"),
        cwd=place.folder,
        stdin=theirs.fileno(),
        stdout=written_to.fileno(),
    )
    large = {"name": "root", "nobody": "x" * 300_000}
    with process, ours, theirs, read_from, written_to, read_from.makefile("rb") as answers:
        ours.settimeout(PATIENCE)
        for message in (
            HELLO,
            READY,
            calling("list_workflows"),
            calling("start_workflow", workflow="greet", inputs=large),
        ):
            ours.sendall(json.dumps(message).encode() + b"\n")
        found = [json.loads(answers.readline()) for _ in range(3)]
        ours.shutdown(socket.SHUT_WR)
        process.wait(timeout=PATIENCE)
    assert found[0]["result"]["serverInfo"]["name"] == "wfc"
    results = [one["result"] for one in found[1:]]
    assert sorted(result["isError"] for result in results) == [False, True]


def test_what_a_module_prints_does_not_get_between_the_messages(
    place: Place, modules: dict[str, str]
) -> None:
    header = read_header(modules["greet.py"])
    assert header is not None
    head, _, body = modules["greet.py"].partition(header.body + "\n")
    loud = body + 'print("a stray word")\n'
    text = f"{head}{digest(loud)}\n{loud}"
    (place.folder / "generated" / "greet.py").write_text(text, encoding="utf-8")
    with place.server() as agent:
        assert len(agent.call("list_workflows")["workflows"]) == 6
    assert "a stray word" in agent.log


def test_the_help_names_every_option(tmp_path: Path) -> None:
    result = wfc("serve", "--help", cwd=tmp_path)
    assert result.status == 0
    for option in ("--state", "--generated", "--toolsets", "--typed-tools", "--elicit", "--http", "--port"):
        assert option in result.out
