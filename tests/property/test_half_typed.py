"""Workflows that are being typed: whatever is there so far, every check survives it."""

from __future__ import annotations

import random

import pytest

from tests.property.mutations import originals
from tests.support import check

HALF = ("", "x", "{}", "{id: q}", "id:", "{id: q, type: }", "{id: q, type: whil}", "[]", "null")
LOOP = """\
name: w
version: "1.0.0"
initial_state: {n: 0}
steps:
  - id: loop
    type: while
    needs_state: [n, seen]
    if: "{{ state.n < 3 and (state.seen is not defined or state.seen.exit_code != 0) }}"
    max_iterations: 3
    steps:
      {before}- {half}
      {after}
"""
COUNT = '{id: count, type: set_state, needs_state: [n], updates: {n: "{{ state.n + 1 }}"}}'


@pytest.mark.parametrize("half", HALF)
@pytest.mark.parametrize("place", ["alone", "first", "last"])
def test_a_half_typed_step_inside_a_while_is_reported(half: str, place: str) -> None:
    text = LOOP.replace("{before}", f"- {COUNT}\n      " if place == "last" else "")
    text = text.replace("{after}", f"- {COUNT}" if place == "first" else "").replace("{half}", half)
    assert {one.code for one in check(text)} & {"WF005", "WF006", "WF007"}


def test_a_field_whose_only_writer_is_half_typed_is_reported() -> None:
    assert "WF303" in {
        one.code for one in check(LOOP.replace("{before}", "").replace("{after}", "").replace("{half}", ""))
    }


@pytest.mark.parametrize("number", range(len(originals())))
def test_no_check_raises_on_a_workflow_that_is_cut_short_or_lacks_a_part(number: int) -> None:
    text = originals()[number]
    chance = random.Random(number)
    lines = text.splitlines(keepends=True)
    for _ in range(6):
        check(text[: chance.randrange(len(text))])
        first = chance.randrange(len(lines))
        check("".join(lines[:first] + lines[first + chance.randrange(1, 8) :]))
        check(_with_half_typed(lines, chance))


def _with_half_typed(lines: list[str], chance: random.Random) -> str:
    """An item of a list, or a value, that somebody has begun to type."""
    at = chance.choice([number for number, line in enumerate(lines) if line.lstrip().startswith("- ")] or [0])
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    return "".join([*lines[:at], f"{indent}- {chance.choice(HALF)}\n", *lines[at + chance.randrange(2) :]])
