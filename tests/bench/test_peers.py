"""The comparison with other engines: that each is put through all of the workload, or said to be missing."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bench import __main__ as bench
from tests.bench import chart, contest
from tests.bench.contest import FLOOR, PEERS, WFC, Engine
from tests.bench.peers.driving import RESULT_BYTES, result_of
from tests.bench.rows import peers
from tests.bench.seat import Seat, Turn
from tests.bench.venvs import CannotInstallError
from tests.runtime.support import compile_to


def quiet(line: str) -> None:
    pass


def test_the_results_are_300_bytes_and_differ_from_step_to_step() -> None:
    texts = {json.dumps(result_of(number)) for number in range(200)}
    assert len(texts) == 200
    assert {len(text) for text in texts} == {RESULT_BYTES}


def test_ours_and_the_floor_do_the_whole_workload_across_two_processes() -> None:
    lines: list[str] = []
    engines = {WFC: Path(sys.executable), FLOOR: Path(sys.executable)}
    taken, reports = contest.work_through(engines, 6, 3, lines.append)
    assert [line.partition(":")[0] for line in lines] == [
        f"{what}{half} half"
        for half in ("first", "second")
        for what in ("", "wfc, 3 runs, ", "bare SQLite transaction, 3 runs, ")
    ]
    assert {engine.name: len(turns) for engine, turns in taken.items()} == {"wfc": 2, "floor": 2}
    assert {engine.name: report["clients"] for engine, report in reports.items()} == {"wfc": 3, "floor": 1}


def turns(*seconds: float, processor: float = 0.5) -> list[Turn]:
    return [Turn(one, one * processor) for one in seconds]


def test_turns_that_something_else_made_slow_do_not_count() -> None:
    slow_machine = {WFC: turns(2.0, 20.0, 2.0), FLOOR: turns(1.0, 10.0, 1.0)}
    quick_machine = {WFC: turns(0.3, 0.3, 90.0), FLOOR: turns(0.1, 0.1, 0.1, processor=0.3)}
    figures = contest.figures_of(FLOOR, slow_machine, quick_machine, {"about": "as it is", "clients": 100})
    assert figures["one"] == {"to_floor": 1.0, "to_wfc": 0.5, "processor_to_wfc": 0.5}
    assert figures["many"] == {"to_floor": 1.0, "to_wfc": 0.33, "processor_to_wfc": 0.2}


def test_a_run_that_comes_to_something_else_is_no_result(tmp_path: Path) -> None:
    compile_to(tmp_path / "generated", contest.WORKFLOW)
    options = ["--steps", "4", "--runs", "1"]
    with Seat(Path(sys.executable), WFC, tmp_path, ["first", *options]) as seat:
        seat.turn(2)
        seat.end()
    with Seat(Path(sys.executable), WFC, tmp_path, ["second", *options]) as seat:
        seat.turn(1)  # the last step is missing
        with pytest.raises(RuntimeError, match="exited with 1"):
            seat.end()


def test_one_peer_does_the_whole_workload_in_its_own_venv() -> None:
    burr = next(peer for peer in PEERS if peer.name == "burr")  # It is installed in no time.
    try:
        python = contest.python_of(burr, quiet)
    except CannotInstallError as error:
        pytest.skip(str(error))
    figures = contest.measure({burr: python}, quiet, steps=4, runs=2, rounds=1)
    assert figures["engines"][-1]["name"] == "burr"
    assert figures["engines"][-1]["one"]["to_floor"] > 0


def test_a_package_that_is_not_to_be_had_is_named(tmp_path: Path) -> None:
    engine = Engine("nothing", "Nothing", (f"{tmp_path}/no-such-package",))
    with pytest.raises(CannotInstallError, match="no-such-package can't be installed: "):
        contest.python_of(engine, quiet, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_peer_that_is_not_to_be_had_fails_its_section_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def python_of(engine: Engine, progress: Callable[[str], None]) -> Path:
        raise CannotInstallError(f"{engine.packages[0]} can't be installed: no network")

    def measure(found: dict[Engine, Path], progress: Callable[[str], None]) -> dict[str, Any]:
        ratio = {"to_floor": 2.0, "to_wfc": 1.0, "processor_to_wfc": 1.0}
        ratios = dict.fromkeys(("one", "many"), ratio)
        return {"runs": 100, "engines": [{"name": "wfc", "about": "as it is", "clients": 100, **ratios}]}

    def write(figures: dict[str, Any]) -> list[Path]:
        raise AssertionError("the chart must stay as it was")

    monkeypatch.setattr(contest, "python_of", python_of)
    monkeypatch.setattr(contest, "measure", measure)
    monkeypatch.setattr(chart, "write", write)
    peers._measured.cache_clear()
    assert bench.main(["peers", "--write"]) == 1
    peers._measured.cache_clear()
    shown = capsys.readouterr()
    assert "wfc, one run: a step, to a bare transaction" in shown.out
    assert "dbos==3.3.0 can't be installed: no network" in shown.out
    assert "not compared with Burr, SQLite persister, LangGraph, SQLite saver, DBOS, SQLite" in shown.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["nonsense"],
            "there is no section nonsense; there are blocks, compiler, derived, editor, growth, javascript, page",
        ),
        (["compiler", "--write"], "--write needs the section peers"),
    ],
)
def test_wrong_usage_is_said(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.main(arguments)
    assert message in capsys.readouterr().err
