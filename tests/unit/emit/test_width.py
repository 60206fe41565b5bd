"""How wide a line is: as wide as black takes it for, so that both break it at the same place."""

from __future__ import annotations

import math
import sys

import black
import pytest
from black.strings import str_width

from tests.property.modules import imported
from tests.property.survival import compiled
from tests.support import is_black_stable
from wfc.emit.printer import UNSURE, print_assignment, width

FLOW = """\
name: {name}
version: "1.0.0"
steps:
  - id: done
    type: return
    value: {value}
"""


def module(value: str, name: str = "odd") -> str:
    [made] = compiled(FLOW.format(name=name, value=value)).modules
    return made.text


def test_every_printable_character_is_as_wide_as_black_says_or_left_to_black() -> None:
    printable = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isprintable()]
    assert [char for char in printable if width(char) != str_width(char) and not UNSURE.match(char)] == []


@pytest.mark.parametrize("char", ["日", "🚀", "é", "☰", "🏻", "\u0301"])
@pytest.mark.parametrize("count", [20, 30, 36, 40, 70, 80])
def test_a_module_with_wide_characters_is_laid_out_as_black_would(char: str, count: int) -> None:
    assert is_black_stable(module(f'{{text: "{char * count}", list: [a, b]}}'))


@pytest.mark.parametrize("number", [1e300, 1e-300, 2.5e16, -1e22])
def test_exponents_are_written_as_black_writes_them(number: float) -> None:
    line = print_assignment("x", number, 0) + "\n"
    assert black.format_str(line, mode=black.Mode()) == line
    assert float(line.split("=")[1]) == number


def test_numbers_without_a_literal_are_written_as_calls() -> None:
    assert print_assignment("x", [math.inf, -math.inf], 0) == 'x = [float("inf"), float("-inf")]'


def test_parallel_steps_in_a_row_have_one_empty_line_between_them() -> None:
    branch = "one: [{{id: make-{n}, type: shell, command: make}}]"
    step = f"  - id: both-{{n}}\n    type: parallel\n    branches:\n      {branch}\n"
    steps = "".join(step.format(n=n) for n in range(3))
    [made] = compiled(f'name: odd\nversion: "1.0.0"\nsteps:\n{steps}').modules
    assert "\n\n\n        class" not in made.text
    assert is_black_stable(made.text)


@pytest.mark.parametrize("name", ["none", "True", "false"])
def test_a_workflow_may_be_called_like_a_constant_of_python(name: str) -> None:
    with imported(module("1", name=f'"{name}"')) as workflow:
        assert workflow.name == name
