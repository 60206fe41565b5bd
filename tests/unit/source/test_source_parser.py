"""The tree and its spans."""

from __future__ import annotations

import math
from datetime import date
from typing import Any

import pytest
import yaml
from source_helpers import parse, plain, root_of, scalar_of, value_of, walk

from wfc.yaml import Mapping, Scalar, Sequence, builder
from wfc.yaml.builder import open_with_python

WORKFLOW = """\
# A comment
name: deploy
inputs:
  service: {type: string, default: "a b"}
steps:
  - id: build   # the first
    type: shell
    command: |
      make
      make test

  - id: ask
    options: [yes, 'no',
      "é☺😀"]


"""


@pytest.fixture(params=["libyaml", "python"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test here runs with libyaml and with PyYAML's own parser."""
    if request.param == "python":
        monkeypatch.setattr(builder, "open_events", open_with_python)


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n# comments\n", "---\n", "   "])
def test_an_empty_file_has_no_tree_and_no_problem(text: str) -> None:
    document = parse(text)
    assert document.problems == []
    assert plain(document.root) is None


def test_a_file_without_a_document_has_no_root() -> None:
    assert parse("# nothing\n").root is None


def test_the_tree_holds_what_the_text_says() -> None:
    assert plain(root_of(WORKFLOW)) == {
        "name": "deploy",
        "inputs": {"service": {"type": "string", "default": "a b"}},
        "steps": [
            {"id": "build", "type": "shell", "command": "make\nmake test\n"},
            {"id": "ask", "options": ["yes", "no", "é☺😀"]},
        ],
    }


@pytest.mark.parametrize(
    "text", ["[a, [b, {c: d}], []]", "{}", "- - a\n  - b\n- c:\n  - d\n", "'text'", "- \n- a:\n"]
)
def test_the_tree_is_what_pyyaml_loads(text: str) -> None:
    assert plain(root_of(text)) == yaml.safe_load(text)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("name",), "deploy"),
        (("inputs", "service"), '{type: string, default: "a b"}'),
        (("inputs", "service", "default"), '"a b"'),
        (("steps", 0, "id"), "build"),
        (("steps", 0, "command"), "|\n      make\n      make test"),
        (("steps", 1), "id: ask\n    options: [yes, 'no',\n      \"é☺😀\"]"),
        (("steps", 1, "options"), "[yes, 'no',\n      \"é☺😀\"]"),
        (("steps", 1, "options", 2), '"é☺😀"'),
    ],
)
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_spans_hold_exactly_the_text_of_the_node(path: Any, text: str, line_break: str) -> None:
    node = value_of(WORKFLOW.replace("\n", line_break), *path)
    assert node.span.text == text.replace("\n", line_break)


def test_a_block_ends_with_its_last_content_not_at_the_next_line() -> None:
    root = root_of(WORKFLOW)
    assert root.span.text == WORKFLOW[WORKFLOW.index("name") :].rstrip()
    first = value_of(WORKFLOW, "steps", 0)
    assert first.span.text.endswith("make test")
    assert (first.span.line, first.span.column) == (6, 5)
    assert (first.span.end_line, first.span.end_column) == (10, 16)


def test_lines_and_columns_count_characters_not_bytes() -> None:
    found = scalar_of("é☺😀: [ü, {ß: x}]\n", "é☺😀", 1, "ß")
    assert (found.span.line, found.span.column, found.span.text) == (1, 14, "x")


@pytest.mark.parametrize(
    ("text", "path", "start"),
    [
        ("a:\nb: 1\n", ("a",), 2),
        ("a: # note\nb: 1\n", ("a",), 2),
        ("-\n- 1\n", (0,), 1),
        ("? a # note\n? b\n", ("a",), 3),
        ("{a , b: 1}", ("a",), 2),
        ("a: &here\nb: 1\n", ("a",), 8),
    ],
)
def test_an_omitted_value_is_an_empty_span_behind_what_precedes_it(text: str, path: Any, start: int) -> None:
    found = scalar_of(text, *path)
    assert (found.value, found.span.start, found.span.end) == (None, start, start)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("a: &x one", "one"),
        ("a: &x 'one'", "'one'"),
        ("a: &x\n  # note\n  one two\n  three", "one two\n  three"),
        ("a: &x [1, 2] # note", "[1, 2]"),
        ("a: &x\n  b: 1\n  c: 2\n", "b: 1\n  c: 2"),
        ("a: &x\n- 1\n- 2\n", "- 1\n- 2"),
        ("a: &x |\n  one\n", "|\n  one"),
    ],
)
def test_spans_leave_out_the_anchor(text: str, span: str) -> None:
    assert value_of(text, "a").span.text == span


