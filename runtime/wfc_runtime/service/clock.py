"""The clock for runs on this machine: the wall clock, but it never goes backward."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

_LATEST = 253_370_764_800.0
"""The year 9999. A later time in a store is an error, and no date could be computed from it."""


def since_boot() -> float:
    """Seconds that do not depend on the wall clock. If the system has such a clock, they include time asleep."""
    if _BOOT_CLOCK is not None:
        return time.clock_gettime(_BOOT_CLOCK)
    return time.monotonic()


# Linux stops CLOCK_MONOTONIC while the machine is suspended; other systems do not.
_BOOT_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None) or getattr(time, "CLOCK_MONOTONIC", None)


class SteadyClock:
    """Follows the wall clock forward. If that is set back, it continues from its own time, second by second.

    So a wait never takes longer than its duration, and no event is older than the one before it. `follow` makes it
    continue from a time that a store already contains, even if the wall clock is behind.
    """

    def __init__(
        self, wall: Callable[[], float] = time.time, elapsed: Callable[[], float] = since_boot
    ) -> None:
        self._wall = wall
        self._elapsed = elapsed
        self._lock = Lock()
        self._at = elapsed()
        self._now = wall()

    def __call__(self) -> float:
        with self._lock:
            at = self._elapsed()
            # Whichever is later: the wall clock is followed when it is ahead, the elapsed time when it was
            # set back.
            self._now = max(self._now + max(0.0, at - self._at), self._wall())
            self._at = at
            return self._now

    def follow(self, moment: float) -> None:
        """Move forward to a time that another server has written."""
        with self._lock:
            self._now = later(self._now, moment)


def later(now: float, moment: float) -> float:
    """The later of two times; the second one is ignored if it is not a possible time."""
    return moment if now < moment < _LATEST else now
