"""A bar on a terminal, for work that takes more than a moment."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import click

_MOMENT = 0.7
_OFTEN = 0.1
_WIDTH = 30
_NARROW = 5
_USUAL = 80

no_progress_option = click.option("--no-progress", is_flag=True, help="Show no bar, however long it takes.")


class Show(Protocol):
    def __call__(self, done: int, of: int, note: str = "") -> None: ...


@contextmanager
def progress(what: str, wanted: bool) -> Iterator[Show]:
    """Something to tell how much is done. It is silent where nobody watches, and leaves nothing behind."""
    if not wanted or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda done, of, note="": None
        return
    due = time.monotonic() + _MOMENT
    shown = False

    def show(done: int, of: int, note: str = "") -> None:
        nonlocal shown, due
        now = time.monotonic()
        if now < due:
            return
        shown, due = True, now + _OFTEN
        sys.stderr.write(f"\r\x1b[K{_line(what, done, of, note, _columns())}")
        sys.stderr.flush()

    try:
        yield show
    finally:
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _line(what: str, done: int, of: int, note: str, columns: int) -> str:
    """As much as fits into one line: in a second one, it could not be wiped off again."""
    count = f"{done}/{of}{note}"
    width = min(_WIDTH, columns - len(f"{what} [] {count}") - 1)
    full = width * done // max(of, 1)
    bar = f" [{'#' * full}{'.' * (width - full)}]" if width >= _NARROW else ""
    return f"{what}{bar} {count}"[: columns - 1]


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _USUAL
    except OSError:
        return _USUAL
