"""`check_files`: what is found, what the grant must cover, and what is never looked at."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from wfc_runtime.execute import Grant, execute, refusal_of
from wfc_runtime.execute.protected import Protected


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name in ("docs/a.md", "docs/deep/x/b.svg", "README.md", "flows/w/notes.md", "docs/[x].md", "ü b.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    (folder / "empty").mkdir()
    (tmp_path / "secret.md").write_text("x")
    (folder / "link.md").symlink_to(folder / "README.md")
    (folder / "out").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.md")
    return folder


def check(grant: Grant, paths: Any, **more: Any) -> dict[str, Any]:
    found = execute({"type": "check_files", "parameters": {"paths": paths, **more}}, grant)
    return found.get("error") or {name: found[name] for name in ("found", "missing")}


def test_files_folders_and_patterns_are_found_in_the_project_or_in_the_folder(project: Path) -> None:
    grant = Grant(project, read=("**",))
    there = [
        "docs/a.md",
        "docs",
        "docs/",
        "README.md#Usage",
        "docs/*.md",
        "docs/**/*.svg",
        "**/b.svg",
        "ü b.md",
    ]
    there += ["docs/[x].md", "doc?/a.md", "./docs/a.md", "docs/deep/../a.md", "*"]
    gone = [
        "docs/b.md",
        "empty",
        "docs/*.svg",
        "docs/a.md/x",
        "docs/**/*.png",
        "none/*",
        "link.md",
        "pipe.md",
    ]
    gone += ["*.svg", "notes.md", "docs/[y].md"]
    found = check(grant, [*there, *gone, "docs/a.md"])
    assert found == {"found": [one.partition("#")[0] for one in there], "missing": gone}
    assert check(grant, ["notes.md", "*.md"], folder="flows/w") == {
        "found": ["notes.md", "*.md"],
        "missing": [],
    }
    assert check(Grant.nothing(), []) == {"found": [], "missing": []}


@pytest.mark.parametrize(
    "path",
    ["../secret.md", "out/secret.md", "../*.md", "out/*.md", "/etc/passwd", "/etc/*", "docs/../../secret.md"],
)
def test_nothing_outside_of_the_project_is_looked_at(project: Path, path: str) -> None:
    for grant in (Grant(project, read=("**",)), Grant(project, commands=None, more_roots=(project.parent,))):
        assert check(grant, ["README.md", path])["code"] == "refused"


def test_the_store_of_the_server_is_not_looked_at(project: Path) -> None:
    (project / "runs.db-wal").write_text("x")
    grant = Grant(project, read=("**",), protected=Protected(stores=(project / "runs.db",)))
    assert check(grant, ["runs.db-wal"])["code"] == "refused"
    assert check(grant, ["*.db-wal"]) == {"found": [], "missing": ["*.db-wal"]}


@pytest.mark.parametrize(
    ("patterns", "paths", "is_left_to_the_agent"),
    [
        ((), ["README.md"], True),
        (("docs/**",), ["docs/a.md", "docs/*.md", "docs/**/*.svg"], False),
        (("docs/**",), ["docs/a.md", "README.md"], True),
        (("docs/**",), ["*.md"], True),
        (("docs/a*.md",), ["docs/*.md"], True),
        (("docs/a*.md",), ["docs/a*.md"], False),
        (("*.md",), ["README.md#Usage"], False),
    ],
)
def test_what_the_grant_does_not_cover_is_left_to_the_agent(
    project: Path, patterns: tuple[str, ...], paths: list[str], is_left_to_the_agent: bool
) -> None:
    grant = Grant(project, commands=("ls *",), read=patterns)
    why = refusal_of({"type": "check_files", "parameters": {"paths": paths}}, grant)
    assert bool(why) == is_left_to_the_agent


@pytest.mark.parametrize("paths", ["a.md", None, [1], [""], ["#x"], ["a\0b"], ["a"] * 1_001, {"a": 1}])
def test_what_is_no_list_of_paths_fails_the_step(project: Path, paths: Any) -> None:
    if paths == ["a"] * 1_001:
        paths = [f"a{number}" for number in range(1_001)]
    assert check(Grant(project, commands=None), paths)["code"] == "execution"
