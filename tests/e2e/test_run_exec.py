"""`wfc run --allow-exec`: commands done at once, side by side, kept like any other."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.command import wfc
from tests.execute.conftest import is_alive
from tests.support import wait_until

BLOCKS = """\
name: two-at-once
description: Blocks that wait for each other's files.
blocks:
  - id: left
    type: Shell
    inputs: {command: "touch l; until [ -f r ]; do sleep 0.05; done; echo left > $SCRATCH/out", timeout: 1000}
    outputs:
      said: {type: str, path: "$SCRATCH/out"}
  - id: right
    type: Shell
    inputs: {command: "touch r; until [ -f l ]; do sleep 0.05; done; echo $SECRET_TOKEN; exit 3", timeout: 1000}
outputs:
  said: "${blocks.left.outputs.said}"
  code: {value: "${blocks.right.outputs.exit_code}", type: int}
  leaked: "${blocks.right.outputs.stdout}"
"""
SLOW = """\
name: slow
version: "1.0.0"
steps:
  - {id: sit, type: shell, command: "echo $$ >> pids; [ -f go ] || sleep 300", timeout: 600, output_to: out}
  - {id: done, type: return, needs_state: [out], value: "{{ state.out.exit_code }}"}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n")
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows" / "two-at-once.yaml").write_text(BLOCKS)
    (tmp_path / "workflows" / "slow.yaml").write_text(SLOW)
    return tmp_path


def _pids(project: Path, count: int) -> list[int]:
    path = project / "pids"
    wait_until(lambda: path.exists() and len(path.read_text().split()) >= count, "the commands")
    return [int(pid) for pid in path.read_text().split()]


def _begun(project: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "wfc", "run", "slow", "--allow-exec"]
    return subprocess.Popen(command, cwd=project, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)


def test_blocks_run_side_by_side_and_leave_no_scratch_behind(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "sesame")
    done = wfc("run", "two-at-once", "--allow-exec", "--json", cwd=project)
    reply = json.loads(done.out)
    assert (done.status, reply["result"]) == (0, {"said": "left", "code": 3, "leaked": "\n"})
    assert not (project / ".scratch").exists()
    history = json.loads(wfc("runs", "history", reply["workflow_id"], "--json", cwd=project).out)
    assert {event.get("actor") for event in history["events"] if event["event"] == "submitted"} == {"server"}


def test_commands_see_the_variables_that_the_command_line_names(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "sesame")
    done = wfc("run", "two-at-once", "--allow-exec", "--exec-env", "SECRET_TOKEN", "--json", cwd=project)
    assert json.loads(done.out)["result"]["leaked"] == "sesame\n"
    refused = wfc("run", "two-at-once", "--exec-env", "SECRET_TOKEN", cwd=project)
    assert (refused.status, "--exec-env requires --allow-exec, --allow-http" in refused.err) == (2, True)
    refused = wfc("run", "two-at-once", "--allow-exec", "--exec-env", "CI=1", cwd=project)
    assert (refused.status, "`CI=1` is not the name of a variable" in refused.err) == (2, True)


ELSEWHERE = """\
name: elsewhere
description: A command in a folder that is neither here nor temporary.
inputs: {folder: {type: str}}
blocks:
  - {id: look, type: Shell, inputs: {command: pwd, working_dir: "${inputs.folder}"}}
outputs:
  code: {value: "${blocks.look.exit_code}", type: int}
"""


def test_commands_work_in_the_folders_that_the_command_line_names(project: Path) -> None:
    (project / "workflows" / "elsewhere.yaml").write_text(ELSEWHERE)
    command = ("run", "elsewhere", "-i", "folder=/usr", "--allow-exec", "--json")
    assert "outside the folders" in json.loads(wfc(*command, cwd=project).out)["error"]["message"]
    done = wfc(*command, "--exec-root", "/usr", cwd=project)
    assert json.loads(done.out)["result"] == {"code": 0}


