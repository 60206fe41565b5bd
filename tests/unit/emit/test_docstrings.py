"""Descriptions as docstrings."""

from __future__ import annotations

import ast

import black
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wfc.emit.printer import docstring


def test_nothing_to_say_is_no_docstring() -> None:
    assert docstring("", 0) == []
    assert docstring(" \n\t ", 1) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Deploy a service.", '"""Deploy a service."""'),
        ("  Deploy\n  a   service. ", '"""Deploy a service."""'),
        ('Say "hi"', '"""Say "hi" """'),
        ('"Hi" it says', '""" "Hi" it says"""'),
        ('Three """ of them', '"""Three \\"\\"\\" of them"""'),
        ("C:\\temp", '"""C:\\\\temp"""'),
        ("Bell \x07 and nul \x00.", '"""Bell and nul ."""'),
    ],
)
def test_a_short_one_stands_on_one_line(text: str, line: str) -> None:
    assert docstring(text, 0) == [line]


def test_a_long_one_is_wrapped_with_its_end_on_a_line_of_its_own() -> None:
    lines = docstring("many words " * 20, 1)
    assert lines[0].startswith('    """many words')
    assert lines[-1] == '    """'
    assert max(map(len, lines)) <= 88


def test_one_word_that_is_too_long_stays_whole() -> None:
    assert docstring("x" * 100, 0) == [f'"""{"x" * 100}"""']


def test_the_library_finds_no_picture_to_draw_in_it() -> None:
    assert "{statechart:" not in docstring("See {statechart:mermaid}.", 0)[0]


@given(st.text(alphabet=st.sampled_from('ab"\\ \n{}日'), max_size=200), st.integers(0, 1))
@example('"' + "x" * 100 + ' y"', 1)
def test_black_leaves_it_alone_and_it_says_the_same(text: str, indent: int) -> None:
    lines = docstring(text, indent)
    if not lines:
        return
    head, body = ("class A:\n", "\n    x = 1\n") if indent else ("", "\nx = 1\n")
    source = head + "\n".join(lines) + "\n" + body
    assert black.format_str(source, mode=black.Mode()) == source
    tree = ast.parse(source)
    node = tree.body[0] if indent else tree
    assert isinstance(node, ast.Module | ast.ClassDef)
    assert (ast.get_docstring(node) or "").split() == text.split()
