"""Text made fit for a picture."""

from __future__ import annotations

import pytest

from wfc_runtime.picture.text import printable, shorten, show_condition, text_width, wrap


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\n  lines\tand\r\nmore", "two lines and more"),
        ("bell\x07 nul\x00 escape\x1b[0m", "bell nul escape [0m"),
        ("over\u202eride\u200b", "override"),
        ("lone \ud800 surrogate", "lone surrogate"),
        ("ünïcödé 中文 🎉", "ünïcödé 中文 🎉"),
    ],
)
def test_what_cannot_be_shown_is_left_out(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_long_text_ends_with_an_ellipsis() -> None:
    assert shorten("one two three", 8) == "one two…"
    assert shorten("short", 8) == "short"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{{ state.out.exit_code == 0 }}", "out.exit_code == 0"),
        ("{{ inputs.force and not state.done }}", "force and not done"),
        ("{{ x.state.y == 'state.z' }}", "x.state.y == 'state.z'"),
        ("{{ a }} and {{ b }}", "{{ a }} and {{ b }}"),
        (True, "true"),
    ],
)
def test_a_condition_is_shown_without_braces_and_roots(text: object, shown: str) -> None:
    assert show_condition(text) == shown


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("short", ["short"]),
        ("two short words", ["two short", "words"]),
        ("a-name-with-marks", ["a-name-", "with-marks"]),
        ("abcdefghijklmnop", ["abcdefghij", "klmnop"]),
        ("one two three four five six", ["one two", "three fou…"]),
        ("", []),
    ],
)
def test_lines_break_between_words_then_after_marks_then_anywhere(text: str, lines: list[str]) -> None:
    assert wrap(text, 2 * [lambda line: len(line) <= 10]) == lines


def test_no_line_is_wider_than_it_may_be() -> None:
    for length in range(1, 60):
        for text in ("x" * length, "ab-" * length, "word " * length):
            assert all(len(line) <= 7 for line in wrap(text.strip(), 3 * [lambda line: len(line) <= 7]))


def test_wide_letters_bold_letters_and_full_width_letters_take_more_room() -> None:
    assert text_width("iii", 10) < text_width("aaa", 10) < text_width("WWW", 10)
    assert text_width("aaa", 10) < text_width("aaa", 10, bold=True)
    assert text_width("aaa", 10) < text_width("中中中", 10)
    assert text_width("e\u0301", 10) == text_width("e", 10)


def test_in_a_fixed_font_all_letters_are_equally_wide() -> None:
    assert text_width("iii", 10, mono=True) == text_width("WWW", 10, mono=True)
