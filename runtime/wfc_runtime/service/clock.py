"""The time that runs on this machine go by: the wall clock, but never backward."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

_LATEST = 253_370_764_800.0
"""The year 9999. A later time in a store is a mistake, and no date could be made of it."""


def since_boot() -> float:
    """Seconds that no setting of the clock changes. Where the system has such a clock, sleep counts too."""
    if _BOOT_CLOCK is not None:
        return time.clock_gettime(_BOOT_CLOCK)
    return time.monotonic()


# Linux stops CLOCK_MONOTONIC while the machine sleeps; elsewhere it goes on.
_BOOT_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None) or getattr(time, "CLOCK_MONOTONIC", None)


class SteadyClock:
    """Follows the wall clock forward. When that is set back, it goes on from where it was, second by second.

    So a wait never lasts longer than its duration, and no event is older than the one before it. `follow` makes it
    go on from a moment that a store already has; a wall clock that is behind is caught up with in time.
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
            self._now = max(self._now + max(0.0, at - self._at), self._wall())
            self._at = at
            return self._now

    def follow(self, moment: float) -> None:
        """It is not earlier than that: another server has written it."""
        with self._lock:
            self._now = later(self._now, moment)


def later(now: float, moment: float) -> float:
    """The later of two times, as far as the second one can be a time at all."""
    return moment if now < moment < _LATEST else now
