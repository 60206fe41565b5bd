"""A check that raises is a defect of wfc: the others still speak, and the command says what to report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import load
from wfc.checker import check_project
from wfc.cli import check as check_command
from wfc.cli import compile as compile_command
from wfc.project import SourceFile
from wfc.rules import BY_CODE
from wfc.rules.base import Finding

TEXT = """\
name: w
version: "1.0.0"
steps:
  - {id: a, type: shell, command: make, output_to: on}
  - {id: a, type: return, value: "{{ state.gone }}"}
"""


@pytest.fixture(autouse=True)
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    def boom(file: SourceFile) -> Iterator[Finding]:
        raise KeyError("sk-secret")
        yield

    monkeypatch.setattr(BY_CODE["WF305"], "check", boom)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "w.yaml"
    path.write_text(TEXT)
    return str(path)


def test_the_others_speak_and_the_one_that_failed_asks_to_be_reported() -> None:
    found = check_project(load(TEXT))
    assert {one.code for one in found} >= {"WF101", "WF303", "WF305"}
    crash = next(one for one in found if one.is_crash)
    assert crash.name == "maybe-unset"
    assert crash.message.startswith("internal error: this check failed (KeyError at ")
    assert crash.message.endswith("test_checks_that_fail.py:31); please report it")
    assert "secret" not in crash.message


def test_it_can_not_be_ignored() -> None:
    found = check_project(load(TEXT.replace("name: w", "name: w # wfc: ignore[WF305]")))
    assert [one.code for one in found if one.is_crash] == ["WF305"]


@pytest.mark.parametrize("form", ["text", "json", "github", "sarif"])
def test_check_prints_all_findings_and_exits_with_3(
    file: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = check_command.command.main([file, "--format", form], standalone_mode=False)
    out = capsys.readouterr().out
    assert status == 3
    assert "WF101" in out
    assert "please report it" in out
    if form == "json":
        assert {one["code"] for one in json.loads(out)["findings"]} >= {"WF101", "WF305"}


def test_such_an_answer_is_not_remembered(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_command.command.main([file, "-q"], standalone_mode=False) == 3
    monkeypatch.undo()
    assert check_command.command.main([file, "-q"], standalone_mode=False) == 1


def test_compile_exits_with_3_and_makes_no_module(file: str, tmp_path: Path) -> None:
    Path(file).write_text(
        TEXT.replace("id: a, type: return", "id: b, type: return").replace("state.gone", "1")
    )
    made = tmp_path / "made"
    assert compile_command.command.main([file, "-o", str(made)], standalone_mode=False) == 3
    assert not made.exists() or list(made.glob("*.py")) == []
