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


UNLISTED = """\
name: build
version: "1.0.0"
steps:
  - {id: lint, type: shel, command: make lint}
  - {id: build, type: shell, command: make, output_to: build}
  - {id: end, type: return, value: "{{ state.build.exit_code }}"}
"""


def test_fixing_standard_input_prints_the_fixed_text_and_the_rest_on_standard_error(tmp_path: Path) -> None:
    fixed = wfc("check", "--fix", "-", cwd=tmp_path, stdin=UNLISTED)
    assert fixed.out == UNLISTED.replace("return, value", "return, needs_state: [build], value")
    assert fixed.status == 1
    assert "stdin.yaml:4:22: error[WF007 unknown-step-type]" in fixed.err
    assert "fixed 1 finding in 1 file\n" in fixed.err
    more = wfc("check", "--fix", "--unsafe-fixes", "-q", "-", cwd=tmp_path, stdin=UNLISTED)
    assert "type: shell, command: make lint}\n" in more.out
    clean = SMALL.format(name="build")
    assert wfc("check", "--fix", "-", cwd=tmp_path, stdin=clean).out == clean
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_fixed_on_standard_input_is_printed_as_it_is(tmp_path: Path) -> None:
    marked = wfc("check", "--fix", "-", cwd=tmp_path, stdin="\ufeff" + UNLISTED)
    assert marked.out.startswith("\ufeffname: build\n")
    assert "needs_state" in marked.out
    broken = "name: [\n"
    assert wfc("check", "--fix", "-", cwd=tmp_path, stdin=broken).out == broken


def test_what_would_be_fixed_on_standard_input_is_shown_as_a_diff(tmp_path: Path) -> None:
    shown = wfc("check", "--diff", "-", "--stdin-filename", "w/a.yaml", cwd=tmp_path, stdin=UNLISTED)
    assert shown.status == 1
    assert shown.out.startswith("--- w/a.yaml\n+++ w/a.yaml\n")
    assert shown.err == "would fix 1 finding in 1 file; 1 more with --unsafe-fixes\n"


def test_a_workflow_on_standard_input_is_compiled_to_standard_output(tmp_path: Path) -> None:
    write(tmp_path / "workflows", build="")
    assert wfc("compile", "workflows/build.yaml", cwd=tmp_path).status == 0
    text = SMALL.format(name="build")
    done = wfc("compile", "-", "--stdin-filename", "workflows/build.yaml", cwd=tmp_path, stdin=text)
    assert (done.status, done.err) == (0, "")
    assert done.out == (tmp_path / "generated" / "build.py").read_text()
    wrong = wfc("compile", "-", cwd=tmp_path, stdin=WRONG)
    assert (wrong.status, wrong.out) == (1, "")
    assert "stdin.yaml:5:11: error[WF007 unknown-step-type]" in wrong.err


@pytest.mark.parametrize("command", ["graph", "plan"])
def test_a_workflow_on_standard_input_is_drawn_and_planned(tmp_path: Path, command: str) -> None:
    write(tmp_path / "workflows", build="")
    text = SMALL.format(name="build")
    done = wfc(command, "-", "--stdin-filename", "workflows/build.yaml", cwd=tmp_path, stdin=text)
    assert done.out == wfc(command, "workflows/build.yaml", cwd=tmp_path).out
    assert done.status == 0
    wrong = wfc(command, "-", cwd=tmp_path, stdin=WRONG)
    assert (wrong.status, wrong.out) == (1, "")
    assert "stdin.yaml:5:11: error[WF007 unknown-step-type]" in wrong.err


def test_standard_input_stands_alone(tmp_path: Path) -> None:
    for arguments in (
        ("check", "-", "x.yaml"),
        ("check", "x.yaml", "--stdin-filename", "y.yaml"),
        ("compile", "-", "x.yaml"),
        ("compile", "-", "--check"),
        ("compile", "-", "-o", "made"),
        ("compile", "x.yaml", "--stdin-filename", "y.yaml"),
        ("graph", "x.yaml", "--stdin-filename", "y.yaml"),
        ("plan", "x.yaml", "--stdin-filename", "y.yaml"),
    ):
        result = wfc(*arguments, cwd=tmp_path, stdin=WRONG)
        assert result.status == 2, arguments
        assert "`-`" in result.err


LEVELS = {
    "error": "  - {id: a, type: shel, command: make}\n",
    "warning": '  - {id: a, type: shell, when: "{{ true }}", command: make}\n',
    "info": "  - {id: a, type: shell, command: make, output_to: a}\n  - {id: b, type: return, value: 1}\n",
    "none": "  - {id: a, type: shell, command: make}\n",
}


@pytest.mark.parametrize("found", LEVELS)
@pytest.mark.parametrize("asked", ["", "error", "warning", "info"])
def test_the_severity_that_fails_a_check_can_be_chosen(tmp_path: Path, found: str, asked: str) -> None:
    text = f'name: w\nversion: "1.0.0"\nsteps:\n{LEVELS[found]}'
    order = ["error", "warning", "info", "none"]
    options = ["--fail-on", asked] if asked else []
    expected = int(order.index(found) <= order.index(asked or "warning"))
    assert wfc("check", "-", *options, cwd=tmp_path, stdin=text).status == expected
    (tmp_path / "w.yaml").write_text(text)
    assert wfc("check", "w.yaml", *options, cwd=tmp_path).status == expected
    assert wfc("check", "w.yaml", *options, cwd=tmp_path).status == expected, "from the cache"


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
