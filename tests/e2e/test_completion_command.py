"""`wfc completion`, and what a shell gets when it asks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.e2e.command import inside, wfc, write
from wfc.cli.main import cli


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


def every_command(group: click.Group, words: str = "wfc") -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from every_command(command, f"{words} {name}")
        else:
            yield f"{words} {name}", command


def test_every_argument_and_every_file_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "workflows", build="")
    (tmp_path / "answers.yaml").write_text("answers: {build: done}\n")
    assert inside("run", "build", "--answers", "answers.yaml", cwd=tmp_path).status == 0
    monkeypatch.chdir(tmp_path)
    for words, command in every_command(cli):
        for parameter in command.params:
            wanted = isinstance(parameter, click.Argument) or parameter.metavar in ("FILE", "DIR")
            if wanted and parameter.name != "fields":
                offered = parameter.shell_complete(click.Context(command), "")
                assert offered, f"{words} {parameter.human_readable_name}"


def test_versions_to_compare_are_branches_tags_and_files(tmp_path: Path) -> None:
    for command in ("init -q -b trunk", "commit -q --allow-empty -m one", "tag v1"):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *command.split()], cwd=tmp_path, check=True)
    assert completed("wfc diff ", tmp_path) == ["trunk", "v1"]


@pytest.mark.parametrize("words", ["wfc ", "wfc runs "])
def test_what_is_said_of_a_command_is_not_cut(words: str, tmp_path: Path) -> None:
    number = str(len(words.split(" ")) - 1)
    env = {"_WFC_COMPLETE": "zsh_complete", "COMP_WORDS": words, "COMP_CWORD": number}
    said = wfc(cwd=tmp_path, env=env).out.splitlines()[2::3]
    assert said
    assert all(line.endswith(".") and not line.endswith("...") for line in said)


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


def in_shell(cwd: Path, *command: str) -> list[str]:
    """What a shell prints that has our `wfc` on its PATH."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "HOME": str(cwd)}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_itself_completes_by_its_script(tmp_path: Path) -> None:
    write(tmp_path / "workflows", ship="", build="")
    assert in_shell(tmp_path, "bash", "-c", COMPLETE) == [
        "graph sh: ship",
        "explain WF30: WF301 WF302 WF303 WF304 WF305 WF306 WF307 WF309",
        "check --form: --format",
        "runs sho: show",
        "check wo: ",  # Files are bash's own business.
    ]


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_itself_completes_by_its_script(tmp_path: Path) -> None:
    write(tmp_path / "workflows", ship="", build="")
    script = "wfc completion fish | source; complete -C 'wfc run sh'; complete -C 'wfc explain WF30'"
    assert in_shell(tmp_path, "fish", "--no-config", "-c", script)[:3] == ["ship", "WF301", "WF302"]
