"""Bytes to text: encodings, forbidden characters and the size limit."""

from __future__ import annotations

import codecs
import tracemalloc

import pytest
from source_helpers import brief

from wfc.yaml import Problem, Source, parse_document, read_source
from wfc.yaml.source import YamlLimits

LIMIT = 1_000_000


def read(data: bytes, max_bytes: int = LIMIT) -> tuple[str, list[Problem]]:
    source, problems = read_source(data, "flow.yaml", max_bytes)
    assert source.path == "flow.yaml"
    return source.text, problems


def only_problem(data: bytes) -> Problem:
    _, problems = read(data)
    assert len(problems) == 1, problems
    return problems[0]


def test_plain_utf8_is_read_as_it_is() -> None:
    assert read("a: é☺😀\r\nb: 1\n".encode()) == ("a: é☺😀\r\nb: 1\n", [])


def test_no_bytes_are_an_empty_text() -> None:
    assert read(b"") == ("", [])


def test_a_byte_order_mark_is_removed() -> None:
    assert read(codecs.BOM_UTF8 + b"a: 1\n") == ("a: 1\n", [])


def test_a_second_byte_order_mark_is_reported_at_its_place() -> None:
    problem = only_problem(codecs.BOM_UTF8 + codecs.BOM_UTF8 + b"a: 1\n")
    assert brief(problem)[:2] == (1, 1)
    assert "byte order mark (U+FEFF)" in problem.message


@pytest.mark.parametrize(
    ("encoding", "name"),
    [("utf-16", "UTF-16"), ("utf-16-be", "UTF-16"), ("utf-32", "UTF-32"), ("utf-32-be", "UTF-32")],
)
def test_utf16_and_utf32_are_told_to_become_utf8(encoding: str, name: str) -> None:
    marks = {"utf-16-be": codecs.BOM_UTF16_BE, "utf-32-be": codecs.BOM_UTF32_BE}
    text, problems = read(marks.get(encoding, b"") + "a: é\n".encode(encoding))
    assert [problem.message for problem in problems] == [f"the file is encoded as {name}, and must be UTF-8"]
    assert problems[0].kind == "syntax"
    assert "a: é" in text


def test_invalid_utf8_is_reported_at_the_line_and_column_of_the_bad_byte() -> None:
    data = "name: é\nid: caf".encode() + b"\xe9\n"
    problem = only_problem(data)
    assert brief(problem) == (2, 8, "\ufffd", "the byte 0xE9 is not valid UTF-8")
    assert problem.kind == "syntax"


def test_invalid_utf8_after_a_byte_order_mark_has_the_same_place() -> None:
    assert brief(only_problem(codecs.BOM_UTF8 + b"a: \xff"))[:2] == (1, 4)


def test_many_invalid_bytes_are_counted_in_one_problem() -> None:
    problem = only_problem("a: \ufffd".encode() + b" \xff \xfe \xfd\n")
    assert problem.message == "the byte 0xFF is not valid UTF-8 (the first of 3 such places)"
    assert problem.span.column == 6


def test_a_replacement_character_that_is_really_there_is_no_problem() -> None:
    assert read("a: \ufffd\n".encode()) == ("a: \ufffd\n", [])


def test_truncated_utf8_is_reported_at_its_beginning() -> None:
    assert brief(only_problem("a: é".encode()[:-1]))[:3] == (1, 4, "\ufffd")


@pytest.mark.parametrize(
    ("character", "words"),
    [
        ("\0", "a NUL character (U+0000)"),
        ("\x07", "the control character U+0007"),
        ("\x1b", "the control character U+001B"),
        ("\x7f", "the control character U+007F"),
        ("\x80", "the control character U+0080"),
        ("\ufffe", "the character U+FFFE"),
    ],
)
def test_a_forbidden_character_is_reported_at_its_place(character: str, words: str) -> None:
    problem = only_problem(f"a: 1\r\nb: é{character}\n".encode())
    assert brief(problem) == (2, 5, character, f"{words} is not allowed in YAML")


def test_many_forbidden_characters_are_counted_in_one_problem() -> None:
    assert only_problem(b"\0" * 500).message.endswith("(the first of 500 such characters)")


def test_bad_bytes_and_forbidden_characters_are_both_reported() -> None:
    _, problems = read(b"a: \xff\nb: \x01\n")
    assert [problem.span.line for problem in problems] == [1, 2]


@pytest.mark.parametrize("text", ["tab\there", "é\xa0\x85\u2028", "\U0010ffff", "\ud7ff\ue000\ufffd"])
def test_characters_that_yaml_allows_are_no_problem(text: str) -> None:
    assert read(text.encode())[1] == []


def test_a_file_over_the_limit_is_refused_with_both_numbers() -> None:
    text, problems = read(b"a: 1\n" * 300, max_bytes=1_000)
    assert text == ""
    assert [(problem.kind, problem.message) for problem in problems] == [
        ("limit", "the file has more than 1,000 bytes, which is the limit")
    ]


def test_a_file_of_exactly_the_limit_is_read() -> None:
    assert read(b"a: 1\n", max_bytes=5) == ("a: 1\n", [])


def test_a_file_of_50_mb_is_refused_without_a_copy_of_it() -> None:
    data = bytes(50_000_000)
    tracemalloc.start()
    try:
        _, problems = read(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [problem.kind for problem in problems] == ["limit"]
    assert peak < 1_000_000


@pytest.mark.parametrize("text", ["a: \0", "\ufeffa: 1", "a: \ud800"])
def test_parsing_guards_against_forbidden_characters_too(text: str) -> None:
    document = parse_document(Source("flow.yaml", text), YamlLimits())
    assert document.root is None
    assert [problem.kind for problem in document.problems] == ["syntax"]
