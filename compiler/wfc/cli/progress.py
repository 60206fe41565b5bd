"""A bar on a terminal, for work that takes more than a moment."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_MOMENT = 0.7
_WIDTH = 30


@contextmanager
def progress(what: str, wanted: bool) -> Iterator[Callable[[int, int], None]]:
    """Something to tell how much is done. It is silent where nobody watches, and leaves nothing behind."""
    if not wanted or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda done, of: None
        return
    began = time.monotonic()
    shown = False

    def show(done: int, of: int) -> None:
        nonlocal shown
        if time.monotonic() - began < _MOMENT:
            return
        shown = True
        full = _WIDTH * done // max(of, 1)
        sys.stderr.write(f"\r{what} [{'#' * full}{'.' * (_WIDTH - full)}] {done}/{of}")
        sys.stderr.flush()

    try:
        yield show
    finally:
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
