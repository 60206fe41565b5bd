"""Line maps: what is written is read back, and nothing else is believed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wfc_runtime.header import digest
from wfc_runtime.line_map import LineMap, read_line_map, write_line_map

SOURCE = digest("name: w")
MAP = write_line_map("workflows/w.yaml", SOURCE, {"w": {"build": 5, "test": 6}, "audit": {"look": 9}})
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(names, st.dictionaries(names, st.dictionaries(names, st.integers(1, 99_999)), max_size=3))
def test_a_map_is_read_as_it_was_written(path: str, lines: dict[str, dict[str, int]]) -> None:
    text = write_line_map(path, SOURCE, lines)
    assert read_line_map(text) == LineMap(path, SOURCE, lines, edited=False)


def test_each_machine_has_one_line() -> None:
    assert MAP.splitlines()[4:] == [
        '  "lines": {',
        '    "w": {"build": 5, "test": 6},',
        '    "audit": {"look": 9}',
        "  }",
        "}",
    ]


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", "{", '{"about": 1}', '{"about": "by hand", "lines": {}}', "[" * 100_000]
)
def test_other_files_are_not_taken_for_maps(text: str) -> None:
    assert read_line_map(text) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"build": 5', '"build": 6'),
        ('"build": 5', '"build": -5'),
        ('"build": 5', '"build": true'),
        ('"build": 5', '"build": 5.0'),
        ('"build": 5', '"build": "5"'),
        ('"build": 5', '"build": 4, "build": 5'),
        ('"build": 5', '"built": 5'),
        ('"w": {', '"w": [], "x": {'),
        ('"lines"', '"more": 1, "lines"'),
        ("workflows/w.yaml", "workflows/x.yaml"),
        (SOURCE, digest("another")),
        ("}\n", "}\n\n"),
    ],
)
def test_a_map_that_was_edited_is_recognised(old: str, new: str) -> None:
    edited = read_line_map(MAP.replace(old, new))
    assert edited is not None
    assert edited.edited


def test_a_map_is_json_that_other_programs_can_read() -> None:
    assert json.loads(MAP)["lines"]["audit"] == {"look": 9}
