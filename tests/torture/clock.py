"""The time of servers that are forked for a test: it passes when the test says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

NOON = 1_700_000_000.0


def clock_of(folder: Path) -> Callable[[], float]:
    """A clock that is as late as a file is long."""
    clock = folder / "clock"
    return lambda: NOON + (clock.stat().st_size if clock.exists() else 0)
