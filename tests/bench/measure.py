"""Time of processes and of code, as medians, and the rows that come of it."""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import process_time

from wfc.cli.main import GARBAGE

RUNS = 5
_BYTECODE = tempfile.TemporaryDirectory(prefix="wfc-bench-")
"""Compiled modules are kept here: as warm as on a user's machine, whatever this one's settings."""


@dataclass(frozen=True)
class Row:
    """One line of the table: what was measured, how it came out, and what it should be at most."""

    name: str
    measured: float
    goal: float
    unit: str = "x"
    """"x" for a ratio, "s" for seconds."""
    detail: str = ""

    @property
    def is_met(self) -> bool:
        return self.measured <= self.goal


def processor_time(*command: str | Path, cwd: Path, status: int = 0) -> float:
    """Seconds of processor time that a command takes: the median of a few runs, after one that warms up.

    Processor time rather than time on the clock: other work on the machine then changes little.
    """
    times = [_run_once([str(part) for part in command], cwd, status) for _ in range(RUNS + 1)]
    return statistics.median(times[1:])


def python(*arguments: str | Path, cwd: Path, status: int = 0) -> float:
    return processor_time(sys.executable, *arguments, cwd=cwd, status=status)


def _run_once(command: list[str], cwd: Path, status: int) -> float:
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = _BYTECODE.name
    process = subprocess.Popen(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    output = process.stdout.read()
    process.stdout.close()
    _, code, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(code)
    if process.returncode != status:
        raise RuntimeError(f"{' '.join(command)} exited with {process.returncode}:\n{output.decode()[:2000]}")
    return used.ru_utime + used.ru_stime


def seconds_of(work: Callable[[str], object], argument: str) -> float:
    """Processor seconds of a piece of work in this process, set up as the command is: the best of a few runs."""
    gc.set_threshold(GARBAGE)
    times = []
    for _ in range(RUNS):
        start = process_time()
        work(argument)
        times.append(process_time() - start)
    return min(times)
