"""`wfc completion`, and what a shell gets when it asks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.command import wfc, write


def completed(words: str, cwd: Path) -> list[str]:
    """What bash is offered for the last word."""
    number = str(len(words.split(" ")) - 1)
    env = {"_WFC_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": number}
    result = wfc(cwd=cwd, env=env)
    return [line.partition(",")[2] for line in result.out.splitlines() if line.startswith("plain,")]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(shell: str, tmp_path: Path) -> None:
    result = wfc("completion", shell, cwd=tmp_path)
    assert result.status == 0
    assert "_WFC_COMPLETE" in result.out


def test_the_bash_script_is_one_that_bash_can_read(tmp_path: Path) -> None:
    script = wfc("completion", "bash", cwd=tmp_path).out
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_commands_options_workflows_and_topics_are_completed(tmp_path: Path) -> None:
    write(tmp_path / "workflows", deploy="", release="")
    assert completed("wfc com", tmp_path) == ["compile", "completion"]
    assert "--unsafe-fixes" in completed("wfc check --un", tmp_path)
    assert completed("wfc graph de", tmp_path) == ["deploy"]
    assert completed("wfc explain WF30", tmp_path)[0] == "WF301"


def test_completing_outside_a_project_offers_nothing_and_says_nothing(tmp_path: Path) -> None:
    env = {"_WFC_COMPLETE": "bash_complete", "COMP_WORDS": "wfc graph x", "COMP_CWORD": "2"}
    result = wfc(cwd=tmp_path, env=env)
    assert result.err == ""
    assert result.out == "file,x\n"


def test_an_unknown_shell_is_said_so(tmp_path: Path) -> None:
    result = wfc("completion", "csh", cwd=tmp_path)
    assert result.status == 2
    assert "'bash', 'zsh', 'fish'" in result.err


COMPLETE = """\
compopt() { :; }  # Only a shell at a terminal has it.
eval "$(wfc completion bash)"
for typed in "graph sh" "explain WF30" "check --form" "runs sho" "check wo"; do
    COMP_WORDS=(wfc $typed) COMP_CWORD=2 COMPREPLY=()
    _wfc_completion wfc
    echo "$typed: ${COMPREPLY[*]}"
done
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_itself_completes_by_its_script(tmp_path: Path) -> None:
    write(tmp_path / "workflows", ship="", build="")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", COMPLETE],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "graph sh: ship",
        "explain WF30: WF301 WF302 WF303 WF304 WF305 WF306 WF307 WF309",
        "check --form: --format",
        "runs sho: show",
        "check wo: ",  # Files are bash's own business.
    ]
