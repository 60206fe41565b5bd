"""Time moves runs: a thread of each long-lived server ends waits and pauses, and fails steps at their deadline.

Reading never does that. Without a ticker, a due run waits until one is running, or until a result is submitted to it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event, Thread

from wfc_runtime.errors import WfcError, without_words

_log = logging.getLogger(__name__)
_LOOK_EVERY = 1.0
"""Seconds. Another process may have started a wait, and it need not end to the millisecond. Each poll is one query that
an index answers."""


class Ticker:
    """Calls `tick` as often as needed. It returns in how many seconds the next thing is due."""

    def __init__(self, tick: Callable[[], float | None]) -> None:
        self._tick = tick
        self._stop = Event()
        self._said = ""
        self._thread = Thread(target=self._run, name="wfc-ticker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """No tick begins after this."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        # The first answer of a server comes before the first tick: opening the store takes longer than the answer.
        left: float | None = None
        # A due run that could not be moved is retried no more often than all runs are polled.
        while not self._stop.wait(min(left, _LOOK_EVERY) if left is not None and left > 0 else _LOOK_EVERY):
            left = self._ticked()

    def _ticked(self) -> float | None:
        try:
            due = self._tick()
        except WfcError as error:
            # Any error is logged and survived: without this thread, no wait of any run would end.
            self._say(str(error))
        except Exception as error:
            # Unexpected messages may quote private values, so only the type and the place are logged.
            self._say(without_words(error))
        else:
            self._said = ""
            return due
        return None

    def _say(self, why: str) -> None:
        """Once, not every second."""
        if why != self._said:
            self._said = why
            _log.warning("the clocks of runs can't be advanced: %s", why)
