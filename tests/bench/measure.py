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
from typing import TypeVar

from wfc.__main__ import GARBAGE

T = TypeVar("T")

RUNS = 5
_BYTECODE = tempfile.TemporaryDirectory(prefix="wfc-bench-")
"""Compiled modules are kept here: as warm as on a user's machine, whatever this one's settings."""
_CACHE = tempfile.TemporaryDirectory(prefix="wfc-bench-")
"""What wfc remembers between runs."""


class UnmeasuredError(Exception):
    """Why part of a section could not be measured here, or not be kept."""


@dataclass(frozen=True)
class Row:
    """One line of the table: what was measured, how it came out, and what it should be at most."""

    name: str
    measured: float | None
    """None where what it is compared with is not on this machine."""
    goal: float
    unit: str = "x"
    """"x" for a ratio, "s" for seconds."""
    detail: str = ""
    digits: int | None = None
    """How many to show after the point; by default as suits the unit."""

    @property
    def is_met(self) -> bool:
        return self.measured is not None and self.measured <= self.goal


def processor_time(
    *command: str | Path, cwd: Path, status: int = 0, before: Callable[[int], object] = int
) -> float:
    """Seconds of processor time that a command takes: the median of a few runs, after one that warms up.

    Processor time rather than time on the clock: other work on the machine then changes little. `before` is called
    ahead of each run with its number, and is not measured.
    """
    times = []
    for number in range(RUNS + 1):
        before(number)
        times.append(_run_once([str(part) for part in command], cwd, status))
    return statistics.median(times[1:])


def python(
    *arguments: str | Path, cwd: Path, status: int = 0, before: Callable[[int], object] = int
) -> float:
    return processor_time(sys.executable, *arguments, cwd=cwd, status=status, before=before)


def _run_once(command: list[str], cwd: Path, status: int) -> float:
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = _BYTECODE.name
    env["XDG_CACHE_HOME"] = _CACHE.name
    process = subprocess.Popen(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    output = process.stdout.read()
    process.stdout.close()
    _, code, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(code)
    if process.returncode != status:
        raise RuntimeError(f"{' '.join(command)} exited with {process.returncode}:\n{output.decode()[:2000]}")
    return used.ru_utime + used.ru_stime


def growth_of(
    work: Callable[[T], object], small: T, large: T, forget: Callable[[], object]
) -> tuple[float, float, float]:
    """How many times the one takes what the other does, and the best processor seconds of each.

    Each is held against the others measured just before and after it: a machine that is slow for a while is slow for
    both. The median of a few rounds counts. `forget` drops what one run leaves for the next, off the clock.
    """
    gc.set_threshold(GARBAGE)
    smalls, larges = [seconds_of(work, small, forget)], []
    for _ in range(RUNS):
        larges.append(seconds_of(work, large, forget))
        smalls.append(seconds_of(work, small, forget))
    ratios = [2 * found / (smalls[number] + smalls[number + 1]) for number, found in enumerate(larges)]
    return statistics.median(ratios), min(smalls), min(larges)


def seconds_of(work: Callable[[T], object], argument: T, forget: Callable[[], object]) -> float:
    """Processor seconds of one run."""
    forget()
    gc.collect()
    start = process_time()
    work(argument)
    return process_time() - start
