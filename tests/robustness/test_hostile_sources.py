"""Any bytes in, findings out: no source makes wfc fall over, hang, or eat the machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.counting import calls_of
from tests.e2e.command import wfc
from tests.property.modules import imported
from tests.property.survival import CONFIG, compiled, survived
from tests.robustness.cases import CASES, RIGHT, Case
from tests.robustness.measured import measured
from wfc.cli.shared.output import FORMATS
from wfc.findings import Severity

CALLS = 6_000_000
"""The most that any of these files may take to compile; the heaviest takes two thirds of it."""
MEGABYTES = 300.0
LIGHT = [case for case in CASES if not case.heavy]
HEAVY = [case for case in CASES if case.heavy]


def as_read(case: Case) -> bytes:
    """What the command line reads of a file: never more than one byte past the limit."""
    return case.data[: CONFIG.limits.source_bytes + 1]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_gives_a_clear_finding_or_is_simply_right(case: Case) -> None:
    result = survived(as_read(case))
    found = [item for item in result.findings if item.severity is not Severity.INFO]
    if case.codes:
        assert case.codes <= {item.code for item in found}
        assert case.says in "\n".join(f"{item.message} {item.help}" for item in found)
    else:
        assert found == []


@pytest.mark.parametrize("case", [case for case in CASES if not case.codes], ids=str)
def test_what_is_right_imports(case: Case) -> None:
    [module] = survived(as_read(case)).modules
    with imported(module.text) as workflow:
        assert workflow.name


@pytest.mark.parametrize("case", HEAVY, ids=str)
def test_it_takes_little_work(case: Case) -> None:
    """`make bench` has the seconds."""
    assert calls_of(lambda: compiled(as_read(case))) < CALLS


@pytest.mark.parametrize("case", HEAVY, ids=str)
def test_it_takes_little_memory(case: Case, tmp_path: Path) -> None:
    (tmp_path / "odd.yaml").write_bytes(case.data)
    cost = measured("compile", "odd.yaml", "-o", "made", cwd=tmp_path)
    assert cost.status == (1 if case.codes else 0), cost.err
    assert cost.err == ""
    assert cost.megabytes < MEGABYTES


@pytest.mark.parametrize("form", FORMATS)
def test_the_command_line_prints_them_all_in_every_format(tmp_path: Path, form: str) -> None:
    for number, case in enumerate(LIGHT):
        (tmp_path / f"case{number}.yaml").write_bytes(case.data)
    done = wfc("check", ".", "--format", form, cwd=tmp_path)
    assert done.status == 1
    assert done.err == ""
    assert "Traceback" not in done.out
    if form in ("json", "sarif"):
        assert json.loads(done.out)


@pytest.mark.parametrize("name", ["a b.yaml", "日本.yaml", "-q.yaml", "line\nbreak.yaml", "%s{x}.yaml"])
def test_file_names_can_be_anything(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("{}", encoding="utf-8")
    done = wfc("check", ".", cwd=tmp_path)
    assert done.status == 1
    assert "Traceback" not in done.err + done.out


def test_a_folder_called_like_a_workflow_and_the_lock_of_an_editor_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / ".#odd.yaml").symlink_to("somebody@somewhere.1234")
    (tmp_path / "odd.yaml").write_text(RIGHT, encoding="utf-8")
    done = wfc("check", ".", cwd=tmp_path)
    assert (done.status, done.out, done.err) == (0, "checked 1 workflow: all clean\n", "")


def test_a_folder_that_contains_itself_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "again").symlink_to(".")
    (tmp_path / "odd.yaml").write_text("{}", encoding="utf-8")
    done = wfc("check", ".", cwd=tmp_path)
    assert done.out.endswith("checked 1 workflow: 3 errors\n")
