"""Values as source: black must find nothing to change, and Python must read back what was printed."""

from __future__ import annotations

import ast
from typing import Any

import black
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wfc.emit.printer import Call, Tuple, print_assignment, print_class, print_value, quoted
from wfc.ir import Ref

LONG = "a rather long text that takes up most of a line"


def is_stable(source: str) -> bool:
    return black.format_str(source, mode=black.Mode()) == source


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (None, "None"),
        (True, "True"),
        (7, "7"),
        (1e300, "1e300"),
        (0.5, "0.5"),
        ("plain", '"plain"'),
        ('say "hi"', "'say \"hi\"'"),
        ("both ' and \"", '"both \' and \\""'),
        ("tab\tline\nnull\x00", '"tab\\tline\\nnull\\x00"'),
        ("back\\slash", '"back\\\\slash"'),
        ("ä 日 🙂", '"ä 日 🙂"'),
        ("\u2028\ud800", '"\\u2028\\ud800"'),
        ([], "[]"),
        ({}, "{}"),
        ([1, "two", None], '[1, "two", None]'),
        ({"a": [1], "b": {}}, '{"a": [1], "b": {}}'),
        (Tuple(("one",)), '("one",)'),
        (Tuple(("one", "two")), '("one", "two")'),
        (Ref("ShellResult"), "ShellResult"),
        (Call("State", ("build",), {"initial": True}), 'State("build", initial=True)'),
        (Call("Field", (), {}), "Field()"),
    ],
)
def test_a_short_value_stands_on_one_line(value: Any, printed: str) -> None:
    assert print_value(value, 0, 0) == printed


def test_a_call_that_does_not_fit_has_one_argument_a_line() -> None:
    call = Call("Return", (), {"value": LONG, "reads": Tuple(("one", "two")), "writes": "three"})
    assert print_assignment("step", call, 1) == (
        "    step = Return(\n"
        f'        value="{LONG}",\n'
        '        reads=("one", "two"),\n'
        '        writes="three",\n'
        "    )"
    )


def test_what_stands_around_a_value_counts() -> None:
    value = ["x" * 40, "y" * 40]
    assert "\n" not in print_value(value, 0, 0)
    assert "\n" in print_value(value, 0, 1)
    assert "\n" in print_value(value, 0, 0, after=1)
    assert "\n" in print_value(value, 1, 0)


def test_text_of_several_lines_has_one_literal_a_line() -> None:
    text = f"{LONG}\n\n  {LONG}\nend"
    assert print_value(text, 0, 0) == f'(\n    "{LONG}\\n"\n    "\\n"\n    "  {LONG}\\n"\n    "end"\n)'


def test_one_long_line_stays_whole() -> None:
    text = "word " * 40
    assert print_value(text, 0, 0) == f'"{text}"'


def test_a_long_name_on_the_left_puts_the_value_in_brackets() -> None:
    name = "n" * 80
    assert print_assignment(name, "value", 0) == f'{name} = (\n    "value"\n)'


@pytest.mark.parametrize("length", [20, 33, 34, 35, 36, 45, 60, 69, 70, 75])
@pytest.mark.parametrize("condition", ["", "{{ n }}", "{{ a and b and c and d and e }}", "{{ n }}" * 20])
def test_a_call_that_has_no_room_beside_its_name_is_laid_out_as_black_would(
    length: int, condition: str
) -> None:
    """So are the edges that leave a parallel step whose id is long."""
    keywords = {"cond": Call("when", (condition, "n", "m"))} if condition else {}
    value = Call(f"{'s' * length}.to", (Ref("t" * length),), keywords)
    assert is_stable("class chart:\n" + print_assignment(f"done_state_{'s' * length}", value, 1) + "\n")


def test_a_class_shows_its_bases_and_keywords() -> None:
    bases = (Ref("State.Parallel"),)
    assert print_class("both", bases, {"name": "both"}, 1) == '    class both(State.Parallel, name="both"):'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=20), inner, max_size=5),
    max_leaves=30,
)


@given(st.text())
def test_a_literal_means_the_text_that_it_was_made_from(text: str) -> None:
    assert ast.literal_eval(quoted(text)) == text


@given(JSON, st.integers(1, 60))
def test_black_leaves_an_assignment_alone_and_python_reads_it_back(value: Any, length: int) -> None:
    source = print_assignment("n" * length, value, 0) + "\n"
    if all(len(line) <= 88 for line in source.split("\n")):
        assert is_stable(source)
    found: dict[str, Any] = {"inf": float("inf")}
    exec(source, found)
    assert found["n" * length] == value