def test_a_command_broken_off_with_ctrl_c_is_done_anew_when_the_run_goes_on(project: Path) -> None:
    process = _begun(project)
    [pid] = _pids(project, 1)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    assert process.returncode == 130
    assert not is_alive(pid)
    (project / "go").touch()
    run = said.split("wfc runs resume ")[1].split("`")[0]
    resumed = wfc("runs", "resume", run, "--allow-exec", "--json", cwd=project)
    assert json.loads(resumed.out)["result"] == 0, resumed.err
    assert len(_pids(project, 2)) == 2


def test_a_command_whose_terminal_was_killed_is_not_run_again_unasked(project: Path) -> None:
    process = _begun(project)
    [pid] = _pids(project, 1)
    process.kill()
    said = process.communicate()[1]
    run = said.split("run ")[1].split()[0]
    resumed = wfc("runs", "resume", run, "--allow-exec", "--json", cwd=project)
    assert resumed.status == 2
    assert "was interrupted: it began at" in resumed.err
    assert len(_pids(project, 1)) == 1
    assert not is_alive(pid)


FILES = """\
name: files
description: Reads a file and writes two.
blocks:
  - {id: read, type: ReadFile, inputs: {path: docs/in.txt}}
  - id: inside
    type: CreateFile
    inputs: {path: out/a.txt, content: "${blocks.read.outputs.content}"}
    depends_on: [read]
  - {id: module, type: CreateFile, inputs: {path: generated/evil.py, content: x}, depends_on: [inside]}
"""


@pytest.fixture
def files(project: Path) -> Path:
    (project / "workflows" / "files.yaml").write_text(FILES)
    (project / "docs").mkdir()
    (project / "docs" / "in.txt").write_text("copied")
    return project


def test_files_that_match_are_read_and_written_without_a_question(files: Path) -> None:
    granted = ("--allow-read", "docs/**", "--allow-write", "**")
    done = wfc("run", "workflows/files.yaml", *granted, "--json", cwd=files)
    reply = json.loads(done.out)
    assert (files / "out" / "a.txt").read_text() == "copied"
    assert (reply["status"], reply["error"]["code"]) == ("failed", "refused")
    assert not (files / "generated" / "evil.py").exists()


def test_patterns_are_relative_to_the_project_wherever_the_command_is_given(files: Path) -> None:
    below = files / "docs"
    done = wfc("run", "../workflows/files.yaml", "--allow-read", "docs/*", cwd=below)
    assert done.status == 2  # The file is docs/docs/in.txt from there, which does not match.
    (below / "docs").mkdir()
    (below / "docs" / "in.txt").write_text("other")
    granted = ("--allow-read", "docs/docs/*", "--allow-write", "docs/out/*")
    wfc("run", "../workflows/files.yaml", *granted, cwd=below)
    assert (below / "out" / "a.txt").read_text() == "other"


def test_a_file_that_does_not_match_is_asked_for(files: Path) -> None:
    done = wfc("run", "workflows/files.yaml", "--allow-write", "out/*", cwd=files)
    assert done.status == 2
    assert "step `read` needs a result" in done.err
    assert not (files / "out").exists()


def test_any_command_still_includes_files_but_never_modules(files: Path) -> None:
    done = wfc("run", "workflows/files.yaml", "--allow-exec", "--json", cwd=files)
    assert (files / "out" / "a.txt").exists()
    assert json.loads(done.out)["error"]["code"] == "refused"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--allow-write", "../x"], "`..`"),
        (["--exec-root", "."], "--allow-write"),
        (["--exec-env", "CI", "--allow-write", "x"], "--allow-exec"),
    ],
)
def test_a_grant_that_cannot_be_meant_is_a_usage_error(files: Path, options: list[str], why: str) -> None:
    done = wfc("run", "workflows/files.yaml", *options, cwd=files)
    assert done.status == 2
    assert why in done.err
