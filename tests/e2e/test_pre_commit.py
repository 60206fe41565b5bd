"""The hooks, in the hands of the real pre-commit program, on a repository of a user's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docs.fences import fence_of
from tests.e2e.command import SMALL, wfc

ROOT = Path(__file__).parents[2]
SHIPPED = (
    *("compiler", "runtime", "workflows", "generated", ".claude/agents"),
    *("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"),
)


@dataclass(frozen=True)
class Repository:
    """A user's project under git, with the hooks installed."""

    folder: Path
    env: dict[str, str]

    def git(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *arguments], cwd=self.folder, env=self.env, capture_output=True, text=True, check=False
        )

    def commit(self) -> tuple[bool, str]:
        """Whether the hooks let what is staged pass, and what they said."""
        done = self.git("commit", "-m", "try")
        return done.returncode == 0, done.stdout + done.stderr

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def compile(self) -> None:
        assert wfc("compile", cwd=self.folder).status == 0

    def back(self) -> None:
        self.git("reset", "--hard", "--quiet")
        self.git("clean", "-fdq")


def _tool(folder: Path, env: dict[str, str]) -> Path:
    """This project as a repository that pre-commit can clone, with what is in the work tree."""
    tool = folder / "tool"
    tool.mkdir()
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tool / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tool / name)
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "all")):
        subprocess.run(["git", *command], cwd=tool, env=env, check=True)
    return tool


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    base = tmp_path_factory.mktemp("pre-commit")
    who = {"NAME": "A User", "EMAIL": "user@example.org"}
    names = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    outer = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    env = {**outer, **names, "PRE_COMMIT_HOME": str(base / "home"), "GIT_CONFIG_GLOBAL": os.devnull}
    # Most of what pip installs is never imported: not worth compiling. (It wants a no where the option says yes.)
    env["PIP_NO_COMPILE"] = "no"
    tool = _tool(base, env)
    shown = fence_of("docs/ci.md", "# .pre-commit-config.yaml").text
    project = Repository(base / "project", env)
    project.folder.mkdir()
    project.git("init", "-q")
    project.write("pyproject.toml", '[tool.wfc]\nworkflows = "workflows"\ngenerated = "generated"\n')
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=tool, capture_output=True, text=True, check=True
    )
    shown = shown.replace("<address of this repository>", str(tool))
    shown = shown.replace("<a commit of this repository>", commit.stdout.strip())
    project.write(".pre-commit-config.yaml", shown)
    project.write("workflows/build.yaml", SMALL.format(name="build"))
    project.compile()
    install = [sys.executable, "-m", "pre_commit", "install", "--install-hooks"]
    done = subprocess.run(install, cwd=project.folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return project


@pytest.fixture(autouse=True)
def clean(repository: Repository) -> None:
    """Start from the commit with one workflow and its module, which the hooks let through."""
    if repository.git("rev-parse", "HEAD").returncode:
        repository.git("add", "-A")
        passed, said = repository.commit()
        assert passed, said
        assert said.count("Passed") == 2
    repository.back()


def test_a_clean_commit_passes(repository: Repository) -> None:
    repository.write("workflows/ship.yaml", SMALL.format(name="ship"))
    repository.compile()
    repository.git("add", "-A")
    passed, said = repository.commit()
    assert passed, said
    repository.git("reset", "--hard", "--quiet", "HEAD~1")


def test_a_stale_module_fails_until_it_is_compiled_and_staged(repository: Repository) -> None:
    repository.write("workflows/build.yaml", SMALL.format(name="build").replace("make", "make all"))
    repository.git("add", "-A")
    passed, said = repository.commit()
    assert not passed
    assert "does not match its source" in said
    repository.compile()
    passed, said = repository.commit()
    assert not passed, "compiled, but not staged"
    repository.git("add", "-A")
    passed, said = repository.commit()
    assert passed, said
    repository.git("reset", "--hard", "--quiet", "HEAD~1")


def test_an_edited_module_fails_although_no_workflow_is_in_the_commit(repository: Repository) -> None:
    module = repository.folder / "generated" / "build.py"
    module.write_text(module.read_text(encoding="utf-8") + "\nEXTRA = 1\n", encoding="utf-8")
    repository.git("add", "-A")
    passed, said = repository.commit()
    assert not passed
    assert "edited" in said
    repository.compile()
    repository.write("note.py", "")
    repository.git("add", "-A")
    passed, said = repository.commit()
    assert passed, said
    repository.git("reset", "--hard", "--quiet", "HEAD~1")


def test_a_new_workflow_without_its_module_fails_even_if_the_module_lies_beside_it(
    repository: Repository,
) -> None:
    repository.write("workflows/ship.yaml", SMALL.format(name="ship"))
    repository.compile()
    repository.git("add", "workflows")
    passed, said = repository.commit()
    assert not passed
    assert "has not been generated" in said


def test_a_workflow_with_an_error_fails_at_its_place(repository: Repository) -> None:
    repository.write("workflows/build.yaml", SMALL.format(name="build").replace("shell", "shel"))
    repository.git("add", "-A")
    passed, said = repository.commit()
    assert not passed
    assert "workflows/build.yaml:5:11: error[WF" in said


def test_a_broken_workflow_that_is_not_staged_stops_no_commit(repository: Repository) -> None:
    repository.write("workflows/draft.yaml", "name: [")
    repository.write("notes.yaml", "a: 1\n")
    repository.git("add", "notes.yaml")
    passed, said = repository.commit()
    assert passed, said
    repository.git("reset", "--hard", "--quiet", "HEAD~1")


def test_a_workflow_is_deleted_with_its_module_or_not_at_all(repository: Repository) -> None:
    repository.git("rm", "-q", "workflows/build.yaml")
    passed, said = repository.commit()
    assert not passed
    assert "generated/build.py" in said
    repository.git("rm", "-q", "generated/build.py", "generated/build.map.json")
    passed, said = repository.commit()
    assert passed, said
    assert said.count("Passed") == 2, "although no workflow is left"
    repository.git("reset", "--hard", "--quiet", "HEAD~1")
