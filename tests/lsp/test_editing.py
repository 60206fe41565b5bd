"""`wfc lsp`, asked by a real client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lsprotocol import types as lsp

from tests.e2e.command import wfc
from tests.lsp.editor import Editor, edited, position

SHIP = """\
name: ship
version: "1.0.0"
description: "Ship it \U0001f680"
inputs:
  target:
    type: string
    required: true
    description: Where it goes.
initial_state: {tries: 0}
steps:
  - id: build
    type: shell
    command: "make \U0001f680 {{ inputs.target | shquote }}"
    output_to: built
  - id: count
    type: set_state
    needs_state: [tries, built]
    updates:
      tries: "{{ state.tries + 1 }}"
      label: "{{ tries }} tries, \U0001f680 {{ state.built.exit_code }}"
  - id: again
    type: goto
    needs_state: [built]
    when: "{{ state.built.exit_code != 0 }}"
    target: build
    max_iterations: 3
  - id: audit
    type: foreach
    items: ["a", "b"]
    task: audit_one
    output_to: audits
  - id: call-other
    type: call
    workflow: other
  - id: done
    type: return
    needs_state: [audits, label]
    value: "{{ state.label }} {{ state.audits | length }}"
tasks:
  audit_one:
    description: Audit one module.
    inputs:
      module: {type: string, required: true}
    steps:
      - id: look
        type: shell
        command: "wc {{ inputs.module | shquote }}"
        output_to: built
      - id: size
        type: return
        needs_state: [built]
        value: "{{ state.built.exit_code }} {{ state.built.stdout }}"
"""
OTHER = """\
name: other
version: "1.0.0"
steps:
  - id: only
    type: shell
    command: make
