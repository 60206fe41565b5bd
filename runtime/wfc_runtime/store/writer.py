"""One writer per process. Jobs that come while another is being committed share the next commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import Condition, Lock
from typing import Generic, TypeVar

from wfc_runtime.store.database import translated
from wfc_runtime.store.files import OpenFiles

T = TypeVar("T")
Hook = Callable[[str], None]
_BATCH = 64
_PATIENCE = 0.004
"""Seconds. Nobody notices them who waits for an agent."""


def no_hook(point: str) -> None:
    """Nothing to do at a point of a write. Tests put a fault there."""


class _Ticket(Generic[T]):
    """A job in the queue, and whoever waits for it."""

    def __init__(self, job: Callable[[sqlite3.Connection], T]) -> None:
        self.job = job
        self.done = False
        self.leads = False
        self.turn = Lock()
        """Released when the job is done, or when it is this one's turn to commit."""
        self.turn.acquire()
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
    """Runs jobs inside IMMEDIATE transactions. A job that raises leaves nothing behind and hurts no other.

    The first in the queue commits for all that are in it by then, and hands the rest on to the next. A commit costs
    as much for many as for one: who has said `enter` is on the way here with a job, and is waited for a moment.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, hook: Hook, files: OpenFiles) -> None:
        self._connection = connection
        self._path = path
        self._files = files
        self._hook = hook
        self._in_use = Lock()
        """Of the connection."""
        self._queue: list[_Ticket[object]] = []
        self._changed = Condition(Lock())
        self._is_led = False
        self._present = 0

    def enter(self) -> None:
        """Somebody has begun what may end in a job."""
        with self._changed:
            self._present += 1

    def leave(self) -> None:
        with self._changed:
            self._present -= 1
            self._tell_leader()

    def run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """The job's result, on disk."""
        ticket = _Ticket(job)
        with self._changed:
            self._queue.append(ticket)  # type: ignore[arg-type]  # each job knows its own type
            ticket.leads = not self._is_led
            self._is_led = True
            self._tell_leader()
        try:
            if not ticket.leads:
                ticket.turn.acquire()
            if not ticket.done:
                self._commit_batch()
        finally:
            if not ticket.done:
                self._withdraw(ticket)  # type: ignore[arg-type]
        return ticket.outcome()

    def borrow(self) -> sqlite3.Connection | None:
        """The connection, for reading, if nobody is writing. Whoever gets it gives it back at once."""
        return self._connection if self._in_use.acquire(blocking=False) else None

    def give_back(self) -> None:
        self._in_use.release()

    def _commit_batch(self) -> None:
        batch = self._gather()
        try:
            with self._in_use, translated(self._path, self._files):
                self._transaction(batch)
        except BaseException as error:
            for ticket in batch:
                ticket.error = error
            if not isinstance(error, Exception):
                raise
        finally:
            for ticket in batch:
                ticket.done = True
            self._hand_on()
            for ticket in batch:
                ticket.turn.release()

    def _gather(self) -> list[_Ticket[object]]:
        with self._changed:
            self._changed.wait_for(self._is_enough, _PATIENCE)
            batch, self._queue = self._queue[:_BATCH], self._queue[_BATCH:]
        return batch

    def _is_enough(self) -> bool:
        return len(self._queue) >= min(self._present, _BATCH)

    def _tell_leader(self) -> None:
        if self._is_enough():
            self._changed.notify()

    def _hand_on(self) -> None:
        with self._changed:
            self._is_led = bool(self._queue)
            if self._queue:
                self._queue[0].leads = True
                self._queue[0].turn.release()

    def _withdraw(self, ticket: _Ticket[object]) -> None:
        """Whoever waited was broken off."""
        with self._changed:
            if ticket in self._queue:
                self._queue.remove(ticket)
        if ticket.leads:
            self._hand_on()

    def _transaction(self, batch: list[_Ticket[object]]) -> None:
        """One commit, into the files that the path names: else nobody would find what is acknowledged."""
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._hook("begun")
            for ticket in batch:
                self._one_of(batch, ticket)
            self._hook("written")
            self._files.check()
            connection.execute("COMMIT")
            self._hook("committed")
            self._files.check()
        except BaseException:
            # A full disk has rolled back already.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            # What a job says of files that were replaced is not worth telling.
            self._files.check()
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
