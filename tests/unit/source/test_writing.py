"""YAML that we write reads back as what it was made from."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wfc.language.values import plain
from wfc.yaml import YamlLimits, parse_document, read_source
from wfc.yaml.write import write_yaml

KEYS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), min_size=1, max_size=8)
WORDS = [
    "a\nb",
    "a\n\n",
    " a\nb",
    "a\n  b\n",
    "yes",
    "1.0",
    "null",
    "- a",
    "a: b",
    "# a",
    "\t",
    "{{ a }}",
    "a, b",
    "",
]
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.text(st.characters(codec="utf-8"), max_size=30)
    | st.sampled_from(WORDS)
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)


def read(text: str) -> Any:
    source, problems = read_source(text.encode(), "a.yaml", 1_000_000)
    assert problems == []
    document = parse_document(source, YamlLimits(64, 100_000))
    assert document.problems == []
    assert document.root is not None
    return plain(document.root)


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4))
def test_what_is_written_reads_back_the_same(data: dict[str, Any]) -> None:
    assert read(write_yaml(data)) == data


def test_it_looks_as_a_person_would_write_it() -> None:
    data = {
        "name": "a b",
        "version": "1.0",
        "steps": [{"id": "x", "needs_state": ["a", "b"], "command": "one\ntwo\n", "env": {"A": "{{ x }}"}}],
        "nothing": {},
    }
    assert (
        write_yaml(data)
        == """name: a b
version: "1.0"
steps:
  - id: x
    needs_state: [a, b]
    command: |
      one
      two
    env:
      A: "{{ x }}"
nothing: {}
"""
    )


@pytest.mark.parametrize("text", ["a\n", "a\n\nb", "a\n\n\n", "x\ty\nz"])
def test_lines_stay_lines(text: str) -> None:
    written = write_yaml({"a": text, "b": 1})
    assert "\\n" not in written
    assert read(written) == {"a": text, "b": 1}
