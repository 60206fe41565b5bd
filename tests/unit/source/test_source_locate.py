"""Places inside scalars: offsets of the decoded text mapped to the file."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from source_helpers import assert_located, parse, scalar_of, scalars

from wfc.yaml import Scalar, Source


def placed(scalar: Scalar, part: str) -> tuple[int, int, str]:
    """Line, column and raw text of the first occurrence of a part of the decoded text."""
    start = scalar.text.index(part)
    span = scalar.at(start, start + len(part))
    return span.line, span.column, span.text


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("a: one two", "one two"),
        ("a: one\n  two\n\n\n  three  four", "one two\n\nthree  four"),
        ("a: 'one ''two'' three'", "one 'two' three"),
        ("a: ' one  \n   two\n\n  three '", " one two\nthree "),
        ('a: "one \\x41\\u263A\\U0001F600\\t\\"\\\\ two"', 'one A☺😀\t"\\ two'),
        ('a: "one\n  two\\\n   three \\\n  \\  four\n\n  five"', "one twothree   four\nfive"),
        ('a: "\\0\\a\\b\\e\\f\\n\\N\\_\\L\\P\\r\\v\\/\\ "', "\0\a\b\x1b\f\n\x85\xa0\u2028\u2029\r\v/ "),
        ("a: |\n  one\n   two\n\n  three\n", "one\n two\n\nthree\n"),
        ("a: |-\n    one\n    two\n\n", "one\ntwo"),
        ("a: |+\n  one\n\n  \n", "one\n\n\n"),
        ("a: |2\n    one\n   two\n", "  one\n two\n"),
        ("a: >\n  one\n  two\n\n  three\n    four\n  five\n", "one two\nthree\n  four\nfive\n"),
        ("a: >-\n\n  one\n\n\n  two\n", "\none\n\ntwo"),
        ("a: >1+\n  one\n two\n\n", " one\ntwo\n\n"),
        ("a: | # note\n  one", "one"),
        ("a: |+\n\n\n", "\n\n"),
        ("a: >\n  one\n  \ttwo\n  three\n", "one\n\ttwo\nthree\n"),
        ("a: |\n  x\u2028  y\x85  z\n", "x\u2028y\nz\n"),
        ("a: 'x\u2028 y\x85 z'", "x\u2028y z"),
    ],
)
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_every_character_of_every_style_is_found(text: str, decoded: str, line_break: str) -> None:
    found = scalar_of(text.replace("\n", line_break), "a")
    assert found.text == decoded
    assert_located(found)


@pytest.mark.parametrize(
    ("text", "part", "place"),
    [
        ("a: x {{ name }}", "name", (1, 9, "name")),
        ("a: '{{ x == ''y'' }}'", "'y'", (1, 13, "''y''")),
        ("a: '{{ x == ''y'' }}'", "}}", (1, 19, "}}")),
        ('a: "\\t{{ \\x41b }}"', "Ab", (1, 10, "\\x41b")),
        ("a: |\n  one\n  {{ name }}\n", "name", (3, 6, "name")),
        ("a: >\n  one\n  {{ name }}\n", "e {{", (2, 5, "e\n  {{")),
        ("a: one\n  {{ name }}\n", "name", (2, 6, "name")),
    ],
)
def test_a_name_in_a_template_is_placed_exactly(text: str, part: str, place: tuple[int, int, str]) -> None:
    assert placed(scalar_of(text, "a"), part) == place


def test_blocks_inside_lists_and_mappings_are_placed() -> None:
    text = "steps:\r\n  - id: a\r\n    run: |\r\n      one\r\n      é {{ two }}\r\n  - |\r\n   x\r\n"
    assert placed(scalar_of(text, "steps", 0, "run"), "two") == (5, 12, "two")
    assert placed(scalar_of(text, "steps", 1), "x") == (7, 4, "x")


def test_a_list_item_may_hold_a_block_at_the_indentation_of_its_dash() -> None:
    assert placed(scalar_of("- |2\n    one\n  two\n", 0), "two") == (3, 3, "two")


@pytest.mark.parametrize(
    ("text", "index", "start"),
    [
        ("a: one", 0, 3),
        ("a: one", 3, 6),
        ("a: 'one'", 3, 7),
        ("a: ''", 0, 4),
        ("a: 'o''e'", 2, 7),
        ("a: 'o''e'", 3, 8),
        ("a: |\n  one\n", 4, 10),
        ("a: |\n", 0, 4),
        ("a:", 0, 2),
    ],
)
def test_an_empty_range_is_an_empty_span_at_its_place(text: str, index: int, start: int) -> None:
    span = scalar_of(text, "a").at(index, index)
    assert (span.start, span.end) == (start, start)


def test_ranges_outside_the_text_are_brought_inside() -> None:
    found = scalar_of("a: 'o''e' # more", "a")
    assert found.at(-5, 99).text == "o''e"
    assert found.at(99, 3).text == ""


def test_a_text_that_does_not_fit_its_place_falls_back_to_the_whole_span() -> None:
    found = scalar_of("a: 'one'", "a")
    other = Scalar(found.span, "something else", "something else", "'")
    assert other.at(2, 5) is found.span
    block = Scalar(Source("f", "|").span(0, 1), "text", "text", "|")
    assert block.at(1, 2).text == "|"


def test_a_template_that_should_be_quoted_is_placed_too() -> None:
    document = parse("a: {{ x }} {{ y }}\n")
    (found,) = [scalar for scalar in scalars(document.root) if "y" in scalar.text]
    assert placed(found, "y") == (1, 15, "y")


texts = st.text(st.sampled_from("ab é☺😀'\"\\{}:#-|>%\t\n\n  \x85\xa0\u2028\x07"), max_size=30)
styles = st.sampled_from([None, "'", '"', "|", ">"])


@given(
    texts,
    styles,
    st.sampled_from([10, 20, 80]),
    st.booleans(),
    st.sampled_from([2, 4, 9]),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
@settings(deadline=None, max_examples=200)
def test_each_character_of_what_pyyaml_dumps_is_found(
    text: str, style: Any, width: int, allow_unicode: bool, indent: int, line_break: str
) -> None:
    dumped = yaml.dump(
        {"steps": [{"run": text}, text]},
        default_style=style,
        width=width,
        allow_unicode=allow_unicode,
        indent=indent,
        line_break=line_break,
    )
    document = parse(dumped)
    for scalar in scalars(document.root):
        assert_located(scalar)
    if not document.problems:
        read_back = yaml.load(dumped, Loader=yaml.CBaseLoader)["steps"][1]  # a few characters do not survive
        assert [scalar.text for scalar in scalars(document.root)] == ["steps", "run", read_back, read_back]


lines = st.lists(
    st.tuples(st.integers(0, 6), st.text(st.sampled_from("ab \té#:'\"\\"), max_size=6)),
    min_size=1,
    max_size=7,
)


@given(
    st.sampled_from(["", "- ", "k: ", "- k: ", "a:\n  b:\n   - "]),
    st.sampled_from(["|", ">", "|-", ">-", "|+", ">+", "|1", ">2", "|3+", ">-4", "'", '"', ""]),
    lines,
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["", "\n", "\n\n   \n", "\n# note\n"]),
)
@settings(deadline=None, max_examples=300)
def test_each_character_of_hand_indented_scalars_is_found(
    lead: str, style: str, body: list[tuple[int, str]], line_break: str, tail: str
) -> None:
    content = "\n".join(" " * indent + text for indent, text in body)
    is_block = style[:1] in ("|", ">")
    text = f"{lead}{style}\n{content}{tail}" if is_block else f"{lead}{style}{content}{style}{tail}"
    for scalar in scalars(parse(text.replace("\n", line_break)).root):
        assert_located(scalar)
