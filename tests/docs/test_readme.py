"""What the README and the pages beside it show is what a user gets."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import click
import yaml

from tests.docs.commands import why_not
from tests.docs.fences import holds
from tests.e2e.command import inside, write
from tests.support import ROOT
from wfc.cli.main import cli
from wfc.config import load_config
from wfc.starter import PIECES

README, CI, EDITORS = "README.md", "docs/ci.md", "docs/editors.md"
WRITTEN = {piece.path: piece.text() for piece in PIECES}
"""What `wfc init` writes."""
GO_ON = {
    "pip install": "needs the network",
    "wfc doctor": "starts a server; tests/e2e/test_init_command runs it after `wfc init`",
    "wfc watch": "goes on until it is interrupted",
    "wfc serve": "goes on until its client leaves",
    "wfc ui": "goes on until it is ended; tests/page runs it",
    "wfc run": "asks a person",
    "wfc worker": "needs a Temporal server",
}
"""Lines that are understood, but not run."""


@holds(
    (README, "name: release-notes"),
    ("docs/running.md", "inputs: {since: v1.2}\nanswers:\n"),
    ("docs/running.md", "inputs: {since: v1.2}\nanswers: {"),
)
def test_the_example_workflow_is_clean_compiles_runs_and_passes_its_tests(
    texts: list[str], tmp_path: Path
) -> None:
    example, answers, tests = texts
    write(tmp_path / "workflows", **{"release-notes": example})
    assert inside("check", cwd=tmp_path).out == "checked 1 workflow: all clean\n"
    assert inside("compile", cwd=tmp_path).status == 0
    assert (tmp_path / "generated" / "release_notes.py").exists()
    (tmp_path / "answers.yaml").write_text(answers, encoding="utf-8")
    assert inside("run", "release-notes", "--answers", "answers.yaml", cwd=tmp_path).out == "Better.\n"
    (tmp_path / "workflows" / "release-notes.test.yaml").write_text(tests, encoding="utf-8")
    assert "2 tests passed" in inside("test", cwd=tmp_path).out


@holds((README, "demo/wrong.yaml:"))
def test_the_findings_it_shows_are_those_of_the_demo(texts: list[str]) -> None:
    found = inside("check", "demo/wrong.yaml", cwd=ROOT)
    assert found.status == 1
    assert texts[0] in found.out


def test_the_demo_workflow_has_five_different_mistakes_and_one_run_shows_them_all() -> None:
    found = inside("check", "demo/wrong.yaml", "--format", "github", cwd=ROOT)
    codes = re.findall(r"title=(WF\d+)", found.out)
    assert sorted(codes) == ["WF004", "WF104", "WF106", "WF204", "WF301"]


@holds(("docs/settings.md", "[tool.wfc]"))
def test_the_settings_it_shows_are_taken(texts: list[str], tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(texts[0], encoding="utf-8")
    config = load_config(tmp_path)
    shown: dict[str, Any] = tomllib.loads(texts[0])["tool"]["wfc"]
    assert config.ignore == tuple(shown["ignore"])
    assert config.tools == tuple(shown["tools"])
    assert config.limits.steps == shown["limits"]["steps"]
    assert config.run_limits == shown["run_limits"]
    write(tmp_path / "workflows", a="")
    assert inside("check", cwd=tmp_path).status == 0


@holds((README, "make demo"))
def test_the_two_commands_are_targets_of_the_makefile(texts: list[str]) -> None:
    for line in texts[0].splitlines():
        command = shlex.split(line, comments=True)
        done = subprocess.run([*command, "--dry-run"], cwd=ROOT, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
    assert texts[0].count("make test-slow") == 1


@holds((README, "pip install ."))
def test_every_command_it_lists_works_in_a_project(texts: list[str], tmp_path: Path) -> None:
    write(tmp_path / "workflows", **{"my-workflow": ""})
    (tmp_path / "workflows" / "my-mission.yaml").write_text(
        "name: my-mission\nphases:\n  - {number: 1, agents: [{type: general-purpose}], completion: done}\n",
        encoding="utf-8",
    )
    (tmp_path / "old.yaml").write_text(
        "name: old\nblocks:\n  - {id: a, type: Shell, inputs: {command: make}}\n", encoding="utf-8"
    )
    _commit(tmp_path)
    listed = texts[0].splitlines()
    for line in listed:
        words = shlex.split(line, comments=True)
        if words[0] == "wfc":
            assert not why_not(line)
        if not line.startswith(tuple(GO_ON)):
            done = inside(*words[1:], cwd=tmp_path)
            assert done.status == 0, f"{line}\n{done.out}{done.err}"
    assert {line for line in GO_ON if not any(one.startswith(line) for one in listed)} == set()


def test_the_readme_is_short() -> None:
    assert len((ROOT / README).read_text(encoding="utf-8").splitlines()) <= 160


def test_every_command_that_there_is_is_listed_or_named() -> None:
    text = "".join((ROOT / page).read_text(encoding="utf-8") for page in (README, CI, EDITORS))
    assert [name for name in cli.list_commands(click.Context(cli)) if f"wfc {name}" not in text] == []


@holds((CI, "# .pre-commit-config.yaml"))
def test_the_hooks_it_shows_are_those_that_there_are(texts: list[str]) -> None:
    (repository,) = yaml.safe_load(texts[0])["repos"]
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [hook["id"] for hook in repository["hooks"]] == [hook["id"] for hook in hooks]
    assert repository["rev"] == "<a commit of this repository>"


@holds((CI, "# a GitHub Actions job"))
def test_the_steps_of_the_ci_job_pass_in_a_right_project_and_fail_in_a_wrong_one(
    texts: list[str], tmp_path: Path
) -> None:
    lines = [step["run"] for step in yaml.safe_load(texts[0])]
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("wfc ")]
    assert len(lines) == len(commands) + 1
    write(tmp_path / "workflows", build="")
    inside("compile", cwd=tmp_path)
    assert [inside(*command, cwd=tmp_path).status for command in commands] == [0, 0]
    write(tmp_path / "workflows", build="name: build\nversion: '1.0.0'\nsteps: []\n")
    assert [inside(*command, cwd=tmp_path).status for command in commands] == [1, 1]


@holds((EDITORS, "vim.lsp.config"))
def test_what_it_says_to_neovim_starts_the_language_server(texts: list[str]) -> None:
    (listed,) = re.findall(r"cmd = \{ (.*?) \}", texts[0])
    words = re.findall(r"'([^']*)'", listed)
    assert why_not(" ".join(words)) == ""
    assert re.findall(r"vim\.lsp\.\w+\('(\w+)'", texts[0]) == ["wfc", "wfc"]
    assert all(texts[0].count(opening) == texts[0].count(closing) for opening, closing in ("()", "{}"))


@holds((README, '{"mcpServers"'))
def test_the_server_it_names_for_agents_is_the_one_of_init_which_the_doctor_has_answer(
    texts: list[str],
) -> None:
    assert json.loads(texts[0]) == json.loads(WRITTEN[".mcp.json"])


@holds((EDITORS, '{\n  "yaml.schemas"'))
def test_the_schema_setting_it_names_is_what_init_writes(texts: list[str]) -> None:
    assert json.loads(texts[0]) == json.loads(WRITTEN[".vscode/settings.json"])


def _commit(folder: Path) -> None:
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "one"]):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *words], cwd=folder, check=True)
