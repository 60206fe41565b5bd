"""What differs between two versions of a workflow, and what does not."""

from __future__ import annotations

import pytest

from tests.support import file_of
from wfc.author.diff import Change, compare

BASE = """\
name: release
version: "1.0.0"
inputs:
  target: {type: number, default: 85, validation: {min: 1}}
initial_state: {tries: 0}
steps:
  - {id: build, type: shell, command: make, output_to: built}
  - id: check
    type: condition
    needs_state: [built]
    if: "{{ state.built.exit_code != 0 }}"
    then:
      - {id: tell, type: prompt, prompt_type: info, message: "It failed."}
      - {id: stop, type: return, value: no}
  - id: notes
    type: delegate
    needs_state: [built]
    instructions: |
      Write notes.
      Use <log>{{ state.built.stdout }}</log>.
      Be brief.
    output_to: notes
  - {id: each, type: foreach, items: [a, b], task: look}
tasks:
  look:
    steps:
      - {id: peek, type: shell, command: "ls {{ item | shquote }}"}
"""


def changes(*replaced: tuple[str, str]) -> list[Change]:
    text = BASE
    for old, new in replaced:
        assert old in text, old
        text = text.replace(old, new)
    return compare(file_of(BASE), file_of(text))


def told(*replaced: tuple[str, str], edges: bool = False) -> list[tuple[str, str, str]]:
    return [(one.what, one.how, one.name) for one in changes(*replaced) if edges or one.what != "edge"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{id: build, type: shell, command: make, output_to: built}", "# built first\n  - {command: 'make', "
         "output_to: built, type: shell, id: build}".replace("  - ", "    ")),
        ("command: make,", "timeout: 30, command: make,"),
        ("{type: number, default: 85, validation: {min: 1}}", "{default: 85, type: number, min: 1, required: false}"),
        ("needs_state: [built]\n    if", "needs_state:\n      - built\n    if"),
    ],
    ids=["comments and key order", "a default written out", "rules beside the type", "another style of list"],
)  # fmt: skip
def test_what_is_written_differently_and_means_the_same_is_no_difference(old: str, new: str) -> None:
    assert changes((old, new)) == []


def test_a_changed_field_is_shown_with_its_old_and_its_new_value() -> None:
    [change] = changes(("command: make,", "command: make -j,"))
    assert (change.what, change.how, change.name) == ("step", "changed", "build")
    [detail] = change.details
    assert (detail.name, detail.old, detail.new) == ("command", "make", "make -j")


def test_true_is_not_one() -> None:
    assert told(("{tries: 0}", "{tries: false}")) == [("field", "changed", "tries")]


def test_a_step_that_was_added_is_shown_with_its_place_and_its_edges() -> None:
    found = changes(("  - id: notes", "  - {id: push, type: shell, command: push}\n  - id: notes"))
    assert found == [
        Change("step", "added", "push", note="shell, after check"),
        Change("edge", "added", "check -> push if not"),
        Change("edge", "added", "push -> notes"),
        Change("edge", "removed", "check -> notes if not"),
    ]


def test_a_step_that_was_removed_is_shown() -> None:
    assert told(('      - {id: tell, type: prompt, prompt_type: info, message: "It failed."}\n', "")) == [
        ("step", "removed", "tell")
    ]


def test_a_step_with_another_id_and_the_same_body_was_renamed() -> None:
    found = changes(("id: tell", "id: say"))
    assert [(one.how, one.name) for one in found] == [("renamed", "say")]
    assert found[0].details[0].old == "tell"


def test_a_step_that_stands_elsewhere_was_moved_and_the_others_were_not() -> None:
    line = "  - {id: build, type: shell, command: make, output_to: built}\n"
    extra = "  - {id: last, type: shell, command: x}\n"
    one = BASE.replace("tasks:", f"{extra}tasks:")
    other = one.replace(extra, "").replace(line, line + extra)
    found = [change for change in compare(file_of(one), file_of(other)) if change.what == "step"]
    assert found == [Change("step", "moved", "last", note="after build")]


def test_a_step_that_was_moved_into_a_branch_says_which() -> None:
    found = changes(
        ("      - {id: stop,", "      - {id: extra, type: shell, command: x}\n      - {id: stop,"),
    )
    assert found[0] == Change("step", "added", "extra", note="shell, after tell in the then of check")


def test_reads_writes_and_types_of_fields_are_compared() -> None:
    found = changes(
        (
            "    output_to: notes",
            "    result_schema: {type: object, properties: {n: {type: integer}}}\n    output_to: notes",
        ),
        ("needs_state: [built]\n    instructions", "needs_state: [built, tries]\n    instructions"),
    )
    step, field = [one for one in found if one.what != "edge"]
    assert {detail.name for detail in step.details} == {"result_schema", "reads"}
    assert (field.what, field.name, field.details[0].new) == ("field", "notes", "{n?: int}")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("default: 85", "default: 90", [("input", "changed", "target")]),
        ("{type: number, default: 85,", "{type: number, required: true,", [("input", "changed", "target")]),
        ("inputs:\n", "inputs:\n  more: {type: string}\n", [("input", "added", "more")]),
        ('version: "1.0.0"', 'version: "2.0.0"', [("workflow", "changed", "release")]),
        ("{tries: 0}", "{tries: 1, total: 0}", [("field", "changed", "tries"), ("field", "added", "total")]),
        ("ls {{", "ls -l {{", [("step", "changed", "peek")]),
    ],
)
def test_inputs_headings_fields_and_tasks_are_compared(
    old: str, new: str, expected: list[tuple[str, str, str]]
) -> None:
    assert told((old, new)) == expected


def test_a_change_in_a_task_names_the_task() -> None:
    assert changes(("ls {{", "ls -l {{"))[0].task == "look"


def test_a_task_that_was_added_or_removed_is_shown() -> None:
    more = "  more:\n    steps:\n      - {id: peep, type: shell, command: ls}\n"
    assert [one.how for one in compare(file_of(BASE), file_of(BASE + more))] == ["added"]
    assert [one.how for one in compare(file_of(BASE + more), file_of(BASE))] == ["removed"]


COMPUTED = """\
name: "w:count"
description: Counts.
version: "1.0.0"
default_state: {raw: {items: [], at: "{{ now() }}"}}
state_schema:
  computed:
    left: {from: raw.items, transform: input.length}
config: {timeout_seconds: 60}
steps:
  - {id: note, type: state_update, path: raw.items, operation: append, value: "{{ left }}"}
"""


@pytest.mark.parametrize(
    ("old", "new", "name", "detail"),
    [
        ("transform: input.length", "transform: input.length + 1", "left", "value"),
        ("from: raw.items", "from: [raw.items, raw.at]", "left", "from"),
        ("transform: input.length", "transform: input.length, fallback: 0", "left", "fallback"),
        ("{{ now() }}", "{{ uuid() }}", "at", "at_start"),
        ("timeout_seconds: 60", "timeout_seconds: 90", "w:count", "deadline"),
    ],
)
def test_what_a_field_is_computed_from_and_the_limit_of_a_run_are_compared(
    old: str, new: str, name: str, detail: str
) -> None:
    [change] = [
        one
        for one in compare(file_of(COMPUTED), file_of(COMPUTED.replace(old, new)))
        if one.what in ("field", "workflow")
    ]
    assert (change.how, change.name) == ("changed", name)
    assert detail in [one.name for one in change.details]
