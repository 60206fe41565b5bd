"""Work as a number that is the same on every machine and under any load: tests count it, `make bench` times it."""

from __future__ import annotations

import cProfile
import gc
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

_INSTRUCTIONS = 10
"""How many instructions of SQLite's virtual machine pass between two calls of its progress handler."""


def calls_of(work: Callable[[], object]) -> int:
    """How many functions this thread calls while `work` is done, Python's built-in ones included."""
    profile = cProfile.Profile()
    # A collection in the middle would call the finalizers of what other tests left behind.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        profile.enable()
        try:
            work()
        finally:
            profile.disable()
    finally:
        if was_enabled:
            gc.enable()
    return sum(entry.callcount for entry in profile.getstats())


class SqliteWork:
    """What connections did: instructions of SQLite's virtual machine, and characters of statements with values."""

    def __init__(self) -> None:
        self.instructions = 0
        self.characters = 0

    def watch(self, connection: sqlite3.Connection) -> None:
        connection.set_progress_handler(self._progress, _INSTRUCTIONS)
        connection.set_trace_callback(self._statement)

    def _progress(self) -> int:
        self.instructions += _INSTRUCTIONS
        return 0

    def _statement(self, text: str) -> None:
        self.characters += len(text)


@contextmanager
def sqlite_counted() -> Iterator[SqliteWork]:
    """Counts what every connection does that is opened from here on."""
    work, connect = SqliteWork(), sqlite3.connect

    def watched(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        work.watch(connection)
        return connection

    with patch.object(sqlite3, "connect", watched):
        yield work
