"""State fields that hold a secret: those that are marked, and those computed from one."""

from __future__ import annotations

import pytest

from tests.support import file_of

HEAD = """\
name: w
version: "1.0.0"
inputs: {token: {type: string, required: true, secret: true}, name: {type: string, required: true}}
steps:
"""
CONDITION = """\
  - {id: test, type: condition, if: "{{ CONDITION }}", output_to: kept, then: [{id: a, type: shell, command: x}]}
"""
SET_STATE = """\
  - {id: set, type: set_state, updates: {own: "{{ CONDITION }}", other: 1}, output_to: kept}
"""


def secrets(steps: str) -> tuple[str, ...]:
    module = file_of(HEAD + steps).module
    assert module is not None
    return module.main.secrets


@pytest.mark.parametrize("expression", ["inputs.token", "inputs.token | upper", "inputs.name ~ inputs.token"])
def test_a_condition_that_keeps_a_secret_makes_its_field_secret(expression: str) -> None:
    assert secrets(CONDITION.replace("CONDITION", expression)) == ("kept",)


def test_a_condition_without_a_secret_does_not() -> None:
    assert secrets(CONDITION.replace("CONDITION", "inputs.name")) == ()


def test_the_object_of_all_updates_is_secret_if_one_of_them_is() -> None:
    assert secrets(SET_STATE.replace("CONDITION", "inputs.token")) == ("own", "kept")


def test_a_field_computed_from_a_kept_condition_is_secret_too() -> None:
    steps = CONDITION.replace("CONDITION", "inputs.token")
    steps += '  - {id: set, type: set_state, needs_state: [kept], updates: {copy: "{{ state.kept }}"}}\n'
    assert secrets(steps) == ("kept", "copy")
