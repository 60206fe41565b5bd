"""One writer per process, with group commit: jobs that arrive during a commit share the next one."""

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
"""Seconds that a leader waits for announced jobs. Negligible compared with the time that an agent takes."""


def no_hook(point: str) -> None:
    """The default hook. Tests inject faults at the named points of a write."""


class _Ticket(Generic[T]):
    """A queued job and the thread that waits for it."""

    def __init__(self, job: Callable[[sqlite3.Connection], T]) -> None:
        # `done` and `error` are written by the leader before it releases `turn`, which is what the waiting
        # thread blocks on.
        self.job = job
        self.done = False
        self.leads = False
        self.turn = Lock()
        """Released when the job is done, or when this thread becomes the leader."""
        # Acquired at once and released by another thread: a semaphore for one waiter.
        self.turn.acquire()
        self.error: BaseException | None = None
        self.result: T

    def work(self, connection: sqlite3.Connection) -> None:
        try:
            self.result = self.job(connection)
        except Exception as error:
            # Not BaseException: an interrupt of the leader is not the fault of this job, and ends the batch.
            self.error = error

    def outcome(self) -> T:
        if self.error is not None:
            raise self.error
        return self.result


class Writer:
    """Runs jobs inside IMMEDIATE transactions. A job that raises is rolled back without affecting the others.

    The first thread in the queue is the leader: it commits every queued job, then passes leadership to the next. A
    commit of many jobs costs as much as a commit of one, so the leader waits briefly for threads that called `enter`.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, hook: Hook, files: OpenFiles) -> None:
        self._connection = connection
        self._path = path
        self._files = files
        self._hook = hook
        self._in_use = Lock()
        """Guards the connection."""
        self._queue: list[_Ticket[object]] = []
        self._changed = Condition(Lock())
        self._is_led = False
        self._present = 0

    def enter(self) -> None:
        """Announce a call that may lead to a job."""
        with self._changed:
            self._present += 1

    def leave(self) -> None:
        with self._changed:
            self._present -= 1
            self._notify_leader()

    def run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run a job and return its result once it is on disk."""
        ticket = _Ticket(job)
        with self._changed:
            self._queue.append(ticket)  # type: ignore[arg-type]  # each job knows its own type
            # Decided under the lock, so that exactly one thread leads.
            ticket.leads = not self._is_led
            self._is_led = True
            self._notify_leader()
        try:
            if not ticket.leads:
                ticket.turn.acquire()
            # The previous leader may already have executed this job in its batch.
            if not ticket.done:
                self._commit_batch()
        finally:
            # Reached without `done` when an exception interrupts the wait, such as KeyboardInterrupt.
            if not ticket.done:
                self._withdraw(ticket)  # type: ignore[arg-type]
        return ticket.outcome()

    def borrow(self) -> sqlite3.Connection | None:
        """The connection, for reading, if no write is in progress. The caller must give it back immediately."""
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
            # KeyboardInterrupt and the like must also reach the thread that they were sent to.
            if not isinstance(error, Exception):
                raise
        finally:
            for ticket in batch:
                ticket.done = True
            # Leadership is passed on before any thread wakes up, so that the queue always has a leader.
            self._hand_on()
            for ticket in batch:
                ticket.turn.release()

    def _gather(self) -> list[_Ticket[object]]:
        with self._changed:
            # Waits only while announced calls are missing; a single client is never delayed.
            self._changed.wait_for(self._is_enough, _PATIENCE)
            batch, self._queue = self._queue[:_BATCH], self._queue[_BATCH:]
        return batch

    def _is_enough(self) -> bool:
        return len(self._queue) >= min(self._present, _BATCH)

    def _notify_leader(self) -> None:
        if self._is_enough():
            self._changed.notify()

    def _hand_on(self) -> None:
        with self._changed:
            self._is_led = bool(self._queue)
            # Woken as a leader, not because its job is done; `done` tells the two apart.
            if self._queue:
                self._queue[0].leads = True
                self._queue[0].turn.release()

    def _withdraw(self, ticket: _Ticket[object]) -> None:
        """Remove a ticket whose thread was interrupted, and pass on its leadership."""
        with self._changed:
            if ticket in self._queue:
                self._queue.remove(ticket)
        # A leader that was interrupted before its batch began: the queue would otherwise wait forever.
        if ticket.leads:
            self._hand_on()

    def _transaction(self, batch: list[_Ticket[object]]) -> None:
        """One commit. The files are checked first: answers written to a replaced file would be lost."""
        connection = self._connection
        # IMMEDIATE takes the write lock now. A deferred transaction could fail with SQLITE_BUSY in the middle
        # of a job.
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._hook("begun")
            for ticket in batch:
                self._one_of(batch, ticket)
            self._hook("written")
            self._files.check()
            connection.execute("COMMIT")
            self._hook("committed")
            # Again: if the files were replaced during the commit, the answers must not be acknowledged.
            self._files.check()
        except BaseException:
            # SQLite has already rolled back after some errors, such as a full disk.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            # If the files were replaced, that is the cause, and the job's own error is misleading.
            self._files.check()
            raise

    def _one_of(self, batch: list[_Ticket[object]], ticket: _Ticket[object]) -> None:
        alone = len(batch) == 1
        if not alone:
            self._connection.execute("SAVEPOINT job")
        ticket.work(self._connection)
        # For a single job, or after an SQLite error, the whole transaction is rolled back.
        if ticket.error is not None and (alone or isinstance(ticket.error, sqlite3.Error)):
            raise ticket.error
        if ticket.error is not None:
            self._connection.execute("ROLLBACK TO job")
        if not alone:
            self._connection.execute("RELEASE job")
