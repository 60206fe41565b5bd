"""Documents that call each other: what is open counts as it stands there, saved or not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lsp.editor import Editor, position

CALLER = """\
name: caller
version: "1.0.0"
steps:
  - {id: go, type: call, workflow: called, with: {target: x}}
"""
CALLED = """\
name: called
version: "1.0.0"
inputs:
  target: {type: string, required: true}
steps:
  - {id: show, type: return, value: "{{ inputs.target }}"}
"""


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows" / "called.yaml").write_text(CALLED, encoding="utf-8")
    opened = Editor(tmp_path)
    yield opened
    opened.close()


def test_a_change_that_is_not_saved_counts_for_the_documents_that_call_it(editor: Editor) -> None:
    assert editor.open("workflows/caller.yaml", CALLER) == []
    editor.forget("workflows/caller.yaml")
    editor.open("workflows/called.yaml", CALLED)
    assert editor.found("workflows/caller.yaml") == []
    editor.forget("workflows/caller.yaml")
    assert editor.open("workflows/called.yaml", CALLED.replace("target", "where")) == []
    assert {one.code for one in editor.found("workflows/caller.yaml")} == {"WF109"}
    editor.forget("workflows/caller.yaml")
    editor.close_text("workflows/called.yaml")
    assert editor.found("workflows/caller.yaml") == []  # On disk it is as it was.


def test_a_document_that_was_never_saved_can_be_called_and_gone_to(editor: Editor) -> None:
    fresh, calling = CALLED.replace("name: called", "name: fresh"), CALLER.replace("called", "fresh")
    assert [one.code for one in editor.open("workflows/caller.yaml", calling)] == ["WF111"]
    editor.forget("workflows/caller.yaml")
    editor.open("workflows/fresh.yaml", fresh)
    assert editor.found("workflows/caller.yaml") == []
    here = position(calling, "workflow: fresh", 12)
    assert editor.define("workflows/caller.yaml", here) == [("fresh.yaml", 1)]


def test_a_workflow_that_is_only_on_disk_is_gone_to(editor: Editor) -> None:
    editor.open("workflows/caller.yaml", CALLER)
    assert editor.define("workflows/caller.yaml", position(CALLER, "workflow: called", 12)) == [
        ("called.yaml", 1)
    ]


TESTS = """\
tests:
  - {name: what is given is shown, inputs: {target: here}, expect: {result: here}}
"""


def test_a_test_file_is_checked_against_its_workflow_as_both_are_typed(editor: Editor) -> None:
    assert editor.open("workflows/called.test.yaml", TESTS) == []
    editor.forget("workflows/called.test.yaml")
    [found] = editor.open("workflows/called.test.yaml", TESTS.replace("target: here", "targt: here"))[:1]
    assert (found.code, found.range.start.line, found.range.start.character) == ("WF120", 1, 11)
    editor.forget("workflows/called.test.yaml")
    assert editor.open("workflows/called.test.yaml", TESTS) == []
    editor.forget("workflows/called.test.yaml")
    editor.open("workflows/called.yaml", CALLED.replace("target", "where"))
    assert {one.code for one in editor.found("workflows/called.test.yaml")} == {"WF119", "WF120"}


def test_a_test_file_that_is_no_yaml_has_that_finding_and_nothing_breaks(editor: Editor) -> None:
    assert [one.code for one in editor.open("workflows/called.test.yaml", "tests: [")] == ["WF001"]
    assert editor.complete("workflows/called.test.yaml", position("tests: [", "[", 1)) == {}


IMPORTING = """\
name: "sweep:files"
version: "1.0.0"
description: Sweeps files with a task of another file.
imports: [shared/tasks.yaml]
default_state: {raw: {files: [a]}}
steps:
  - {id: sweep, type: parallel_foreach, items: "{{ files }}", sub_agent_task: sweep_one}
"""
TASKS = """\
sub_agent_tasks:
  sweep_one:
    inputs: {file: {type: string, required: true}}
    prompt_template: "Sweep {{ file }}."
"""


def test_an_import_that_is_not_saved_counts_as_it_is_typed(editor: Editor) -> None:
    main, shared = "workflows/sweep.yaml", "workflows/shared/tasks.yaml"
    assert "WF117" in {one.code for one in editor.open(main, IMPORTING)}
    editor.forget(main)
    editor.open(shared, TASKS)  # Neither of the files is on disk.
    assert editor.found(main) == []
    editor.forget(main)
    editor.open(shared, TASKS.replace("sweep_one", "sweep_all"))
    assert "WF102" in {one.code for one in editor.found(main)}
    editor.forget(main)
    editor.close_text(shared)
    assert "WF117" in {one.code for one in editor.found(main)}


def test_an_import_that_is_only_typed_finds_its_file_on_disk(editor: Editor) -> None:
    main, shared = "workflows/sweep.yaml", editor.folder / "workflows" / "shared" / "tasks.yaml"
    shared.parent.mkdir()
    shared.write_text(TASKS, encoding="utf-8")
    (editor.folder / main).write_text(
        IMPORTING.replace("imports: [shared/tasks.yaml]\n", ""), encoding="utf-8"
    )
    assert editor.open(main, IMPORTING) == []


def test_an_unsaved_text_behind_a_link_out_of_the_project_is_not_imported(
    editor: Editor, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (editor.folder / "workflows" / "shared").symlink_to(outside)
    editor.open("workflows/shared/tasks.yaml", TASKS)
    assert "WF117" in {one.code for one in editor.open("workflows/sweep.yaml", IMPORTING)}
