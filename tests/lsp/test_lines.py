"""Places of an earlier text in the one that it became."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import Position, Range

from wfc.lsp.positions import Lines

TEXTS = st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=1, max_size=8).map("\n".join)


@given(TEXTS, TEXTS)
def test_a_place_that_is_found_again_stands_in_the_same_line(before: str, now: str) -> None:
    lines = Lines.between(before, now)
    for number, text in enumerate(now.split("\n")):
        place = lines.back(Position(number, 0))
        if place is not None:
            assert before.split("\n")[place.line] == text
            assert lines.forth(Range(place, place)) == Range(Position(number, 0), Position(number, 0))


@given(TEXTS, TEXTS, TEXTS)
def test_lines_before_and_after_what_was_typed_are_found_again(head: str, typed: str, tail: str) -> None:
    lines = Lines.between(f"{head}\n{tail}", f"{head}\n{typed}\n{tail}")
    added = typed.count("\n") + 1
    assert lines.now - lines.before == added
    assert lines.now - lines.first <= added


@pytest.mark.parametrize("line", [1, 2])
def test_a_line_that_differs_has_no_earlier_place(line: int) -> None:
    assert Lines.between("a\nb\nc", "a\nx\ny\nc").back(Position(line, 0)) is None


def test_a_place_that_reaches_into_what_differs_is_not_moved() -> None:
    lines = Lines.between("a\nb\nc", "a\nx\ny\nc")
    assert lines.forth(Range(Position(0, 0), Position(1, 0))) is None
    assert lines.forth(Range(Position(2, 0), Position(2, 1))) == Range(Position(3, 0), Position(3, 1))
