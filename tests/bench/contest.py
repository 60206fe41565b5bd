"""All engines on the same workload, in one go: their venvs, their processes, and the figures that come of it."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from tests.bench.peers.driving import RESULT_BYTES, result_of
from tests.bench.peers.floor import bytes_of_a_step
from tests.bench.peers.wfc import WORKFLOW, Wfc
from tests.bench.seat import Seat, Turn
from tests.bench.venvs import VENVS, Progress, python_with
from tests.runtime.support import compile_to

STEPS = 200
RUNS = 100
ROUNDS = 6
_TURN = 25
"""Steps of one run: as many as there are between two times that pages go from a log to its file. Of many runs, a few
each."""
_TURN_OF_MANY = 5

Figures = dict[str, Any]
Report = dict[str, Any]


@dataclass(frozen=True)
class Engine:
    """One of those compared, driven by the module of its name in tests.bench.peers."""

    name: str
    title: str
    packages: tuple[str, ...] = ()
    """What its venv has. Without any, it is measured in this one."""


FLOOR = Engine("floor", "bare SQLite transaction")
WFC = Engine("wfc", "wfc")
PEERS = (
    Engine("burr", "Burr, SQLite persister", ("apache-burr==0.43.0",)),
    Engine(
        "langgraph", "LangGraph, SQLite saver", ("langgraph==1.2.20", "langgraph-checkpoint-sqlite==3.1.2")
    ),
    Engine("dbos", "DBOS, SQLite", ("dbos==3.3.0",)),
)


Slices = dict[Engine, list[Turn]]
"""What each turn took."""


def python_of(engine: Engine, progress: Progress, venvs: Path = VENVS) -> Path:
    """The interpreter that drives an engine."""
    return (
        python_with(engine.name, engine.packages, progress, venvs)
        if engine.packages
        else Path(sys.executable)
    )


def measure(
    peers: dict[Engine, Path],
    progress: Progress,
    *,
    steps: int = STEPS,
    runs: int = RUNS,
    at_once: int | None = None,
    rounds: int = ROUNDS,
) -> Figures:
    """All engines with one run each, a few times over; then all with many at once, as long or of `at_once` steps."""
    many_steps = at_once or steps
    engines = {WFC: Path(sys.executable), FLOOR: Path(sys.executable), **peers}
    alone: Slices = {one: [] for one in engines}
    for _ in range(rounds):
        taken, _ = work_through(engines, steps, 1, progress)
        for engine, slices in taken.items():
            alone[engine] += slices
    together, reports = work_through(engines, many_steps, runs, progress)
    found = [figures_of(one, alone, together, reports[one]) for one in engines]
    sizes = {"steps": steps, "bytes": RESULT_BYTES, "runs": runs, "steps_at_once": many_steps}
    return {**sizes, "engines": found}


def figures_of(engine: Engine, alone: Slices, together: Slices, report: Report) -> Figures:
    """Ratios only: the times of one machine say little on another."""
    ratios = {
        key: {
            "to_floor": _ratio(engine, FLOOR, slices, _seconds),
            "to_wfc": _ratio(engine, WFC, slices, _seconds),
            "processor_to_wfc": _ratio(engine, WFC, slices, _processor),
        }
        for key, slices in (("one", alone), ("many", together))
    }
    facts = {"name": engine.name, "title": engine.title, "packages": list(engine.packages)}
    return {**facts, "about": report["about"], "clients": report["clients"], **ratios}


_seconds, _processor = attrgetter("seconds"), attrgetter("processor")


def _ratio(engine: Engine, base: Engine, slices: Slices, what: Callable[[Turn], float]) -> float:
    """Of the quicker quarter of the turns of each: what else a machine does only ever makes a turn slower."""
    return round(_quick(map(what, slices[engine])) / _quick(map(what, slices[base])), 2)


def _quick(times: Iterable[float]) -> float:
    return statistics.quantiles(times, n=4, method="inclusive")[0]


def work_through(
    engines: dict[Engine, Path], steps: int, runs: int, progress: Progress
) -> tuple[Slices, dict[Engine, Report]]:
    """The workload on new files: what each turn took, and what the engines say of themselves."""
    taken: Slices = {one: [] for one in engines}
    VENVS.mkdir(exist_ok=True)
    # On the disk of the clone: where temporary files live in memory, nothing would be durable.
    with tempfile.TemporaryDirectory(dir=VENVS, prefix="work-") as name:
        folder = Path(name)
        for engine in engines:
            (folder / engine.name).mkdir()
        compile_to(folder / WFC.name / "generated", WORKFLOW)
        (folder / FLOOR.name / "bytes.json").write_text(json.dumps(_bytes_of_ours(folder)), encoding="utf-8")
        for half, count in (("first", steps // 2), ("second", steps - steps // 2)):
            options = [half, "--steps", str(steps), "--runs", str(runs)]
            turns = _turns(count, _TURN if runs == 1 else _TURN_OF_MANY)
            reports = _half(engines, folder, options, turns, taken, progress if runs > 1 else _nothing)
            for engine, slices in taken.items():
                pace = count * runs / sum(turn.seconds for turn in slices[-len(turns) :])
                progress(f"{engine.title}, {_runs(runs)}, {half} half: {pace:.0f} steps a second")
    return taken, reports


def _bytes_of_ours(folder: Path) -> tuple[int, int]:
    """What the transaction that all are measured by has to write."""
    place = folder / "sample"
    place.mkdir()
    compile_to(place / "generated", WORKFLOW)
    ours = Wfc(place, steps=20)
    run = ours.start("sample")
    for number in range(10):
        ours.answer(run, result_of(number))
    ours.close()
    return bytes_of_a_step(ours.path)


def _half(
    engines: dict[Engine, Path],
    folder: Path,
    arguments: list[str],
    turns: list[int],
    taken: Slices,
    progress: Progress,
) -> dict[Engine, Report]:
    """Each engine in its process, a few steps at a time, by turns; whoever's turn it is not is stopped."""
    with ExitStack() as stack:
        seats = {
            engine: stack.enter_context(Seat(python, engine, folder / engine.name, arguments))
            for engine, python in engines.items()
        }
        for number, turn in enumerate(turns, start=1):
            for engine, seat in seats.items():
                taken[engine].append(seat.turn(turn))
            progress(f"{arguments[0]} half: turn {number} of {len(turns)}")
        return {engine: seat.end() for engine, seat in seats.items()}


def _turns(count: int, most: int) -> list[int]:
    return [min(most, count - done) for done in range(0, count, most)]


def _nothing(line: str) -> None:
    """A turn of one run is over at once."""


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"