@pytest.mark.parametrize(
    ("block", "span"),
    [
        ("|\n  one\n\n\nb: 1\n", "|\n  one"),
        (">-\n  one\n  two\n", ">-\n  one\n  two"),
        ("|+\n  one  \n   \n# note\n", "|+\n  one  "),
        ("| # note\n  one\n", "| # note\n  one"),
        ("|\n\nb: 1\n", "|"),
        ("|\r\n  one\r\n\r\nb: 1\r\n", "|\r\n  one"),
        ("|2\n    one\n", "|2\n    one"),
    ],
)
def test_a_block_scalar_spans_from_its_sign_to_its_last_content(block: str, span: str) -> None:
    assert scalar_of(f"a: {block}", "a").span.text == span


def test_every_span_of_a_child_lies_in_its_parent() -> None:
    for node in walk(root_of(WORKFLOW)):
        children: list[Any] = []
        if isinstance(node, Sequence):
            children = list(node.items)
        elif isinstance(node, Mapping):
            children = [part for entry in node.entries for part in (entry.key, entry.value)]
        for child in children:
            assert node.span.start <= child.span.start <= child.span.end <= node.span.end


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, None) for text in ("null", "Null", "NULL", "~", "")),
        *((text, True) for text in ("true", "True", "TRUE")),
        *((text, False) for text in ("false", "False", "FALSE")),
        ("0", 0),
        ("-12", -12),
        ("+7", 7),
        ("010", 10),
        ("0o17", 15),
        ("0xFf", 255),
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("-1.5E-2", -0.015),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("+.Inf", math.inf),
    ],
)
def test_plain_scalars_mean_what_yaml_1_2_says(text: str, value: Any) -> None:
    found = scalar_of(f"a: {text}\n", "a")
    assert found.value == value
    assert type(found.value) is type(value)
    assert (found.text, found.style) == (text, "")


def test_nan_is_a_float() -> None:
    assert [math.isnan(plain(scalar_of(text))) for text in (".nan", ".NaN", ".NAN")] == [True] * 3


@pytest.mark.parametrize(
    "text",
    [
        *("yes", "no", "on", "off", "y", "n", "Yes", "NO", "nUll", "tRUE"),
        *("12:30", "1:2:3", "2024-01-31", "2024-01-31 10:00:00", "1_000", "0b11", "0o8", "0xg", "-0x1"),
        *(".", "-", "+", "..", "1.2.3", "e3", "1e", ".e1", "inf", "nan", "-.nan", "=", "<<"),
    ],
)
def test_everything_else_is_text(text: str) -> None:
    assert scalar_of(f"[{text}]" if text == "-" else f"- {text}", 0).value == text


def test_dates_differ_from_pyyaml_which_reads_yaml_1_1() -> None:
    assert yaml.safe_load("2024-01-31") == date(2024, 1, 31)
    assert scalar_of("2024-01-31").value == "2024-01-31"


@pytest.mark.parametrize("text", ["'1'", '"true"', "|-\n  null", ">-\n  1.5", "''", '"~"'])
def test_quoted_and_block_scalars_are_always_text(text: str) -> None:
    found = scalar_of(f"a: {text}\n", "a")
    assert found.value == found.text
    assert isinstance(found.value, str)
    assert found.style == text[0]


def test_the_key_on_is_text() -> None:
    root = root_of("on: push\noff: 1\n")
    assert isinstance(root, Mapping)
    assert [entry.key.value for entry in root.entries] == ["on", "off"]


def test_keys_may_be_numbers_and_booleans_and_are_found_by_their_text() -> None:
    root = root_of("1: a\ntrue: b\n'1': c\n")
    assert isinstance(root, Mapping)
    assert [entry.key.value for entry in root.entries] == [1, True, "1"]
    assert plain(root.get("1")) == "a"
    assert plain(root.get("true")) == "b"


def test_a_key_that_stands_twice_is_there_twice() -> None:
    root = root_of("a: 1\nb: 2\na: 3\n")
    assert isinstance(root, Mapping)
    assert [(entry.key.text, plain(entry.value)) for entry in root.entries] == [("a", 1), ("b", 2), ("a", 3)]
    assert plain(root.get("a")) == 1
    assert root.entry("c") is None


def test_a_key_may_be_quoted_or_complex_but_scalar() -> None:
    assert plain(root_of('"a b": 1\n? c\n: 2\n')) == {"a b": 1, "c": 2}


def test_the_root_may_be_a_list_or_a_scalar() -> None:
    assert isinstance(root_of("- a\n"), Sequence)
    assert isinstance(root_of("just text\n"), Scalar)


def test_an_explicit_document_start_and_end_are_fine() -> None:
    assert plain(root_of("%YAML 1.2\n---\na: 1\n...\n")) == {"a": 1}


def test_an_integer_of_a_thousand_digits_is_an_integer() -> None:
    assert scalar_of("9" * 1_000).value == int("9" * 1_000)
