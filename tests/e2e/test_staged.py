"""`--staged`: what the next commit will hold, whatever lies in the folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.command import SMALL, write
from tests.e2e.command import inside as wfc

WHO = {f"GIT_{role}_{key}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}


def git(folder: Path, *arguments: str) -> int:
    env = {**os.environ, **WHO, "GIT_CONFIG_GLOBAL": os.devnull}
    return subprocess.run(
        ["git", *arguments], cwd=folder, env=env, capture_output=True, check=False
    ).returncode


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n")
    write(tmp_path / "workflows", alpha="")
    assert wfc("compile", cwd=tmp_path).status == 0
    for command in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "one")):
        assert git(tmp_path, *command) == 0
    return tmp_path


def change(project: Path, command: str) -> None:
    write(project / "workflows", alpha=SMALL.format(name="alpha").replace("make", command))
    assert wfc("compile", cwd=project).status == 0
    assert git(project, "commit", "-qam", command) == 0


def test_a_merge_with_conflicts_is_told_and_compiling_the_resolved_yaml_is_all_it_takes(
    project: Path,
) -> None:
    git(project, "checkout", "-qb", "other")
    change(project, "make all")
    git(project, "checkout", "-q", "main")
    change(project, "make most")
    assert git(project, "merge", "other") == 1
    for command in (("check",), ("compile", "--check")):
        done = wfc(*command, "--staged", cwd=project)
        assert done.status == 2
        names = "`generated/alpha.map.json`, `generated/alpha.py`, `workflows/alpha.yaml`"
        assert f"a merge left conflicts in {names}: resolve" in done.err
    assert "a merge left a conflict here" in wfc("check", cwd=project).out
    write(project / "workflows", alpha=SMALL.format(name="alpha"))
    assert wfc("compile", "--check", cwd=project).out.count("has merge conflicts") == 1
    assert wfc("compile", cwd=project).out == "generated: wrote 1\n"
    git(project, "add", "-A")
    assert wfc("compile", "--check", "--staged", cwd=project).status == 0


@pytest.mark.parametrize("folder", ["[made]", "ma de ö", "made*", "a/b"])
def test_the_folder_of_modules_may_have_any_name(project: Path, folder: str) -> None:
    (project / "pyproject.toml").write_text(f'[tool.wfc]\ngenerated = "{folder}"\n', encoding="utf-8")
    assert wfc("compile", cwd=project).status == 0
    git(project, "add", "-A")
    done = wfc("compile", "--check", "--staged", cwd=project)
    assert (done.status, done.out) == (0, f"{folder}: 1 unchanged\n"), done.err


def test_from_a_folder_inside_it_is_the_same_project(project: Path) -> None:
    (project / "sub").mkdir()
    (project / "workflows" / "alpha.yaml").write_text("name: [")
    assert wfc("check", "--staged", cwd=project / "sub").status == 0, "as committed"
    git(project, "add", "-A")
    done = wfc("check", "--staged", cwd=project / "sub")
    assert (done.status, done.out.split(":")[0]) == (1, "../workflows/alpha.yaml")


def test_names_may_be_any_that_files_can_have(project: Path) -> None:
    name = os.fsdecode(b"caf\xe9 \n\xc3\xa9.yaml")
    (project / "workflows" / name).write_text(SMALL.format(name="odd").replace("shell", "shel"))
    git(project, "add", "-A")
    done = wfc("check", "--staged", cwd=project)
    assert (done.status, done.err) == (1, "")
    assert "error[WF007 unknown-step-type]" in done.out


def test_a_file_that_is_only_meant_to_be_added_is_not_staged(project: Path) -> None:
    write(project / "workflows", beta="")
    git(project, "add", "--intent-to-add", "workflows/beta.yaml")
    assert wfc("check", "--staged", cwd=project).out == "checked 1 workflow: all clean\n"
    assert wfc("compile", "--check", "--staged", cwd=project).out == "generated: 1 unchanged\n"
    git(project, "add", "workflows/beta.yaml")
    assert wfc("compile", "--check", "--staged", cwd=project).status == 1


def test_outside_of_git_it_is_wrong_usage(tmp_path: Path) -> None:
    done = wfc("check", "--staged", cwd=tmp_path)
    assert (done.status, "--staged needs a git repository" in done.err) == (2, True)


def staged_help(project: Path) -> list[str]:
    done = wfc("compile", "--check", "--staged", cwd=project)
    return [line.strip() for line in done.out.splitlines() if line.startswith("  help: ")]


def test_a_module_that_is_only_not_staged_is_to_be_added(project: Path) -> None:
    write(project / "workflows", alpha=SMALL.format(name="alpha").replace("make", "make all"))
    git(project, "add", "workflows")
    assert staged_help(project) == ["help: run `wfc compile`"]
    assert wfc("compile", cwd=project).status == 0
    assert staged_help(project) == ["help: stage it: `git add generated/alpha.py generated/alpha.map.json`"]
    git(project, "add", "generated/alpha.py")
    assert staged_help(project) == ["help: stage it: `git add generated/alpha.map.json`"]
    git(project, "add", "generated/alpha.map.json")
    assert wfc("compile", "--check", "--staged", cwd=project).status == 0


def test_a_workflow_that_is_only_not_staged_is_to_be_added(project: Path) -> None:
    write(project / "workflows", alpha=SMALL.format(name="alpha").replace("make", "make all"))
    assert wfc("compile", cwd=project).status == 0
    git(project, "add", "generated")
    assert staged_help(project) == ["help: stage it: `git add workflows/alpha.yaml`"]
    git(project, "add", "workflows/alpha.yaml")
    assert wfc("compile", "--check", "--staged", cwd=project).status == 0


def test_a_module_that_is_new_or_gone_is_to_be_added_too(project: Path) -> None:
    write(project / "workflows", beta="")
    assert wfc("compile", cwd=project).status == 0
    git(project, "add", "workflows")
    assert staged_help(project) == ["help: stage it: `git add generated/beta.py generated/beta.map.json`"]
    git(project, "add", "-A")
    git(project, "commit", "-qm", "two")
    (project / "workflows" / "beta.yaml").unlink()
    git(project, "add", "workflows")
    assert staged_help(project) == ["help: run `wfc compile`"]
    assert wfc("compile", cwd=project).status == 0
    assert staged_help(project) == ["help: stage it: `git add generated/beta.py`"]
    git(project, "add", "generated")
    assert wfc("compile", "--check", "--staged", cwd=project).status == 0
