"""What people expect of any such tool: standard input, progress on a terminal, silence elsewhere."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.workloads import write_project
from tests.e2e.command import SMALL, wfc, write
from tests.support import PATIENCE

WRONG = SMALL.format(name="build").replace("shell", "shel")


AT_ONCE = """
import sys
from wfc.cli.shared import output as progress
from wfc.__main__ import main
progress._MOMENT = 0
sys.argv[:1] = ["wfc"]
main()
"""
"""The real command, to which any work takes long enough for a bar."""


def in_terminal(*arguments: str, cwd: Path) -> str:
    """What a terminal gets to see of a command that takes more than a moment."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "XDG_CACHE_HOME": str(cwd / "cache")}
    shown = [sys.executable, "-c", AT_ONCE, *arguments]
    with subprocess.Popen(shown, cwd=cwd, env=env, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # The other end is closed.
                break
            if not piece:
                break
            seen += piece
        process.wait(PATIENCE)
    os.close(ours)
    return seen.decode()


def test_a_text_from_standard_input_is_checked(tmp_path: Path) -> None:
    result = wfc("check", "-", cwd=tmp_path, stdin=WRONG)
    assert result.status == 1
    assert result.out.startswith("stdin.yaml:5:11: error[WF007 unknown-step-type]")
    clean = wfc("check", "-", cwd=tmp_path, stdin=SMALL.format(name="build"))
    assert (clean.status, clean.out) == (0, "checked 1 workflow: all clean\n")


def test_a_text_from_standard_input_may_have_a_name_in_its_project(tmp_path: Path) -> None:
    write(tmp_path / "workflows", other="", build="")
    calling = SMALL.format(name="build").replace(
        "type: shell\n    command: make", "type: call\n    workflow: other"
    )
    name = "workflows/build.yaml"
    result = wfc("check", "-", "--stdin-filename", name, "--format", "json", cwd=tmp_path, stdin=calling)
    assert json.loads(result.out)["findings"] == []
    result = wfc("check", "-", "--stdin-filename", name, "--format", "json", cwd=tmp_path, stdin=WRONG)
    assert {one["file"] for one in json.loads(result.out)["findings"]} == {name}


def test_standard_input_stands_alone(tmp_path: Path) -> None:
    for arguments in (
        ("-", "x.yaml"),
        ("-", "--fix"),
        ("-", "--diff"),
        ("x.yaml", "--stdin-filename", "y.yaml"),
    ):
        result = wfc("check", *arguments, cwd=tmp_path, stdin=WRONG)
        assert result.status == 2, arguments
        assert "`-`" in result.err


def test_a_bar_shows_on_a_terminal_when_it_takes_long_and_leaves_nothing_behind(tmp_path: Path) -> None:
    write_project(tmp_path, 5, 20)
    seen = in_terminal("compile", cwd=tmp_path)
    assert re.search(r"\rcompiling \[#+\.*\] \d/5", seen.replace("\x1b[K", ""))
    assert "\r\x1b[K" in seen
    assert seen.rstrip().endswith("generated: wrote 5")
    quiet = in_terminal("compile", "--check", "--no-progress", "--no-cache", cwd=tmp_path)
    assert "compiling [" not in quiet
    assert "compiling [" not in wfc("compile", "--check", "--no-cache", cwd=tmp_path).err


HOSTILE = r"\e[2J\e]0;owned\a \u202e \u009b31m end"
SAYS = f"""
name: says
version: "1 {HOSTILE}"
steps:
  - {{id: a, type: shell, command: "echo {HOSTILE}", output_to: o}}
  - {{id: b, type: return, needs_state: [o], value: "{{{{ state.o.stdout }}}}"}}
"""
EXPECTS = f"""
tests:
  - name: "{HOSTILE}"
    answers: {{a: "{HOSTILE}"}}
    expect: {{result: "other {HOSTILE}", actions: {{a: "{HOSTILE}"}}}}
"""


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize("command", ["plan says", "test", "diff old/says.yaml workflows/says.yaml"])
def test_what_a_workflow_says_never_controls_the_terminal(
    tmp_path: Path, command: str, form: list[str]
) -> None:
    for folder in ("workflows", "old"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "says.yaml").write_text(
            SAYS if folder == "old" else SAYS.replace("echo", "printf")
        )
    (tmp_path / "workflows" / "says.test.yaml").write_text(EXPECTS)
    done = wfc(*command.split(), *form, cwd=tmp_path)
    assert "end" in done.out, done.err
    assert [char for char in done.out + done.err if not (char.isprintable() or char == "\n")] == []
