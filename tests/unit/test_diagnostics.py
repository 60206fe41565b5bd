"""Messages stay one line of bounded length, whatever the names in them hold."""

from __future__ import annotations

import pytest

from wfc.findings import tidy


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("no step `build`", "no step `build`"),
        ("no step `a\nb`", "no step `a b`"),
        ("no step `\x1b[31mred`", "no step `\ufffd[31mred`"),
        (f"`{'x' * 500}` and `b`", f"`{'x' * 77}...` and `b`"),
        ("`a` " + "and " * 30 + "`b`", "`a` " + "and " * 30 + "`b`"),
    ],
)
def test_a_message_is_one_line_and_long_names_are_cut(text: str, line: str) -> None:
    assert tidy(text) == line


def test_no_message_is_longer_than_a_thousand_characters() -> None:
    assert len(tidy("word " * 10_000)) == 1000
