"""Graphs of blocks in an editor, and what changes outside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from tests.lsp.editor import Editor, position

GRAPH = """\
name: ship
inputs:
  target: {type: str, description: Where to., default: staging}
blocks:
  - id: build
    type: Shell
    inputs:
      command: make
    outputs:
      size: {type: int, path: $SCRATCH/size}
  - id: note
    type: EchoBlock
    inputs: {message: "${inputs.target}"}
    condition: ${blocks.build.succeeded}
    depends_on: [build]
"""


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    (tmp_path / "workflows").mkdir()
    opened = Editor(tmp_path)
    yield opened
    opened.close()


def offered(editor: Editor, line: str, after: str) -> set[str]:
    """What is offered at the end of a line that stands below another."""
    text = GRAPH.replace(after, f"{after}{line}\n", 1)
    editor.change("workflows/ship.yaml", text)
    at = position(text, f"{after}{line}\n", len(after) + len(line))
    return set(editor.complete("workflows/ship.yaml", at))


def test_blocks_are_completed_and_explained_in_their_own_language(editor: Editor) -> None:
    assert editor.open("workflows/ship.yaml", GRAPH) == []
    below = "    type: EchoBlock\n"
    assert offered(editor, "    condition: ${", below) == {"inputs", "blocks", "metadata"}
    assert offered(editor, "    condition: ${inputs.", below) == {"target"}
    assert offered(editor, "    condition: ${blocks.", below) == {"build", "note"}
    assert {"succeeded", "skipped", "exit_code", "size"} <= offered(
        editor, "    condition: ${blocks.build.", below
    )
    assert offered(editor, "    condition: ${blocks.build.outputs.", below) == {
        *("exit_code", "stdout", "stderr", "size")
    }
    assert "start_time" in offered(editor, "    condition: ${metadata.", below)
    assert offered(editor, "    depends_on: [", below) == {"build", "note"}
    assert {"Shell", "CreateFile"} <= offered(editor, "    type: ", "  - id: note\n")
    assert offered(editor, "    ", below) == {"description", "outputs"} | {
        *("inputs", "condition", "depends_on")
    }
    assert {"working_dir", "timeout"} <= offered(editor, "      ", "      command: make\n")
    assert "author" in offered(editor, "", "name: ship\n")

    assert editor.open("workflows/ship.yaml", GRAPH + "\n") == []
    shell = editor.hover("workflows/ship.yaml", position(GRAPH, "type: Shell", 7))
    assert "exit_code" in shell
    assert "shquote" not in shell
    assert "`blocks.build`" in editor.hover("workflows/ship.yaml", position(GRAPH, "blocks.build", 8))
    assert "it ran" in editor.hover("workflows/ship.yaml", position(GRAPH, "succeeded", 2))
    assert editor.define("workflows/ship.yaml", position(GRAPH, "blocks.build", 8)) == [("ship.yaml", 5)]


def test_yaml_that_is_no_workflow_gets_no_completions(editor: Editor) -> None:
    assert editor.open("compose.yaml", "services:\n  web: {image: nginx}\n") == []
    assert editor.complete("compose.yaml", lsp.Position(2, 0)) == {}


def test_a_change_of_the_settings_or_of_another_file_is_seen(editor: Editor) -> None:
    text = (
        'name: a\nversion: "1.0.0"\ninputs:\n  unused: {type: string}\n'
        "steps:\n  - {id: x, type: call, workflow: b}\n"
    )
    assert codes(editor.open("workflows/a.yaml", text)) == {"WF111", "WF309"}
    settings = editor.folder / "pyproject.toml"
    settings.write_text('[tool.wfc]\nignore = ["WF309"]\n', encoding="utf-8")
    assert codes(editor.change_on_disk("pyproject.toml")) == {"WF111"}
    other = 'name: b\nversion: "1.0.0"\nsteps:\n  - {id: x, type: wait, duration_seconds: 1}\n'
    (editor.folder / "workflows" / "b.yaml").write_text(other, encoding="utf-8")
    assert codes(editor.change_on_disk("workflows/b.yaml")) == set()


def codes(found: list[lsp.Diagnostic]) -> set[object]:
    return {one.code for one in found}
