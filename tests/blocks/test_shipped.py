"""The workflows of blocks that we ship, run with real commands in real repositories."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.blocks.support import result, run
from tests.support import ROOT


def shipped(name: str) -> str:
    return (ROOT / "workflows" / f"{name}.yaml").read_text(encoding="utf-8")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def repository(work: Path) -> Path:
    git(work, "init", "-q", "-b", "main")
    (work / "Makefile").write_text("all:\n\t@echo built\n", encoding="utf-8")
    git(work, "add", ".")
    git(work, "commit", "-qm", "Begin")
    return work


def python_project(folder: Path, passes: bool = True) -> None:
    (folder / "calc.py").write_text("def two() -> int:\n    return 2\n", encoding="utf-8")
    test = f"""import unittest

from calc import two


class Test(unittest.TestCase):
    def test_two(self) -> None:
        self.assertEqual(two(), {2 if passes else 3})
"""
    (folder / "test_calc.py").write_text(test, encoding="utf-8")


def ci(tmp_path: Path, **inputs: Any) -> Any:
    given = {"python": sys.executable, **inputs}
    return result(tmp_path, shipped("python-ci"), shipped("python-tests"), inputs=given)


def test_python_ci_passes_where_all_is_well(tmp_path: Path, work: Path) -> None:
    python_project(work)
    found = ci(tmp_path)
    assert (found["passed"], found["style_clean"], found["tests_passed"]) == (True, True, True)
    assert "| syntax | success |" in found["summary"]


def test_python_ci_tells_a_failed_test_from_a_matter_of_style(tmp_path: Path, work: Path) -> None:
    python_project(work, passes=False)
    (work / "ugly.py").write_text("x = 1 \n", encoding="utf-8")
    found = ci(tmp_path)
    assert (found["passed"], found["style_clean"], found["tests_passed"]) == (False, False, False)
    assert "AssertionError" in found["summary"]


@pytest.mark.parametrize(("strict", "passes"), [(False, True), (True, False)])
def test_python_ci_minds_style_where_it_is_strict(
    strict: bool, passes: bool, tmp_path: Path, work: Path
) -> None:
    python_project(work)
    (work / "ugly.py").write_text("x = 1 \n", encoding="utf-8")
    assert ci(tmp_path, strict=strict)["passed"] is passes


def test_python_tests_has_nothing_to_run_in_an_empty_folder(tmp_path: Path, work: Path) -> None:
    found = result(tmp_path, shipped("python-tests"))
    assert found == {"passed": False, "skipped": True, "files": 0, "report": ""}


@pytest.mark.parametrize("interpreter", ["with pytest", "without pytest"])
def test_python_tests_pass_only_if_a_test_was_found(interpreter: str, tmp_path: Path, work: Path) -> None:
    python = sys.executable
    if interpreter == "without pytest":
        python = str(tmp_path / "python")
        Path(python).write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n', encoding="utf-8")
        Path(python).chmod(0o755)

    def tried() -> Any:
        shutil.rmtree(tmp_path / "generated", ignore_errors=True)
        return result(tmp_path, shipped("python-tests"), inputs={"python": python})

    (work / "test_none.py").write_text("x = 1\n", encoding="utf-8")
    # Tests of installed packages are not those of the project.
    (work / ".venv").mkdir()
    (work / ".venv" / "test_other.py").write_text("raise SystemExit\n", encoding="utf-8")
    found = tried()
    assert (found["passed"], found["files"]) == (False, 1)
    python_project(work, passes=interpreter == "without pytest")
    assert tried()["passed"] is (interpreter == "without pytest")


def test_worktree_build_builds_a_branch_and_leaves_no_tree(tmp_path: Path, repository: Path) -> None:
    found = result(tmp_path, shipped("worktree-build"), inputs={"branch": "feature-x", "command": "make all"})
    assert (found["built"], found["tree_removed"]) == (True, True)
    assert found["revision"] == git(repository, "rev-parse", "--short", "HEAD").strip()
    assert "built" in Path(found["log"]).read_text(encoding="utf-8")
    assert not (repository / ".worktrees/feature-x").exists()
    assert "feature-x" in git(repository, "branch", "--list", "feature-x")


def test_worktree_build_keeps_the_log_of_a_build_that_failed(tmp_path: Path, repository: Path) -> None:
    inputs = {"branch": "broken", "command": "make nothing", "keep": True}
    found = result(tmp_path, shipped("worktree-build"), inputs=inputs)
    assert (found["built"], found["tree_removed"]) == (False, False)
    assert "exit code 2" in Path(found["log"]).read_text(encoding="utf-8")
    assert (repository / ".worktrees/broken/Makefile").exists()
    # Neither the tree nor the log becomes part of the next commit.
    assert git(repository, "status", "--porcelain") == ""
    # Somebody works there now.
    (repository / ".worktrees/broken/mine").touch()
    shutil.rmtree(tmp_path / "generated")
    found = result(tmp_path, shipped("worktree-build"), inputs={"branch": "broken"})
    assert (found["occupied"], found["built"], found["tree_removed"]) == (True, False, False)
    assert (repository / ".worktrees/broken/mine").exists()


DEPLOY = {
    "check": "true",
    "deploy": "echo $TARGET > deployed.txt",
    "health": "true",
    "rollback": "rm deployed.txt",
}


def test_conditional_deploy_deploys_where_the_checks_pass(tmp_path: Path, work: Path) -> None:
    found = result(tmp_path, shipped("conditional-deploy"), inputs=DEPLOY)
    assert (found["deployed"], found["rolled_back"], found["refused"]) == (True, False, False)
    assert (work / "deployed.txt").read_text(encoding="utf-8") == "staging\n"
    assert json.loads((work / ".deployments.json").read_text(encoding="utf-8")) == found["record"]


def test_conditional_deploy_stops_where_they_fail(tmp_path: Path, work: Path) -> None:
    found = result(tmp_path, shipped("conditional-deploy"), inputs={**DEPLOY, "check": "false"})
    assert found["deployed"] is False
    assert found["record"]["last"]["checks"] == "failure"
    assert found["record"]["last"]["deployed"] == "n/a"
    assert not (work / "deployed.txt").exists()


def test_conditional_deploy_takes_back_what_is_not_healthy(tmp_path: Path, work: Path) -> None:
    found = result(tmp_path, shipped("conditional-deploy"), inputs={**DEPLOY, "health": "exit 4"})
    assert (found["deployed"], found["rolled_back"]) == (False, True)
    assert not (work / "deployed.txt").exists()


@pytest.mark.parametrize(("answer", "deployed"), [("yes", True), ("better not", False)])
def test_conditional_deploy_asks_before_production(
    answer: str, deployed: bool, tmp_path: Path, work: Path
) -> None:
    inputs = {**DEPLOY, "environment": "production"}
    found = result(tmp_path, shipped("conditional-deploy"), inputs=inputs, answers={"approve": answer})
    assert (found["deployed"], found["refused"]) == (deployed, not deployed)


def test_release_notes_list_the_commits_since_the_last_tag(tmp_path: Path, repository: Path) -> None:
    git(repository, "tag", "v1")
    for subject in ("Mend the door", "Paint it"):
        git(repository, "commit", "-q", "--allow-empty", "-m", subject)
    found = result(tmp_path, shipped("release-notes"), inputs={"version": "v2"})
    assert found["notes"].split("\n") == ["# v2", "", "", "- Paint it", "- Mend the door"]
    assert (found["previous"], found["first_release"], found["remembered"]) == ("v1", True, "v2")
    assert (repository / "NOTES.md").read_text(encoding="utf-8") == found["notes"]


def test_release_notes_of_a_first_release_list_all(tmp_path: Path, repository: Path) -> None:
    found = result(tmp_path, shipped("release-notes"), inputs={"version": "v1"})
    assert found["notes"].endswith("- Begin")
    assert (found["previous"], found["complete"]) == ("", True)


def test_release_notes_are_not_written_where_git_fails(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    found = result(
        tmp_path, shipped("release-notes"), inputs={"version": "v1"}, env=("GIT_CEILING_DIRECTORIES",)
    )
    assert (found["complete"], found["remembered"], list(work.iterdir())) == (False, "", [])


def test_new_service_is_set_up_from_answers(tmp_path: Path, work: Path) -> None:
    answers = {"name": "billing", "owner": "team-pay", "go": "yes"}
    found = result(tmp_path, shipped("new-service"), answers=answers)
    assert (found["created"], found["valid_name"]) == (True, True)
    assert "Owned by team-pay." in (work / "services/billing/README.md").read_text(encoding="utf-8")


def test_new_service_leaves_a_service_alone_that_is_there_already(tmp_path: Path, work: Path) -> None:
    readme = work / "services/billing/README.md"
    readme.parent.mkdir(parents=True)
    readme.write_text("Ours.\n", encoding="utf-8")
    reply = run(tmp_path, shipped("new-service"), answers={"name": "billing"})
    assert reply["result"]["valid_name"] is False
    assert readme.read_text(encoding="utf-8") == "Ours.\n"


def test_new_service_asks_no_further_after_a_wrong_name(tmp_path: Path, work: Path) -> None:
    reply = run(tmp_path, shipped("new-service"), answers={"name": "No Name"})
    assert reply["result"] == {"created": False, "valid_name": False, "readme": ""}
