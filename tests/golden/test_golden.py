"""What the compiler makes of each construct: tests/golden/<construct>/ has a workflow, its IR, its module.

`UPDATE=1 pytest tests/golden` writes `ir.txt` and `module.py` anew; read the diff before you commit it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support import is_black_stable, load, workflow_of
from tests.type_checker import mypy
from wfc.checker import check_project
from wfc.compiler import compile_file
from wfc.findings import Severity
from wfc.ir import dump
from wfc.project import Project

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in HERE.glob("*/workflow.yaml"))
CALLED = (HERE / "called.yaml").read_text(encoding="utf-8").split("---\n")
"""The workflows that the case `call` calls."""

each_case = pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)


def project_of(case: Path) -> Project:
    return load((case / "workflow.yaml").read_text(encoding="utf-8"), *CALLED)


def module_of(case: Path) -> str:
    return compile_file(project_of(case).files[0], "workflow.yaml").text


def expect(path: Path, actual: str) -> None:
    if os.environ.get("UPDATE"):
        path.write_text(actual, encoding="utf-8", newline="")
    assert path.read_bytes().decode() == actual


@each_case
def test_it_has_no_errors(case: Path) -> None:
    found = check_project(project_of(case))
    assert [str(item) for item in found if item.severity is Severity.ERROR] == []


@each_case
def test_it_is_lowered_to_this_chart(case: Path) -> None:
    module = project_of(case).files[0].module
    assert module is not None
    expect(case / "ir.txt", dump(module))


@each_case
def test_it_is_emitted_as_this_module(case: Path) -> None:
    expect(case / "module.py", module_of(case))


@each_case
def test_black_leaves_its_module_alone(case: Path) -> None:
    assert is_black_stable(module_of(case))


@each_case
def test_its_module_can_be_imported(case: Path) -> None:
    workflow = workflow_of(module_of(case))
    file = project_of(case).files[0]
    assert workflow.name == file.name
    assert set(workflow.tasks) == set(file.workflow.declared_tasks if file.workflow else ())


def test_their_modules_pass_mypy_strict(tmp_path: Path) -> None:
    paths = [tmp_path / f"{case.name}_module.py" for case in CASES]
    for path, case in zip(paths, CASES, strict=True):
        path.write_text(module_of(case), encoding="utf-8")
    assert mypy(*paths) == ""
