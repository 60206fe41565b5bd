"""How far a long part of the torture is."""

from __future__ import annotations

import sys
import time

_TELL_EVERY = 30.0
"""Seconds, where nobody watches a line that changes."""


class Progress:
    """How far a part is, on stderr. A part calls it with the share that is done, from any thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._begun = self._told = time.monotonic()
        self._watched = sys.stderr.isatty()

    def __call__(self, share: float) -> None:
        now = time.monotonic()
        if now - self._told < (0.5 if self._watched else _TELL_EVERY):
            return
        self._told = now
        text = f"  {self._name}: {min(share, 1):.0%} after {now - self._begun:.0f} s"
        print(
            f"\r\x1b[K{text}" if self._watched else text, end="" if self._watched else "\n", file=sys.stderr
        )
        sys.stderr.flush()

    def clear(self) -> None:
        if self._watched:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
