"""Tasks of other files: which files can be imported, what is reported, and that a change of them is noticed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.command import wfc as run_wfc
from tests.reactive.support import HEAD
from wfc.checker import check_project
from wfc.compiler import compile_project
from wfc.findings import Diagnostic
from wfc.workspace.files import select
from wfc.workspace.loading import load_project

STEPS = """\
default_state: {raw: {files: [a.txt]}}
steps:
  - {id: all, type: parallel_foreach, items: "{{ files }}", sub_agent_task: show}
"""


def task(name: str, command: str = "cat") -> str:
    return (
        f"  {name}:\n    inputs: {{file: {{type: string}}}}\n    steps:\n"
        f'      - {{id: look, type: shell_command, command: "{command} {{{{ shquote(file) }}}}"}}\n'
    )


LIBRARY = f"sub_agent_tasks:\n{task('show')}{task('spare', 'wc')}"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a workflow `workflows/read.yaml` that imports `shared/tasks.yaml`."""
    root = tmp_path / "project"
    put(tmp_path / "outside.yaml", LIBRARY)
    put(root / "pyproject.toml", "[tool.wfc]\n")
    put(root / "workflows/read.yaml", workflow("[shared/tasks.yaml]"))
    put(root / "workflows/shared/tasks.yaml", LIBRARY)
    monkeypatch.chdir(root)
    return root


