"""The workload, and how an engine is put through it: in two processes, the first of which dies with the work half done.

A run asks for a result, is suspended, gets it from outside, counts it, and asks for the next; at the end it gives the
count and the last result. An answer counts as taken when it is on disk together with the next question.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, ClassVar

RESULT_BYTES = 300

_WARM_UP = 5
"""Steps of a run that counts for nothing."""

Result = dict[str, Any]


def result_of(number: int) -> Result:
    """What a command gave: 300 bytes of JSON, different for each step."""
    result: Result = {"stdout": f"step {number} ", "stderr": "", "exit_code": 0}
    result["stdout"] += "x" * (RESULT_BYTES - len(json.dumps(result)))
    return result


def outcome_of(steps: int) -> Result:
    """What a run of so many steps must come to."""
    return {"n": steps, "last": result_of(steps - 1)}


class Contender(ABC):
    """One engine on one SQLite file. What it writes must be as safe as WAL with synchronous=FULL makes it."""

    about: ClassVar[str]
    """What it does for one step, and what was set so."""
    clients: ClassVar[int] = 1
    """How many threads answer when there are many runs; one takes turns. As suits the engine best."""

    def __init__(self, folder: Path, steps: int) -> None:
        self.folder = folder
        self.steps = steps

    @property
    def path(self) -> Path:
        return self.folder / "state.db"

    @abstractmethod
    def start(self, name: str) -> str:
        """Start a run, up to its first question; its id."""

    @abstractmethod
    def resume(self, run: str) -> None:
        """Find a run that another process has left."""

    @abstractmethod
    def answer(self, run: str, result: Result) -> None:
        """Bring the pending result. Returns when it is on disk and the run waits again, or has ended."""

    @abstractmethod
    def outcome(self, run: str) -> Result:
        """What a run has come to, from the file."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the file."""


def connect(path: Path) -> sqlite3.Connection:
    """A connection that any thread may use, as durable as ours. WAL stays with the file, for whoever opens it next."""
    connection = sqlite3.connect(path, check_same_thread=False)
    [mode] = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    assert mode == "wal"
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def main(engine: type[Contender]) -> None:
    """Work through half of the steps, so many at a time as each line of the input says. Each is answered with the
    seconds that it took, by the clock and of the processor; at the end of the input, what the runs have come to is
    checked."""
    parser = argparse.ArgumentParser(description=engine.about)
    parser.add_argument("half", choices=("first", "second"))
    parser.add_argument("folder", type=Path, help="where the engine's file is, or will be")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--runs", type=int, required=True)
    arguments = parser.parse_args()
    contender = engine(arguments.folder, arguments.steps)
    _warm_up(contender, arguments.half)
    names, middle = arguments.folder / "runs.json", arguments.steps // 2
    if arguments.half == "first":
        runs = [contender.start(f"run-{number}") for number in range(arguments.runs)]
        names.write_text(json.dumps(runs), encoding="utf-8")
        _answer_as_told(contender, runs, 0)
    else:
        runs = json.loads(names.read_text(encoding="utf-8"))
        for run in runs:
            contender.resume(run)
        _answer_as_told(contender, runs, middle)
        for run in runs:
            found = contender.outcome(run)
            assert found == outcome_of(arguments.steps), f"{run} came to {found}"
    _say({"about": engine.about, "clients": _clients(contender, runs)})
    if arguments.half == "second":
        contender.close()
    # As if killed: after the first half nothing was closed, and no thread is waited for.
    os._exit(0)


def _warm_up(contender: Contender, half: str) -> None:
    """The first answers load what the later ones use."""
    run = contender.start(f"warm-up-{half}")
    for number in range(min(_WARM_UP, contender.steps)):
        contender.answer(run, result_of(number))


def _answer_as_told(contender: Contender, runs: list[str], number: int) -> None:
    _say({"ready": True})
    with ThreadPoolExecutor(_clients(contender, runs)) as pool:
        for line in sys.stdin:
            numbers = range(number, number + int(line))
            start, worked = perf_counter(), process_time()
            if _clients(contender, runs) == 1:
                for one in numbers:
                    for run in runs:
                        contender.answer(run, result_of(one))
            else:
                for _ in pool.map(partial(_answer_all, contender, numbers), runs):
                    pass
            _say({"seconds": perf_counter() - start, "processor": process_time() - worked})
            number = numbers.stop


def _clients(contender: Contender, runs: list[str]) -> int:
    return min(contender.clients, len(runs))


def _answer_all(contender: Contender, numbers: range, run: str) -> None:
    for number in numbers:
        contender.answer(run, result_of(number))


def _say(report: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()
