"""`wfc compile --check` looks again only when something has changed: quick, and never wrong."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import SMALL, wfc, write
from wfc.cli import compile as compiling
from wfc.cli.compile import command

CALLER = """\
name: caller
version: "1.0.0"
steps:
  - id: build
    type: call
    workflow: alpha
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which nothing has changed since it was compiled and compared."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    write(folder / "flows", alpha="", beta="", caller=CALLER)
    (folder / "pyproject.toml").write_text('[tool.wfc]\nworkflows = "flows"\ngenerated = "made"\n')
    assert run(folder) == (0, "made: wrote 3\n")
    assert check(folder) == (0, "made: 3 unchanged\n")
    return folder


def run(project: Path, *arguments: str) -> tuple[int, str]:
    out = io.StringIO()
    with chdir(project), redirect_stdout(out):
        status = command.main(list(arguments), standalone_mode=False)
    return status, out.getvalue()


def check(project: Path, *arguments: str) -> tuple[int, str]:
    return run(project, "--check", *arguments)


def looked(project: Path, *arguments: str) -> bool:
    """Whether anything was compiled to find the answer."""
    calls: list[Any] = []
    work = compiling.compile_selection
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "compile_selection", lambda task: calls.append(task) or work(task))
        check(project, *arguments)
    return bool(calls)


def test_the_second_time_it_says_the_same_without_looking(project: Path) -> None:
    assert not looked(project)
    assert check(project) == (0, "made: 3 unchanged\n")


def test_without_looking_it_imports_next_to_nothing(project: Path, tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPROFILEIMPORTTIME": "1"}
    first, second = (wfc("compile", "--check", cwd=project, env=env) for _ in range(2))
    assert first.out == second.out == "made: 3 unchanged\n"
    imported = {line.rsplit("|", 1)[-1].strip() for line in second.err.splitlines()}
    assert "wfc.workspace.cache" in imported
    assert not imported & {"wfc.project", "wfc.rules", "wfc.compiler", "yaml", "jinja2"}


def test_it_looks_again_when_told_to(project: Path) -> None:
    assert looked(project, "--no-cache")


def test_it_touches_nothing_in_the_project(project: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in sorted(project.rglob("*"))}
    check(project)
    assert {path: path.stat().st_mtime_ns for path in sorted(project.rglob("*"))} == before


def change_a_workflow(project: Path) -> None:
    write(project / "flows", alpha=SMALL.format(name="alpha").replace("make", "make all"))


def break_a_workflow(project: Path) -> None:
    write(project / "flows", alpha="name: alpha\n")


def add_a_workflow(project: Path) -> None:
    write(project / "flows", gamma="")


def add_a_workflow_of_the_same_name(project: Path) -> None:
    write(project / "flows" / "deeper", again=SMALL.format(name="alpha"))


def remove_a_workflow(project: Path) -> None:
    (project / "flows" / "beta.yaml").unlink()


def rename_a_workflow_file(project: Path) -> None:
    (project / "flows" / "beta.yaml").rename(project / "flows" / "delta.yaml")


def edit_a_module(project: Path) -> None:
    module = project / "made" / "alpha.py"
    module.write_text(module.read_text() + "# mine\n")


def remove_a_module(project: Path) -> None:
    (project / "made" / "alpha.py").unlink()


def remove_all_modules(project: Path) -> None:
    shutil.rmtree(project / "made")


def leave_an_orphan(project: Path) -> None:
    module = (project / "made" / "alpha.py").read_text().replace("flows/alpha.yaml", "flows/gone.yaml")
    (project / "made" / "gone.py").write_text(module)


def lower_a_limit(project: Path) -> None:
    with (project / "pyproject.toml").open("a") as file:
        file.write("[tool.wfc.limits]\nsource_bytes = 50\n")


@pytest.mark.parametrize(
    "change",
    [
        change_a_workflow,
        break_a_workflow,
        add_a_workflow,
        add_a_workflow_of_the_same_name,
        remove_a_workflow,
        rename_a_workflow_file,
        edit_a_module,
        remove_a_module,
        remove_all_modules,
        leave_an_orphan,
        lower_a_limit,
    ],
)
def test_whatever_changes_is_noticed(project: Path, change: Callable[[Path], None]) -> None:
    change(project)
    first, second = check(project), check(project)
    assert first[0] == 1
    assert first == second == check(project, "--no-cache"), "what is wrong is said each time"


def test_a_workflow_that_only_a_selected_one_calls_counts_too(project: Path) -> None:
    assert check(project, "flows/caller.yaml")[0] == 0
    assert not looked(project, "flows/caller.yaml")
    write(project / "flows", alpha=SMALL.format(name="renamed"))
    status, out = check(project, "flows/caller.yaml")
    assert status == 1
    assert "WF111" in out


def test_another_question_gets_its_own_answer(project: Path) -> None:
    assert check(project, "-q") == (0, "")
    assert '"findings": []' in check(project, "--format", "json")[1]
    assert check(project) == (0, "made: 3 unchanged\n")


def test_warnings_are_said_each_time(project: Path) -> None:
    write(project / "flows", alpha=SMALL.format(name="alpha").replace("id: build", "id: on"))
    run(project)
    first, second = check(project), check(project)
    assert first[0] == 0
    assert "warning[WF003 ambiguous-scalar]" in first[1]
    assert first == second
    assert not looked(project)


def test_a_memory_that_cannot_be_read_or_kept_is_no_failure(project: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for file in (cache / "wfc").iterdir():
        file.write_text("[nonsense")
    assert check(project) == (0, "made: 3 unchanged\n")
    shutil.rmtree(cache)
    cache.write_text("a file where the folder should be")
    assert check(project) == (0, "made: 3 unchanged\n")


def test_another_version_of_wfc_or_of_a_library_looks_again(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wfc.workspace import cache as memory
    from wfc.workspace.files import select

    monkeypatch.chdir(project)
    selection = select(())

    def key() -> str:
        return memory.Memory.of("?", memory.Snapshot.of(selection)).key

    before = key()
    assert key() == before
    changes = {
        "__version__": "99",
        "_libraries": lambda: ["jinja2-99.dist-info"],
        "_stamps": lambda folder: [f"{folder}/new.py"],
    }
    for name, other in changes.items():
        with monkeypatch.context() as changed:
            changed.setattr(memory, name, other)
            assert key() != before


READS = """
import os, sys
sys.addaudithook(lambda event, given: event == "open" and print("read", given[0], file=sys.stderr))
sys.argv = ["wfc", "compile", "--check", "--no-cache"]
from wfc.cli.main import main
main()
"""


def test_all_that_compiling_reads_of_the_project_is_part_of_the_key(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READS], cwd=project, capture_output=True, text=True, check=True
    )
    opened = {(project / line[5:]).resolve() for line in done.stderr.splitlines() if line.startswith("read ")}
    ours = {path for path in opened if path.is_relative_to(project.resolve()) and path.is_file()}
    expected = {*project.glob("flows/*.yaml"), *project.glob("made/*"), project / "pyproject.toml"}
    assert ours == {path.resolve() for path in expected}