def put(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def workflow(imports: str, rest: str = STEPS) -> str:
    return f"{HEAD}imports: {imports}\n{rest}"


def findings(*paths: str) -> list[Diagnostic]:
    loaded, _ = load_project(select(paths))
    return check_project(loaded)


def compiled() -> str:
    """The module of the workflow."""
    loaded, _ = load_project(select(()))
    made = compile_project(loaded, {file: file.source.path for file in loaded.files}).modules
    return next(one.text for one in made if one.file_name == "case_one.py")


def wfc(*words: str) -> tuple[int, str]:
    done = run_wfc(*words, cwd=Path.cwd())
    return done.status, done.out + done.err


# Files that can be imported.

GOOD = {
    "beside the workflow": ("[shared/tasks.yaml]", {}),
    "a list in lines": ("\n  - shared/tasks.yaml # the tasks", {}),
    "in quotes": ("\n  - 'shared/tasks.yaml'", {}),
    "the other ending": ("[shared/more.yml]", {"shared/more.yml": LIBRARY}),
    "a name with spaces and a colon": ("\n  - my own:tasks.yaml", {"my own:tasks.yaml": LIBRARY}),
    "a way up inside the project": ("[../lib/tasks.yaml]", {"../lib/tasks.yaml": LIBRARY}),
    "imports of an import": (
        "[first.yaml]",
        {"first.yaml": "imports: [shared/tasks.yaml]\nsub_agent_tasks: {}\n"},
    ),
    "two ways to one file": (
        "[first.yaml, shared/tasks.yaml]",
        {"first.yaml": "imports: [shared/tasks.yaml]\nsub_agent_tasks: {}\n"},
    ),
    "a whole workflow": (
        "[other.yaml]",
        {"other.yaml": HEAD.replace("one", "two") + STEPS + LIBRARY.split("  spare")[0]},
    ),
}


@pytest.mark.parametrize("case", GOOD)
def test_a_task_of_an_imported_file_runs_like_an_own_one(project: Path, case: str) -> None:
    imports, files = GOOD[case]
    for name, text in files.items():
        put(project / "workflows" / name, text)
    put(project / "workflows/read.yaml", workflow(imports))
    assert findings() == []
    module = compiled()
    assert "cat {{ shquote(inputs.file) }}" in module
    # Only tasks that a step runs are in the module.
    assert "wc {{" not in module


def test_a_task_can_run_an_imported_task_and_folders_of_workflows_are_searched(project: Path) -> None:
    outer = """\
sub_agent_tasks:
  outer:
    inputs: {file: {type: string}}
    steps:
      - {id: each, type: parallel_foreach, items: "{{ [file] }}", sub_agent_task: show}
"""
    put(project / ".aromcp/workflows/outer.yaml", "imports: [shared/tasks.yaml]\n" + outer)
    put(project / "workflows/read.yaml", workflow("[outer.yaml]", STEPS.replace("show", "outer")))
    assert [str(one) for one in findings() if one.severity == "error"] == []
    assert "cat {{ shquote(inputs.file) }}" in compiled()


# Wrong inputs: the imports, other files, and the code and a part of the message of a finding.

LOOP = "imports: [b.yaml]\nsub_agent_tasks: {}\n"
BAD: dict[str, tuple[str, dict[str, str | bytes], str, str]] = {
    "a missing file": ("[shared/task.yaml]", {}, "WF117", "there is no file `shared/task.yaml`"),
    "a missing folder": ("[gone/tasks.yaml]", {}, "WF117", "there is no file"),
    "a folder": ("[shared]", {}, "WF117", "not a YAML file"),
    "a folder with the name of a file": ("[d.yaml]", {"d.yaml/x.txt": ""}, "WF117", "there is no file"),
    "another ending": ("[../pyproject.toml]", {}, "WF117", "not a YAML file"),
    "no name": ('[""]', {}, "WF117", "not a YAML file"),
    "a way out of the project": ("[../../outside.yaml]", {}, "WF117", "outside the project"),
    "a way out and in again": ("[../../project/../outside.yaml]", {}, "WF117", "outside the project"),
    "an absolute path": ("[/etc/outside.yaml]", {}, "WF117", "must be relative"),
    "a NUL": ('["a\\0.yaml"]', {}, "WF117", "unusable file"),
    "a template": ('["{{ inputs.x }}.yaml"]', {}, "WF117", "there is no file"),
    "an address": ('["https://example.com/tasks.yaml"]', {}, "WF117", "there is no file"),
    "no YAML": ("[bad.yaml]", {"bad.yaml": "sub_agent_tasks: {a: [\n"}, "WF117", "can't be read as YAML"),
    "a list": ("[bad.yaml]", {"bad.yaml": "- a\n"}, "WF117", "not a mapping"),
    "an empty file": ("[bad.yaml]", {"bad.yaml": ""}, "WF117", "not a mapping"),
    "no tasks": ("[bad.yaml]", {"bad.yaml": "tasks: {}\n"}, "WF117", "neither `sub_agent_tasks` nor"),
    "no text": ("[bad.yaml]", {"bad.yaml": b"sub_agent_tasks: {a: \xff\xfe}\n"}, "WF117", "not UTF-8"),
    "too deep": ("[bad.yaml]", {"bad.yaml": "a: " + "[" * 5000}, "WF117", "can't be read as YAML"),
    "itself": ("[read.yaml]", {}, "WF108", "`workflows/read.yaml` -> `workflows/read.yaml`"),
    "a cycle": ("[a.yaml]", {"a.yaml": LOOP, "b.yaml": LOOP.replace("b.", "a.")}, "WF108", "each other"),
    "a cycle back to the workflow": (
        "[a.yaml]",
        {"a.yaml": LOOP.replace("b.", "read.")},
        "WF108",
        "each other",
    ),
    "a task twice": ("[shared/tasks.yaml, a.yaml]", {"a.yaml": LIBRARY}, "WF101", "the name `show`"),
    "a file twice": ("[shared/tasks.yaml, ./shared/tasks.yaml]", {}, "WF009", "imported already"),
    "a missing task": ("[a.yaml]", {"a.yaml": f"sub_agent_tasks:\n{task('shown')}"}, "WF102", "`show`"),
    "a broken task": (
        "[a.yaml]",
        {"a.yaml": LIBRARY.replace("shquote(file)", "shquote(fil)")},
        "WF202",
        "there is no `fil` here",
    ),
    "no list": ("shared/tasks.yaml", {}, "WF006", "expected"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_imported_is_reported(project: Path, case: str) -> None:
    imports, files, code, part = BAD[case]
    for name, text in files.items():
        put(project / "workflows" / name, text)
    put(project / "workflows/read.yaml", workflow(imports))
    found = findings("workflows/read.yaml")
    assert not any(one.is_crash for one in found)
    assert [one for one in found if one.code == code and part in one.message], [one.message for one in found]


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_link_that_leads_out_of_the_project_is_not_followed(project: Path, is_folder: bool) -> None:
    link = project / "workflows/link"
    os.symlink(
        project.parent if is_folder else project.parent / "outside.yaml",
        link if is_folder else f"{link}.yaml",
    )
    name = "link/outside.yaml" if is_folder else "link.yaml"
    put(project / "workflows/read.yaml", workflow(f"[{name}]"))
    assert "WF117" in [one.code for one in findings("workflows/read.yaml")]


def test_an_own_task_must_not_have_the_name_of_an_imported_one(project: Path) -> None:
    put(project / "workflows/read.yaml", workflow("[shared/tasks.yaml]", STEPS + LIBRARY))
    twice = [one for one in findings() if one.code == "WF101"]
    assert [note.span.source.path for note in twice[0].notes if note.span] == [
        "workflows/read.yaml",
        "workflows/shared/tasks.yaml",
    ]


# Changes.


def test_a_change_of_an_imported_file_makes_the_module_stale_and_is_checked(project: Path) -> None:
    library = project / "workflows/shared/tasks.yaml"
    assert wfc("compile")[0] == wfc("compile", "--check")[0] == wfc("check")[0] == 0
    put(library, LIBRARY.replace("cat", "head"))
    status, said = wfc("compile", "--check")
    assert (status, "WF701" in said) == (1, True)
    assert wfc("check")[0] == 0
    put(library, LIBRARY.replace("shquote(file)", "shquote(fil)"))
    # Twice: the second answer may come from the cache.
    for _ in range(2):
        status, said = wfc("check")
        assert (status, "workflows/shared/tasks.yaml:5" in said) == (1, True)
    # A fix would be applied to the workflow, so that none is offered.
    assert "fixable" not in said
    library.unlink()
    status, said = wfc("check")
    assert (status, "WF117" in said) == (1, True)
    put(library, LIBRARY)
    assert wfc("check")[0] == wfc("compile", "--check")[0] == 0


def test_the_line_map_has_no_lines_of_another_file(project: Path) -> None:
    wfc("compile")
    said = (project / "generated/case_one.map.json").read_text()
    assert '"show": {}' in said
    assert '"all": 7' in said
