"""Ctrl-C, wherever it comes: exit code 130, not a word, and no helper left behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.workloads import workflow
from tests.e2e.command import write
from tests.support import PATIENCE

# Ctrl-C at a moment that is the same in every run: when a module is looked for, or at the nth call of a function.
AT_MODULE = """
import signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {when!r}:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv[:1] = ["wfc"]
from wfc.__main__ import main
main()
"""
AT_CALL = """
import signal, sys
left = {when}
def hear(frame, event, argument):
    global left
    left -= 1
    # Imports forget their locks in callbacks, and what is raised in one of these Python prints and passes over.
    if left <= 0 and "importlib" not in frame.f_code.co_filename:
        sys.setprofile(None)
        signal.raise_signal(signal.SIGINT)
sys.argv[:1] = ["wfc"]
from wfc.__main__ import main
from wfc.cli.main import cli
sys.setprofile(hear)
main()
"""
AT_LOCK_AFTER_WORD = """
import builtins, signal, sys
left = 2_000
def hear(frame, event, argument):
    global left
    left -= 1
    if left <= 0 or frame.f_code.co_name == "cb" and "importlib" in frame.f_code.co_filename:
        sys.setprofile(None)
        signal.raise_signal(signal.SIGINT)
say = print
def told(*words, **manner):
    say(*words, **manner)
    if {when!r} in words[0]:
        sys.setprofile(hear)
builtins.print = told
sys.argv[:1] = ["wfc"]
from wfc.__main__ import main
main()
"""
BLOCKS = "name: graph\nblocks:\n" + "".join(
    f"  - {{id: b{n}, type: Shell, inputs: {{command: make}}}}\n" for n in range(200)
)
ANSWERS = "inputs: {service: api}\nanswers: {}\n"
TESTS = "inputs: {service: api}\ntests:\n  - name: one\n    answers: {}\n    expect: {result: 1}\n"
COMMANDS = [
    ("check", "--no-cache"),
    ("check", "--fix", "--no-cache"),
    ("compile", "--no-cache"),
    ("compile", "--check", "--no-cache"),
    ("graph", "big"),
    ("graph", "big", "--format", "svg"),
    ("diff", "old.yaml", "workflows/big.yaml"),
    ("explore", "big"),
    ("plan", "big"),
    ("test",),
    ("convert", "blocks.yaml", "--to", "steps"),
    ("run", "workflows/big.yaml", "--answers", "answers.yaml"),
    ("doctor",),
    ("init", "--show"),
    ("schema",),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    write(folder / "workflows", big=workflow("big", 200))
    (folder / "workflows" / "big.test.yaml").write_text(TESTS, encoding="utf-8")
    (folder / "old.yaml").write_text(workflow("big", 150), encoding="utf-8")
    (folder / "blocks.yaml").write_text(BLOCKS, encoding="utf-8")
    (folder / "answers.yaml").write_text(ANSWERS, encoding="utf-8")
    (folder / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    return folder


def interrupted(code: str, when: object, arguments: tuple[str, ...], cwd: Path) -> tuple[int, str]:
    command = [sys.executable, "-c", code.format(when=when), *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.returncode, done.stderr.strip()


@pytest.mark.parametrize("module", ["click", "wfc.config", "wfc.cli.check", "wfc.rules"])
def test_while_the_program_is_being_loaded(module: str, project: Path) -> None:
    assert interrupted(AT_MODULE, module, ("check",), project) == (130, "")


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_while_a_command_is_at_work(arguments: tuple[str, ...], project: Path) -> None:
    assert interrupted(AT_CALL, 100_000, arguments, project) == (130, "")


@pytest.mark.parametrize("calls", [50, 1_000, 10_000, 300_000, 700_000])
def test_early_and_late(calls: int, project: Path) -> None:
    assert interrupted(AT_CALL, calls, ("check", "--no-cache"), project) == (130, "")


def test_what_is_ignored_stays_ignored(project: Path) -> None:
    ignoring = AT_MODULE.replace(
        "sys.meta_path", "signal.signal(signal.SIGINT, signal.SIG_IGN)\nsys.meta_path"
    )
    status, said = interrupted(ignoring, "wfc.rules", ("explain", "WF301"), project)
    assert (status, said) == (0, "")


FIRST = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "someone", "version": "1"},
}
HELLO = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": FIRST})
EDITOR = json.dumps(
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}, "processId": None}}
)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("serve",), f"{HELLO}\n"),
        (("serve", "--http", "--port", "0"), ""),
        (("lsp",), f"Content-Length: {len(EDITOR)}\r\n\r\n{EDITOR}"),
    ],
    ids=["serve", "http", "lsp"],
)
def test_while_a_server_waits(arguments: tuple[str, ...], said: str, project: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "wfc", *arguments],
        cwd=project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(said.encode())
    process.stdin.flush()
    assert (process.stdout if said else process.stderr).readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert b"Traceback" not in errors


def test_when_a_server_has_just_told_its_address(project: Path) -> None:
    """What it still imported then could swallow the one Ctrl-C."""
    status, said = interrupted(AT_LOCK_AFTER_WORD, "serving on", ("serve", "--http", "--port", "0"), project)
    assert status == 130
    assert "Traceback" not in said
