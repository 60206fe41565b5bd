"""Graphs of blocks in an editor, and what changes outside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from tests.lsp.editor import Editor, edited, position

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
    in_braces = {"inputs", "blocks", "metadata", "secrets", "tmp", "get", "render", "each"}
    assert offered(editor, '    condition: "{{', below) == in_braces
    assert offered(editor, '    description: "{{each.', below) == {"key", "value", "index"}
    assert offered(editor, '    condition: "{{not blocks.', below) == offered(
        editor, "    condition: ${blocks.", below
    )
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
        *("inputs", "condition", "depends_on", "retry"),
        *("for_each", "for_each_mode", "max_parallel", "continue_on_error"),
    }
    assert {"working_dir", "timeout"} <= offered(editor, "      ", "      command: make\n")
    assert "author" in offered(editor, "", "name: ship\n")
    retry = {"max_attempts", "delay_seconds", "backoff"}
    assert offered(editor, "    retry:\n      ", below) == retry
    assert offered(editor, "    retry:\n      max_attempts: 2\n      ", below) == retry - {"max_attempts"}
    assert offered(editor, "    depends_on:\n      - ", below) >= {"build"}
    assert offered(editor, "    depends_on:\n      - block: build\n        ", below) == {"required"}
    assert {"type", "default", "required"} <= offered(editor, "  more:\n    ", "inputs:\n")
    assert {"path", "validation"} <= offered(editor, "      more:\n        ", "    outputs:\n")

    assert editor.open("workflows/ship.yaml", GRAPH + "\n") == []
    shell = editor.hover("workflows/ship.yaml", position(GRAPH, "type: Shell", 7))
    assert "exit_code" in shell
    assert "shquote" not in shell
    assert "`blocks.build`" in editor.hover("workflows/ship.yaml", position(GRAPH, "blocks.build", 8))
    assert "it ran" in editor.hover("workflows/ship.yaml", position(GRAPH, "succeeded", 2))
    assert editor.define("workflows/ship.yaml", position(GRAPH, "blocks.build", 8)) == [("ship.yaml", 5)]
    tried = GRAPH.replace("      command: make\n", "      command: make\n    retry: {max_attempts: 3}\n")
    editor.change("workflows/ship.yaml", tried)
    assert "A command that fails is data" in editor.hover("workflows/ship.yaml", position(tried, "retry", 2))
    assert "The maximum number of attempts" in editor.hover(
        "workflows/ship.yaml", position(tried, "max_attempts", 2)
    )


NAMED = """\
name: ship
blocks:
  - id: @
    type: Shell
    inputs: {command: make}
  - id: test
    type: Shell
    inputs:
      command: |
        make test SIZE=${blocks.@.outputs.stdout}
    depends_on: [@]
  # ${blocks.build.succeeded} in a comment stays
  - id: note
    type: EchoBlock
    inputs: {message: "${blocks.@.stdout} ${blocks.build-all.stdout} ${blocks.test.exit_code}"}
    condition: ${blocks.@.succeeded} and ${blocks.test.exit_code} == 0
    depends_on:
      - {block: "@", required: false}
      - test
  - {id: build-all, type: Shell, inputs: {command: make all}}
outputs:
  built: {value: "${blocks.@.succeeded}", type: bool}
"""
WAITING = NAMED.replace("@", "build")


def test_a_block_is_renamed_wherever_it_is_waited_for_or_read(editor: Editor) -> None:
    editor.open("workflows/ship.yaml", WAITING)
    for number in range(NAMED.count("@")):
        before = "build".join(NAMED.split("@")[: number + 1])
        here = position(WAITING, before, len(before) + 2)
        assert editor.may_rename("workflows/ship.yaml", here)
        edits = editor.rename("workflows/ship.yaml", here, "compile")
        assert edited(WAITING, edits) == NAMED.replace("@", "compile")


SHARED = """\
name: ship
blocks:
  - {id: build, type: Shell, inputs: {command: make}}
  - {id: a, type: EchoBlock, inputs: {message: &text "${blocks.build.stdout}"}, depends_on: &build [build]}
  - {id: b, type: EchoBlock, inputs: {message: *text}, depends_on: *build}
"""


def test_what_an_alias_repeats_is_changed_once(editor: Editor) -> None:
    editor.open("workflows/ship.yaml", SHARED)
    edits = editor.rename("workflows/ship.yaml", position(SHARED, "id: build", 5), "compile")
    renamed = SHARED.replace("id: build", "id: compile").replace("[build]", "[compile]")
    assert edited(SHARED, edits) == renamed.replace("blocks.build", "blocks.compile")


def test_the_places_of_a_block_are_found_and_its_new_name_must_be_free_and_a_name(editor: Editor) -> None:
    editor.open("workflows/ship.yaml", WAITING)
    assert editor.references("workflows/ship.yaml", position(WAITING, "- test", 3)) == [6, 15, 16, 19]
    here = position(WAITING, "id: build", 5)
    with pytest.raises(JsonRpcException, match="there is a block `test` already"):
        editor.rename("workflows/ship.yaml", here, "test")
    with pytest.raises(JsonRpcException, match="`a b` is not a valid name for a block"):
        editor.rename("workflows/ship.yaml", here, "a b")


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