"""


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    folder = tmp_path_factory.mktemp("lsp")
    (folder / "pyproject.toml").write_text("[tool.wfc]\nworkflows = 'flows'\n")
    (folder / "flows").mkdir()
    (folder / "flows" / "other.yaml").write_text(OTHER)
    (folder / "flows" / "ship.yaml").write_text(SHIP, encoding="utf-8")
    editor = Editor(folder)
    yield editor
    editor.close()


@pytest.fixture
def ship(editor: Editor) -> Editor:
    assert editor.open("flows/ship.yaml", SHIP) == []
    return editor


def test_findings_appear_as_one_types_and_go_when_mended(ship: Editor) -> None:
    wrong = SHIP.replace("state.built.exit_code != 0", "state.built.exit_cod != 0")
    [found] = ship.open("flows/ship.yaml", wrong)
    assert (found.code, found.severity, found.source) == ("WF206", lsp.DiagnosticSeverity.Error, "wfc")
    assert found.range.start == position(wrong, "exit_cod ")
    assert "exit_code" in found.message
    assert ship.open("flows/ship.yaml", SHIP) == []


def test_places_are_counted_in_the_editors_units(ship: Editor) -> None:
    wrong = SHIP.replace("{{ state.built.exit_code }}", "{{ state.buit.exit_code }}")
    found = ship.open("flows/ship.yaml", wrong)
    places = [one.range.start for one in found if "buit" in one.message]
    assert position(wrong, "buit") in places


def test_text_that_is_no_yaml_is_a_finding_and_nothing_breaks(ship: Editor) -> None:
    [found] = ship.open("flows/ship.yaml", "steps: [")
    assert found.code == "WF001"
    assert ship.outline("flows/ship.yaml") == []
    assert ship.hover("flows/ship.yaml", lsp.Position(40, 200)) == ""


def test_yaml_that_is_no_workflow_is_left_alone_and_a_workflow_is_known_anywhere(editor: Editor) -> None:
    assert editor.open("compose.yaml", "services: {web: {image: web}}\n") == []
    assert editor.open("api.test.yaml", "cases: []\n") == []
    assert [one.code for one in editor.open("flows/ship.test.yaml", "cases: []\n")] != []
    assert [one.code for one in editor.open("flows/draft.yaml", "services: {}\n")] != []
    assert [one.code for one in editor.open("elsewhere.yaml", "name: x\nsteps: 3\n")] != []


def test_a_quick_fix_mends_what_it_is_offered_for(ship: Editor) -> None:
    wrong = SHIP.replace("needs_state: [tries, built]", "needs_state: [tries]")
    [found] = ship.open("flows/ship.yaml", wrong)
    [action] = ship.actions("flows/ship.yaml", found.range, "quickfix")
    assert action.title.startswith("WF301: ")
    assert action.is_preferred
    assert action.edit is not None
    assert action.edit.changes is not None
    mended = edited(wrong, list(action.edit.changes[ship.uri("flows/ship.yaml")]))
    assert ship.open("flows/ship.yaml", mended) == []


def test_all_safe_fixes_come_as_one_action(ship: Editor) -> None:
    wrong = SHIP.replace("needs_state: [tries, built]", "needs_state: []").replace(
        "[audits, label]", "[label]"
    )
    assert len(ship.open("flows/ship.yaml", wrong)) >= 2
    [action] = ship.actions(
        "flows/ship.yaml", lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0)), "source.fixAll"
    )
    assert action.edit is not None
    assert action.edit.changes is not None
    assert (
        ship.open("flows/ship.yaml", edited(wrong, list(action.edit.changes[ship.uri("flows/ship.yaml")])))
        == []
    )


@pytest.mark.parametrize(
    ("needle", "inside", "words"),
    [
        ("type: shell", 7, ["Run a command"]),
        ("output_to: built", 2, ["The state field that gets the result"]),
        ("state.built.exit_code", 7, ["`state.built`", "- `exit_code`: int", "written at line 14"]),
        ("state.built.exit_code", 14, ["`state.built.exit_code`: int"]),
        ("inputs.target", 9, ["`inputs.target`: text", "Where it goes."]),
        ("| shquote", 3, ["shquote"]),
        ("target: build", 9, ["step `build`", "type `shell`"]),
        ("task: audit_one", 8, ["Audit one module."]),
        ("[audits, label]", 2, ["`state.audits`: list of text"]),
    ],
)
def test_hover_explains_steps_fields_names_and_inferred_types(
    ship: Editor, needle: str, inside: int, words: list[str]
) -> None:
    said = ship.hover("flows/ship.yaml", position(SHIP, needle, inside))
    assert [word for word in words if word not in said] == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('    value: "{{ state.', {"built", "tries", "label", "audits"}),
        ('    value: "{{ state.built.', {"stdout", "stderr", "exit_code"}),
        ('    value: "{{ state.built.std', {"stdout", "stderr"}),
        ('    value: "{{ inputs.', {"target"}),
        ('    value: "{{ ', {"state", "inputs", "now"}),
        ('    value: "{{ state.label | ', {"shquote", "tojson", "length"}),
        ('    value: "{{ state.label is ', {"defined", "none"}),
        ("    type: ", {"shell", "foreach", "return"}),
        ("    target: ", {"build", "count", "again", "audit"}),
        ("    task: ", {"audit_one"}),
        ("    workflow: ", {"ship", "other"}),
        ("    needs_state: [built, ", {"tries", "label"}),
    ],
)
def test_completion_knows_what_may_come_in_text_that_is_not_finished(
    ship: Editor, line: str, expected: set[str]
) -> None:
    begun = f"  - id: done\n{line}"
    typed = SHIP.replace("  - id: done\n", f"{begun}\n")
    ship.change("flows/ship.yaml", typed)
    at = position(typed, begun, len(begun))
    assert expected <= set(ship.complete("flows/ship.yaml", at))


def test_completion_of_keys_offers_the_fields_of_that_step_that_are_not_there_yet(ship: Editor) -> None:
    typed = SHIP.replace("    output_to: built\n  - id: count", "    output_to: built\n    \n  - id: count")
    ship.change("flows/ship.yaml", typed)
    offered = ship.complete("flows/ship.yaml", position(typed, "    \n  - id: count", 4))
    assert {"timeout", "retry", "on_error", "when"} <= set(offered)
    assert not {"command", "id", "output_to", "target"} & set(offered)


def test_in_a_task_the_tasks_own_fields_and_items_are_offered(ship: Editor) -> None:
    typed = SHIP.replace('value: "{{ state.built.exit_code }} {{ state.built.stdout }}"', 'value: "{{ state.')
    ship.change("flows/ship.yaml", typed)
    assert set(ship.complete("flows/ship.yaml", position(typed, 'value: "{{ state.', 17, last=True))) == {
        "built"
    }


def test_definitions_of_jump_targets_tasks_state_inputs_and_other_workflows(ship: Editor) -> None:
    def line_of(text: str) -> int:
        return SHIP[: SHIP.index(text)].count("\n") + 1

    def defined(needle: str, inside: int) -> list[tuple[str, int]]:
        return ship.define("flows/ship.yaml", position(SHIP, needle, inside))

    assert defined("target: build", 9) == [("ship.yaml", line_of("- id: build"))]
    assert defined("task: audit_one", 8) == [("ship.yaml", line_of("  audit_one:"))]
    assert defined("state.built.exit_code != 0", 7) == [("ship.yaml", line_of("output_to: built"))]
    assert defined("state.tries + 1", 7) == [
        ("ship.yaml", line_of("initial_state")),
        ("ship.yaml", line_of('tries: "{{ state.tries + 1')),
    ]
    assert defined("inputs.target", 8) == [("ship.yaml", line_of("  target:\n"))]
    assert defined("workflow: other", 11) == [("other.yaml", 1)]


def test_references_are_everywhere_a_name_is_used(ship: Editor) -> None:
    assert ship.references("flows/ship.yaml", position(SHIP, "output_to: built", 12)) == [14, 17, 20, 23, 24]


def test_renaming_a_state_field_changes_writers_readers_and_needs_state_of_its_scope(ship: Editor) -> None:
    edits = ship.rename("flows/ship.yaml", position(SHIP, "output_to: built", 12), "image")
    renamed = edited(SHIP, edits)
    assert ship.open("flows/ship.yaml", renamed) == []
    main, task = renamed.split("tasks:\n")
    assert "built" not in main
    assert task == SHIP.split("tasks:\n")[1]


def test_renaming_follows_a_bare_name_inside_updates(ship: Editor) -> None:
    renamed = edited(SHIP, ship.rename("flows/ship.yaml", position(SHIP, "{tries: 0}", 2), "attempts"))
    assert ship.open("flows/ship.yaml", renamed) == []
    assert "{{ attempts }} tries" in renamed


def test_renaming_a_step_changes_the_jumps_to_it(ship: Editor) -> None:
    renamed = edited(SHIP, ship.rename("flows/ship.yaml", position(SHIP, "- id: build", 7), "make-it"))
    assert ship.open("flows/ship.yaml", renamed) == []
    assert "target: make-it" in renamed
    assert "\U0001f680" in renamed


def test_a_rename_to_something_taken_or_no_name_is_refused_with_the_reason(ship: Editor) -> None:
    at = position(SHIP, "- id: build", 7)
    with pytest.raises(Exception, match="already"):
        ship.rename("flows/ship.yaml", at, "count")
    with pytest.raises(Exception, match="letters, digits"):
        ship.rename("flows/ship.yaml", at, "two words")
    assert ship.may_rename("flows/ship.yaml", at)
    assert not ship.may_rename("flows/ship.yaml", position(SHIP, "version", 2))


def test_the_outline_lists_the_steps(ship: Editor) -> None:
    names = ["build", "count", "again", "audit", "call-other", "done", "look", "size"]
    assert ship.outline("flows/ship.yaml") == names


def test_a_field_that_was_just_written_down_is_completed_before_anything_is_checked(ship: Editor) -> None:
    more = SHIP.replace("output_to: built", "output_to: made", 1)
    ship.change("flows/ship.yaml", more)
    assert "made" in ship.complete("flows/ship.yaml", position(more, "{{ state.", 9))


def test_a_definition_that_was_just_written_down_is_found_before_anything_is_checked(ship: Editor) -> None:
    more = SHIP.replace(
        "steps:\n", "steps:\n  - {id: first, type: shell, command: make, output_to: built}\n", 1
    )
    ship.change("flows/ship.yaml", more)
    [(_, line), *_] = ship.define("flows/ship.yaml", position(more, "{{ state.built", 10))
    assert line == more[: more.index("id: first")].count("\n") + 1


def test_quick_fixes_are_those_of_the_text_as_it_is_now(ship: Editor) -> None:
    wrong = SHIP.replace("command:", "comand:", 1)
    ship.change("flows/ship.yaml", wrong)
    at = position(wrong, "comand")
    assert [one.title for one in ship.actions("flows/ship.yaml", lsp.Range(at, at))] == [
        "WF004: rename it to command"
    ]


def test_a_document_that_is_closed_while_its_fixes_are_asked_for_has_none(editor: Editor) -> None:
    editor.open("never-saved.yaml", OTHER)
    editor.change("never-saved.yaml", OTHER.replace("command", "comand"))
    editor.close_text("never-saved.yaml")
    at = lsp.Position(0, 0)
    assert editor.actions("never-saved.yaml", lsp.Range(at, at)) == []


def test_without_the_extra_the_command_says_what_to_install(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("bare")
    (folder / "pygls.py").write_text("raise ImportError\n")
    result = wfc("lsp", cwd=folder, env={"PYTHONPATH": str(folder)})
    assert result.status == 2
    assert "pip install 'wfc-compiler[lsp]'" in result.err
