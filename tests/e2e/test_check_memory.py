"""`wfc check` says the same as last time without looking, as long as it would be the same."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.e2e.command import SMALL, wfc, write
from wfc.cli import check as checking
from wfc.cli.check import command
from wfc.workspace import cache as memory
from wfc.workspace.files import UnreadableFileError

MISSPELT = SMALL.replace("command:", "comand:")
CALLER = """\
name: {name}
version: "1.0.0"
steps:
  - id: build
    type: call
    workflow: alpha
    output_to: built
  - id: done
    type: return
    needs_state: [built]
    value: "{{{{ state.built.build }}}}"
"""
VARIANTS = (SMALL, MISSPELT, SMALL.replace("name: {name}", "name: alpha"), CALLER, "name: [", "")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a finding, checked once."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    write(folder / "workflows", alpha="", beta=MISSPELT.format(name="beta"))
    (folder / "pyproject.toml").write_text("[tool.wfc]\n")
    status, out = check(folder)
    assert status == 1
    assert "WF004" in out
    return folder


def check(project: Path, *arguments: str) -> tuple[int, str]:
    out = io.StringIO()
    with chdir(project), redirect_stdout(out):
        try:
            status = command.main(list(arguments), standalone_mode=False)
        except click.UsageError as error:  # No workflow is left.
            return 2, str(error)
    return status, out.getvalue()


def looked(project: Path, *arguments: str) -> bool:
    """Whether any rule ran to find the answer."""
    calls: list[Any] = []
    work = checking.check_selection
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            checking, "check_selection", lambda *asked, **more: calls.append(asked) or work(*asked, **more)
        )
        check(project, *arguments)
    return bool(calls)


def answers(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "wfc").iterdir())


def test_the_second_time_it_says_the_same_without_looking(project: Path) -> None:
    first = check(project, "--no-cache")
    assert not looked(project)
    assert check(project) == first
    assert looked(project, "--no-cache")


def test_without_looking_it_imports_next_to_nothing(project: Path) -> None:
    first, second = (wfc("check", cwd=project, env={"PYTHONPROFILEIMPORTTIME": "1"}) for _ in range(2))
    assert first.out == second.out == check(project, "--no-cache")[1]
    assert first.status == second.status == 1
    imported = {line.rsplit("|", 1)[-1].strip() for line in second.err.splitlines()}
    assert "wfc.workspace.cache" in imported
    assert not imported & {"wfc.project", "wfc.rules", "wfc.findings", "yaml", "jinja2", "sqlite3"}


def test_each_question_has_its_own_answer_and_keeps_it(project: Path) -> None:
    questions = [(), ("-q",), ("--types",), ("--format", "json"), ("workflows/alpha.yaml",)]
    first = [check(project, *question) for question in questions]
    assert len(set(first)) == len(questions)
    assert not any(looked(project, *question) for question in questions)
    assert [check(project, *question) for question in questions] == first


def test_what_was_fixed_is_not_said_again(project: Path) -> None:
    (project / "workflows" / "beta.yaml").write_text(
        SMALL.format(name="beta").replace("command: make", "command: no")
    )
    before = check(project)
    assert "WF003" in before[1]
    status, out = check(project, "--fix", "-q")
    assert (status, out) == (0, "")
    assert check(project)[0] == 0


def test_it_touches_nothing_in_the_project(project: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in sorted(project.rglob("*"))}
    check(project)
    check(project)
    assert {path: path.stat().st_mtime_ns for path in sorted(project.rglob("*"))} == before


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_text("[nonsense"),
        lambda file: file.write_bytes(b"\xff\xfe\x00"),
        lambda file: file.write_text("[" * 100_000),
        lambda file: file.write_text(json.dumps({**json.loads(file.read_text()), "text": 5})),
        lambda file: file.write_text(
            json.dumps({**json.loads(file.read_text()), "key": "other", "text": "lies"})
        ),
        lambda file: file.write_text(json.dumps({**json.loads(file.read_text()), "text": "lies"})),
        lambda file: file.write_text(json.dumps({**json.loads(file.read_text()), "status": 0})),
        lambda file: (file.unlink(), file.mkdir()),
    ],
    ids=[
        "no JSON",
        "no text",
        "very deep",
        "another type",
        "another key",
        "another text",
        "another status",
        "a folder",
    ],
)
def test_a_damaged_answer_is_passed_over(project: Path, tmp_path: Path, damage: Any) -> None:
    expected = check(project, "--no-cache")
    for file in answers(tmp_path):
        damage(file)
    assert check(project) == expected
    assert check(project) == expected


def test_folders_that_go_before_the_project_are_part_of_the_question(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project / "workflows" / "mine", alpha="")
    write(project / "workflows", alpha="")
    assert check(project)[1].count("two workflows of the project are called `alpha`") == 2
    monkeypatch.setenv("WORKFLOWS_TEMPLATE_PATHS", str(project / "workflows" / "mine"))
    assert check(project) == check(project, "--no-cache")
    assert "two workflows" not in check(project)[1]
    monkeypatch.delenv("WORKFLOWS_TEMPLATE_PATHS")
    assert check(project) == check(project, "--no-cache")


def test_where_nothing_can_be_kept_it_just_looks(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert check(project) == check(project, "--no-cache")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "cache"))
    assert check(project) == check(project, "--no-cache")


def test_a_folder_for_memories_that_is_no_whole_path_does_not_count(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "kept")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    check(project)
    assert not (project / "kept").exists()
    assert list((tmp_path / "home" / ".cache" / "wfc").iterdir())


def test_a_file_that_changes_while_it_is_checked_leaves_no_answer(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project / "workflows", alpha=MISSPELT.format(name="alpha"))
    work = checking.check_selection

    def meanwhile(*asked: Any, **more: Any) -> Any:
        found = work(*asked, **more)
        write(project / "workflows", alpha="")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(checking, "check_selection", meanwhile)
        assert "alpha.yaml" in check(project)[1]
    assert "alpha.yaml" not in check(project)[1]


def test_a_workflow_of_the_project_that_cannot_be_read_and_that_nobody_calls_is_no_matter(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = memory.read_bytes

    def read(path: Path, config: Any) -> bytes:
        if path.name == "alpha.yaml":
            raise UnreadableFileError("can't read it")
        return whole(path, config)

    monkeypatch.setattr(memory, "read_bytes", read)
    assert check(project, "workflows/beta.yaml") == check(project, "workflows/beta.yaml", "--no-cache")


def test_only_so_many_answers_are_kept(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_MOST_FILES", 3)
    for form in ("text", "json", "github", "sarif"):
        check(project, "-q", "--format", form)
    assert len(answers(tmp_path)) == 3
    assert not looked(project, "-q", "--format", "sarif")


# -- over any changes ----------------------------------------------------------

NAMES = st.sampled_from(["alpha", "beta", "gamma"])
SETTINGS = ("[tool.wfc]\n", '[tool.wfc]\nignore = ["WF103"]\n', "[tool.wfc.limits]\nsteps = 1\n", "")
QUESTIONS = ((), ("-q",), ("--format", "json"), ("--types",), ("workflows/beta.yaml",), ("workflows",))
EDITS = st.one_of(
    st.tuples(st.just("write"), NAMES, st.sampled_from(VARIANTS)),
    st.tuples(st.just("remove"), NAMES, st.none()),
    st.tuples(st.just("settings"), st.none(), st.sampled_from(SETTINGS)),
    st.tuples(st.just("run"), NAMES, st.sampled_from(["build@1", "gone@2"])),
    st.tuples(st.just("no runs"), st.none(), st.none()),
)


def edit(project: Path, kind: str, name: str | None, what: str | None) -> None:
    store = project / ".wfc" / "state.db"
    match kind:
        case "write":
            write(project / "workflows", **{str(name): str(what).format(name=name) or "\n"})
        case "remove":
            (project / "workflows" / f"{name}.yaml").unlink(missing_ok=True)
        case "settings":
            (project / "pyproject.toml").write_text(str(what))
        case "run":
            store.parent.mkdir(exist_ok=True)
            connection = sqlite3.connect(store)
            with connection:
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS runs (key, id, workflow, task, agent, pending, status, parent)"
                )
                row = (1, "r1", name, None, None, what, "running", None)
                connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            connection.close()
        case "no runs":
            store.unlink(missing_ok=True)


def test_a_run_that_waits_in_a_step_that_is_gone_is_noticed(project: Path) -> None:
    assert "WF703" not in check(project)[1]
    edit(project, "run", "alpha", "gone@2")
    assert "WF703" in check(project)[1]
    edit(project, "no runs", None, None)
    assert "WF703" not in check(project)[1]


@pytest.fixture(scope="module")
def memories() -> Iterator[Path]:
    """One memory for all examples: what one of them left must not deceive another."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", folder)
        yield Path(folder)


@settings(max_examples=12)
@given(st.lists(st.tuples(EDITS, st.sampled_from(QUESTIONS)), min_size=3, max_size=6))
def test_over_any_changes_the_answer_is_what_looking_gives(memories: Path, changes: list[Any]) -> None:
    project = memories / "project"
    shutil.rmtree(project, ignore_errors=True)
    write(project / "workflows", alpha="", beta="")
    edit(project, "settings", None, SETTINGS[0])
    os.environ.pop("WFC_STATE", None)
    for change, question in changes:
        edit(project, *change)
        if not (project / "workflows" / "beta.yaml").exists():
            question = ()
        assert check(project, *question) == check(project, *question, "--no-cache"), change
