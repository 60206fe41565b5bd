"""Modules of accepted workflows pass mypy --strict, also where a default is not of the type that is declared."""

from __future__ import annotations

from pathlib import Path

from tests.support import check, load, workflow_of
from tests.type_checker import mypy
from wfc.compiler import compile_file
from wfc.findings import Severity

BLOCKS = """\
name: blocks
description: Here a wrong default is only a warning.
inputs:
  n: {type: num, default: five}
  s: {type: str, default: 5}
  f: {type: bool, default: maybe}
  l: {type: list, default: x}
  d: {type: dict, default: [1]}
  i: {type: int, default: 1.5}
  b: {type: int, default: true}
  m: {type: bool, default: {a: 1}}
  unchecked: {type: int, default: x}
  later: {type: int, default: x}
blocks:
  - {id: build, type: Shell, inputs: {command: make}}
"""
STEPS = """\
name: steps
version: 1.0.0
initial_state: {obj: {}, part: {stdout: x}, list: [{}], unchecked: {}, later: {}, for: {}}
steps:
  - {id: one, type: shell, command: make, output_to: obj}
  - {id: two, type: shell, command: make, output_to: part}
  - {id: three, type: set_state, updates: {list: [{a: 1}]}}
  - {id: four, type: shell, command: make, output_to: unchecked}
  - {id: five, type: shell, command: make, output_to: later}
  - {id: six, type: shell, command: make, output_to: for}
"""


def test_modules_with_wrong_defaults_pass_mypy_and_keep_the_defaults(tmp_path: Path) -> None:
    paths = []
    for text in (BLOCKS, STEPS):
        assert [one.message for one in check(text) if one.severity is Severity.ERROR] == []
        module = compile_file(load(text).files[0], "w.yaml").text
        paths.append(tmp_path / f"made_{len(paths)}.py")
        paths[-1].write_text(module, encoding="utf-8")
    assert mypy(*paths) == ""
    blocks, steps = (workflow_of(path.read_text(encoding="utf-8")) for path in paths)
    inputs = vars(blocks.machine.inputs())
    assert (inputs["n"], inputs["d"], inputs["b"], inputs["later"]) == ("five", [1], True, "x")
    assert inputs["m"] == {"a": 1}
    assert steps.machine.simulate({}).state["obj"] == {}
