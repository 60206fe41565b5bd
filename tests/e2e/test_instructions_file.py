"""`instructions_file`: its text is part of the module, of drift and of everything that is remembered about a check."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.command import wfc
from tests.support import check
from wfc_runtime.registry import Registry

WORKFLOW = """\
name: review
version: "1.0.0"
steps:
  - {id: look, type: delegate, instructions_file: prompts/review.md, instructions: "Topic: {{ inputs.topic }}"}
inputs: {topic: {type: string, required: true}}
"""
TEXT = "Review it.\n\nWrite `{{ state.x }}` and {% this %} as they are.\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "workflows/prompts").mkdir(parents=True)
    (folder / "pyproject.toml").write_text("[tool.wfc]\n")
    (folder / "workflows/review.yaml").write_text(WORKFLOW)
    (folder / "workflows/prompts/review.md").write_text(TEXT)
    return folder


def test_a_changed_file_is_drift_and_is_checked_again(project: Path) -> None:
    assert wfc("compile", cwd=project).status == 0
    assert "Write `{{ state.x }}` and {% this %}" in (project / "generated/review.py").read_text()
    for _ in range(2):
        assert wfc("compile", "--check", cwd=project).status == 0
        assert wfc("check", cwd=project).status == 0
    prompt = project / "workflows/prompts/review.md"
    prompt.write_text("Review it twice.\n")
    drift = wfc("compile", "--check", cwd=project)
    assert drift.status == 1
    assert "WF701" in drift.out
    assert wfc("compile", cwd=project).status == 0
    assert wfc("compile", "--check", cwd=project).status == 0
    # Line ends of another system make the same module.
    prompt.write_bytes(b"\xef\xbb\xbfReview it twice.\r\n")
    assert wfc("compile", "--check", cwd=project).status == 0
    prompt.unlink()
    gone = wfc("check", cwd=project)
    assert gone.status == 1
    assert "WF117" in gone.out
    prompt.write_text("Review it twice.\n")
    assert wfc("check", cwd=project).status == 0


@pytest.mark.parametrize(
    "spelling",
    [
        '"prompts/review.md"',
        "&p prompts/review.md",
        ">-\n      prompts/review.md",
        "'prompts/review.md' # comment",
    ],
)
def test_every_spelling_of_the_name_is_followed(project: Path, spelling: str) -> None:
    text = f"""\
name: review
version: "1.0.0"
steps:
  - id: look
    type: delegate
    instructions_file: {spelling}
"""
    (project / "workflows/review.yaml").write_text(text)
    assert wfc("check", cwd=project).out.startswith("checked 1 workflow")
    (project / "workflows/prompts/review.md").unlink()
    assert "WF117" in wfc("check", cwd=project).out


def test_the_text_comes_before_the_instructions_and_is_never_rendered(project: Path) -> None:
    wfc("compile", cwd=project)
    machine = Registry(project / "generated").find("review").workflow.machine
    (action,) = machine.simulate({"topic": "locks"}).pending.values()
    assert action.parameters["instructions"] == f"{TEXT.strip()}\n\nTopic: locks"


def test_links_and_special_files_are_refused(project: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("secret")
    (project / ".git").mkdir()
    (project / ".git/note.md").write_text("secret")
    prompt = project / "workflows/prompts/review.md"
    prompt.unlink()
    for target, said in (
        (tmp_path / "outside.md", "is outside the project"),
        (project / ".git/note.md", "is not a visible text file"),
        (project / "nowhere.md", "there is no file"),
    ):
        prompt.symlink_to(target)
        found = wfc("check", cwd=project)
        assert said in found.out
        assert "secret" not in found.out
        prompt.unlink()
    os.mkfifo(prompt)
    assert "is not a file" in wfc("check", cwd=project).out
    prompt.unlink()
    for content, said in ((b"\xff\xfe", "not UTF-8"), (b"a\0b", "is not text"), (b"x" * 70_000, "64 KiB")):
        prompt.write_bytes(content)
        assert said in wfc("check", cwd=project).out
    # A link inside the project is a file like any other.
    prompt.unlink()
    (project / "shared.md").write_text("Review it.")
    prompt.symlink_to(project / "shared.md")
    assert wfc("check", cwd=project).status == 0


def test_staged_files_are_checked_with_the_staged_text(project: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=project, check=True, capture_output=True)

    wfc("compile", cwd=project)
    git("init", "-q")
    git("add", ".")
    (project / "workflows/prompts/review.md").unlink()
    assert wfc("compile", "--check", "--staged", cwd=project).status == 0
    git("rm", "-q", "--cached", "workflows/prompts/review.md")
    assert "WF117" in wfc("check", "--staged", cwd=project).out


def test_a_text_from_elsewhere_can_name_no_file(project: Path) -> None:
    assert [one.code for one in check(WORKFLOW)] == ["WF117"]
