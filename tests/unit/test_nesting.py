"""Where steps stand, and where jumps may go."""

from __future__ import annotations

from tests.support import file_of
from wfc.language.scopes import Targets, blocks_of

WORKFLOW = """
name: places
version: "1.0.0"
steps:
  - id: choose
    type: condition
    if: "{{ true }}"
    then:
      - {id: yes-1, type: shell, command: a}
      - id: loop
        type: while
        if: "{{ true }}"
        max_iterations: 2
        steps:
          - {id: turn, type: goto, target: yes-1, else: last, max_iterations: 1}
    else:
      - {id: no-1, type: shell, command: a, on_error: {goto: last}}
  - id: both
    type: parallel
    branches:
      left: [{id: l, type: shell, command: a}]
      right: [{id: r, type: shell, command: a}]
  - {id: last, type: return}
tasks:
  other: {steps: [{id: there, type: return}]}
"""


def test_a_list_is_named_after_the_step_and_field_that_holds_it() -> None:
    main, other = file_of(WORKFLOW).scopes
    labels = {step.name: block.label for step, block in blocks_of(main).items()}
    assert labels == {
        "choose": "the steps of the workflow",
        "yes-1": "the `then` of `choose`",
        "loop": "the `then` of `choose`",
        "turn": "the `steps` of `loop`",
        "no-1": "the `else` of `choose`",
        "both": "the steps of the workflow",
        "l": "the branch `left` of `both`",
        "r": "the branch `right` of `both`",
        "last": "the steps of the workflow",
    }
    assert [block.label for block in blocks_of(other).values()] == ["the steps of the task `other`"]


def test_a_jump_reaches_its_own_list_and_those_around_it() -> None:
    main = file_of(WORKFLOW).scopes[0]
    targets = Targets(main)
    assert list(targets.in_reach(targets["turn"])) == ["yes-1", "loop", "choose", "both", "last"]
    assert list(targets.in_reach(targets["l"])) == ["choose", "both", "last"]
    assert not targets.can_reach(targets["l"], "r")
    assert not targets.can_reach(targets["last"], "turn")
    assert not targets.can_reach(targets["last"], "there")


def test_jumps_are_those_of_goto_and_on_error() -> None:
    main = file_of(WORKFLOW).scopes[0]
    found = [(step.name, field, word.text) for step in main.walk() for field, word in step.jumps()]
    assert found == [("turn", "target", "yes-1"), ("turn", "else", "last"), ("no-1", "on_error", "last")]
