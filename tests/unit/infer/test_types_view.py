"""`wfc check --types`: the inferred picture, for people."""

from __future__ import annotations

from tests.support import file_of
from wfc.render.types import render_types

TEXT = """
name: tally
version: "1"
initial_state: {count: 0}
steps:
  - id: ask
    type: delegate
    instructions: "Round {{ index }}"
    result_schema: {type: object, required: [score], properties: {score: {type: integer}, note: {type: string}}}
    output_to: answer
  - id: add
    type: set_state
    needs_state: [answer, count]
    updates:
      count: "{{ state.count + state.answer.score }}"
      label: "{{ 'total: ' ~ count }}"
      seen: "{{ [state.answer] }}"
  - {id: each, type: foreach, items: [1, 2], task: look, on_error: continue, output_to: looks}
tasks:
  look:
    steps:
      - {id: end, type: return, value: "{{ item * 2 }}"}
"""


def test_each_field_is_shown_with_its_type_its_writers_and_its_readers() -> None:
    assert render_types(file_of(TEXT)).splitlines() == [
        "w1.yaml: the workflow `tally`",
        "  count   int",
        "            written by initial_state:4, add:15",
        "            read by add:11",
        "  answer  {score: int, note?: text}, unset at the start",
        "            written by ask:10",
        "            read by add:11",
        "  label   text, unset at the start",
        "            written by add:16",
        "            read by nothing",
        "  seen    list of {score: int, note?: text}, unset at the start",
        "            written by add:17",
        "            read by nothing",
        "  looks   list of (int or FailedChild), unset at the start",
        "            written by each:18",
        "            read by nothing",
        "  returns {count: int, answer: {score: int, note?: text}, label: text, "
        "seen: list of {score: int, note?: text}, looks: list of (int or FailedChild)}",
        "",
        "w1.yaml: the task `look`",
        "  returns int",
    ]


def test_of_a_file_that_can_not_be_read_nothing_is_known() -> None:
    assert (
        render_types(file_of("- a list"))
        == "w1.yaml: its types are unknown because of errors; see `wfc check`\n"
    )
