"""One writer per process. Jobs that come while another is being committed share the next commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from wfc_runtime.store.database import translated

T = TypeVar("T")
Hook = Callable[[str], None]
_BATCH = 64


def no_hook(point: str) -> None:
    """Nothing to do at a point of a write. Tests put a fault there."""


class _Ticket(Generic[T]):
    def __init__(self, job: Callable[[sqlite3.Connection], T]) -> None:
        self.job = job
        self.done = False
        self.error: BaseException | None = None
        self.result: T

    def work(self, connection: sqlite3.Connection) -> None:
        try:
            self.result = self.job(connection)
        except Exception as error:
            self.error = error

    def outcome(self) -> T:
        if self.error is not None:
            raise self.error
        return self.result


class Writer:
    """Runs jobs inside IMMEDIATE transactions. A job that raises leaves nothing behind and hurts no other."""

    def __init__(self, connection: sqlite3.Connection, path: Path, hook: Hook) -> None:
        self._connection = connection
        self._path = path
        self._hook = hook
        self._queue: list[_Ticket[object]] = []
        self._queue_lock = Lock()
        self._leader = Lock()

    def run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """The job's result, on disk."""
        ticket = _Ticket(job)
        with self._queue_lock:
            self._queue.append(ticket)  # type: ignore[arg-type]  # each job knows its own type
        with self._leader:
            # Whoever held the lock before may have taken this job along.
            while not ticket.done:
                self._commit_batch()
        return ticket.outcome()

    def borrow(self) -> sqlite3.Connection | None:
        """The connection, for reading, if nobody is writing. Whoever gets it gives it back at once."""
        return self._connection if self._leader.acquire(blocking=False) else None

    def give_back(self) -> None:
        self._leader.release()

    def _commit_batch(self) -> None:
        with self._queue_lock:
            batch, self._queue = self._queue[:_BATCH], self._queue[_BATCH:]
        try:
            with translated(self._path):
                self._transaction(batch)
        except BaseException as error:
            for ticket in batch:
                ticket.error = error
            if not isinstance(error, Exception):
                raise
        finally:
            for ticket in batch:
                ticket.done = True

    def _transaction(self, batch: list[_Ticket[object]]) -> None:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._hook("begun")
            for ticket in batch:
                self._one_of(batch, ticket)
            self._hook("written")
            connection.execute("COMMIT")
            self._hook("committed")
        except BaseException:
            # A full disk has rolled back already.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _one_of(self, batch: list[_Ticket[object]], ticket: _Ticket[object]) -> None:
        alone = len(batch) == 1
        if not alone:
            self._connection.execute("SAVEPOINT job")
        ticket.work(self._connection)
        # Alone, or with SQLite itself in trouble, nothing of the transaction is worth keeping.
        if ticket.error is not None and (alone or isinstance(ticket.error, sqlite3.Error)):
            raise ticket.error
        if ticket.error is not None:
            self._connection.execute("ROLLBACK TO job")
        if not alone:
            self._connection.execute("RELEASE job")
