"""`wfc explore`: what is printed and written, exit codes, bounds, and the same seed twice."""

from __future__ import annotations

import itertools
import json
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner

from tests.support import ROOT, is_sampled, load
from tests.unit.explore.support import HEAD, search_in
from tests.unit.explore.test_problems import COUNT, HIDDEN
from wfc.author.answers import read_answers
from wfc.cli.main import cli
from wfc.project import SourceFile
from wfc_runtime.plan import explain_plan

SHIPPED = sorted(path.stem for path in (ROOT / "workflows").glob("*.yaml") if not path.stem.endswith(".test"))

UNPROMISED = {"check-csv", "pr-automation", "release-notes"}
"""Rightly found: they read keys of an object whose schema is open: a result of an agent, the JSON that `gh` prints."""
UNLIMITED = {"bugs-triage", "deps-audit"}
"""Workflows with a loop over a list of any length."""


def run(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["explore", *map(str, arguments)], standalone_mode=False)
    if done.exception:
        raise done.exception
    return done.return_value, done.stdout


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "w.yaml"
    path.write_text(f"{HEAD}steps:\n{COUNT}{HIDDEN}", encoding="utf-8")
    return path


def test_a_problem_is_printed_with_its_place_its_reason_and_its_answers(file: Path) -> None:
    status, out = run("w.yaml", "--runs", "200")
    assert status == 1
    lines = out.splitlines()
    assert lines[0] == "w.yaml:26: an expression fails: step boom of w"
    assert lines[1].startswith("  state.count.parts has no item 3")
    assert lines[2:5] == ["  answers that reproduce it:", "    answers:", "      count:"]
    assert lines[-1] == "w: 1 problem, 4 of 4 branches reached, 200 runs with seed 0"
    assert "\x1b" not in out


def test_what_is_called_has_to_be_there(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(
        "name: w\ndescription: d\nblocks:\n  - {id: a, type: Workflow, inputs: {workflow: gone}}\n",
        encoding="utf-8",
    )
    done = CliRunner().invoke(cli, ["explore", str(path)], standalone_mode=False)
    assert (done.exception, done.return_value) == (None, 1)
    assert f"{path} calls `gone`: no such workflow" in done.stderr


def test_the_same_seed_gives_the_same_output_and_another_one_other_runs(file: Path) -> None:
    first = run("w.yaml", "--runs", "150", "--json", "--seed", "7")
    assert first == run("w.yaml", "--runs", "150", "--json", "--seed", "7")
    assert json.loads(first[1])["seed"] == 7


def test_answers_are_written_to_a_folder_that_is_new(file: Path) -> None:
    status, out = run("w.yaml", "--runs", "150", "--out", "found/here")
    assert status == 1
    assert "answers are in found/here\n" in out
    path, tests = sorted(Path("found/here").iterdir())
    assert (path.name, tests.name) == ("01-expression-boom.yaml", "w.test.yaml")
    written = yaml.safe_load(tests.read_text(encoding="utf-8"))
    assert written["workflow"] == "../../w.yaml"
    [test] = written["tests"]
    assert test["name"].startswith("boom: state.count.parts has no item 3")
    assert {"answers": test["answers"]} == yaml.safe_load(path.read_text(encoding="utf-8"))
    read = read_answers(path.name, path.read_bytes())
    assert (read.problems, list(read.scripts)) == ((), ["count"])
    with pytest.raises(click.UsageError, match="is not empty"):
        run("w.yaml", "--out", "found/here")


def test_it_says_when_the_time_was_up(file: Path) -> None:
    _, out = run("w.yaml", "--seconds", "0.000001")
    assert "stopped at the time limit after 0 of 1000 runs" in out
    found: dict[str, Any] = json.loads(run("w.yaml", "--seconds", "0.000001", "--json")[1])
    assert found["cut_by_time"] is True


def test_inputs_can_be_held_and_those_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(
        f"{HEAD}inputs:\n  n: {{type: number, required: true, validation: {{min: 0}}}}\nsteps:\n"
        '  - {id: d, type: return, value: "{{ 1 / inputs.n }}"}\n',
        encoding="utf-8",
    )
    assert run(path, "--runs", "20")[0] == 1
    assert run(path, "--runs", "20", "--input", "n=3")[0] == 0
    with pytest.raises(click.UsageError, match="no run can be started: `n` must be at least 0"):
        run(path, "--input", "n=-1")


def test_a_workflow_with_an_error_is_not_explored(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(f"{HEAD}steps:\n  - {{id: a, type: shel}}\n", encoding="utf-8")
    assert run(path) == (1, "")


@cache
def shipped() -> dict[str, SourceFile]:
    texts = [(ROOT / "workflows" / f"{name}.yaml").read_text(encoding="utf-8") for name in SHIPPED]
    return dict(zip(SHIPPED, load(*texts).files, strict=True))


@pytest.mark.parametrize("name", list(filter(is_sampled, SHIPPED)))
def test_no_shipped_workflow_has_a_problem_and_every_run_keeps_to_its_plan(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    explore(name, monkeypatch)


@pytest.mark.parametrize("name", list(itertools.filterfalse(is_sampled, SHIPPED)))
def test_no_further_workflow_of_the_library_has_a_problem(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    explore(name, monkeypatch)


def explore(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drive a workflow with generated results, and compare the runs with its plan."""
    monkeypatch.chdir(ROOT)
    file = shipped()[name]
    assert file.name is not None
    search = search_in(file, runs=50)
    workflows = {key: module.workflow for key, module in search.world.modules.items()}
    plan = explain_plan(workflows[file.name], workflows.get)["actions"]
    asked: list[tuple[str, int]] = []
    add = search.findings.add
    monkeypatch.setattr(
        search.findings, "add", lambda trace: (asked.append((trace.status, len(trace.asked))), add(trace))
    )
    search.go()
    assert [which for which in search.findings.problems() if which[1] not in UNPROMISED] == []
    assert (plan["most"] is None) == (name in UNLIMITED)
    # The actions of children whose number is not limited are counted per item.
    is_limited = plan["most"] is not None and not plan.get("per_item")
    assert not is_limited or max(number for _, number in asked) <= plan["most"]
    assert all(number >= plan["least"] for status, number in asked if status == "completed")
