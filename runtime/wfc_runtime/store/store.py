"""The store as the service uses it: queries, and changes that are committed as a whole.

Concurrency control is optimistic. A caller reads without a lock, computes, and commits a `Changes`; the commit fails
with `ConflictError` if a run has a newer version than the one read, and the caller starts over. `exclusively` holds the
write lock during the computation instead, for a caller that keeps losing that race.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from wfc_runtime.errors import NotFoundError, StoreError
from wfc_runtime.store.database import DEFAULT_BUSY_SECONDS, connect, prepare_file, translated
from wfc_runtime.store.files import OpenFiles, identity_of
from wfc_runtime.store.queries import Queries
from wfc_runtime.store.records import Changes, ClaimRow, ConflictError, HistoryRow, RunRow, checksum, sealed
from wfc_runtime.store.writer import Hook, Writer, no_hook

T = TypeVar("T")
_TRIES = 5
"""How often opening is retried when the path names another file by the time it is open."""


def _insert(table: str, columns: str) -> str:
    marks = ", ".join("?" for _ in columns.split(", "))
    return f"INSERT INTO {table} ({columns}) VALUES ({marks})"


# Sources that differ only in comments share a digest; the text and line map of the latest one are kept.
_MODULE = (
    _insert("modules", "digest, workflow, text, line_map, created")
    + " ON CONFLICT (digest) DO UPDATE SET text = excluded.text, line_map = excluded.line_map"
    " WHERE text <> excluded.text OR line_map IS NULL"
)
_RUN = (
    _insert(
        "runs",
        "id, root, parent, visit, position, depth, workflow, task, agent, created, status, digest, "
        "version, due, pending, updated, checksum, snapshot",
    )
    + " ON CONFLICT (id) DO NOTHING"
)
_MOVED = (
    "UPDATE runs SET version = ?, due = ?, pending = ?, updated = ?, checksum = ?, snapshot = ? "
    "WHERE key = ? AND version = ?"
)
# For a family without claims at the time of reading: there must still be none, since this call did not look them up.
_UNSERVED = " AND NOT EXISTS (SELECT 1 FROM claims WHERE root = ?)"
# Indexed columns are set only when they change: SQLite would rewrite the index entry even for an equal value.
_TURNED = _MOVED.replace("SET ", "SET status = ?, digest = ?, ")
_FIELD = (
    _insert("fields", "run, name, seq, checksum, value")
    + " ON CONFLICT (run, name) DO UPDATE SET seq = excluded.seq, checksum = excluded.checksum, value = excluded.value"
)
_CLAIM = _insert("claims", "root, run, visit, at, owner, returned") + " ON CONFLICT DO NOTHING"
_RELEASED = "DELETE FROM claims WHERE root = ? AND run = ? AND visit = ? AND owner = ?"
_GATE = _insert("gates", "run, visit, since") + " ON CONFLICT DO NOTHING"
_CLOSED = "DELETE FROM gates WHERE run = ? AND visit = ?"
_EVENT = _insert("history", "run, seq, at, kind, visit, actor, checksum, data, told")


class Store:
    """One file. Any number of processes may open it; the threads of one process share two connections."""

    def __init__(
        self,
        path: Path,
        busy_seconds: float = DEFAULT_BUSY_SECONDS,
        hook: Hook = no_hook,
        durable: bool = True,
    ) -> None:
        self.path = path
        self._hook = hook
        self._write_connection, self._read_connection, self._files = _opened(path, busy_seconds, durable)
        self._writer = Writer(self._write_connection, path, hook, self._files)
        self.queries = Queries(self._read_connection, path, self._writer, self._files)
        self.enter, self.leave = self._writer.enter, self._writer.leave

    def close(self) -> None:
        # The reader first, so that the writer's connection is the last one and does the checkpoint.
        self._read_connection.close()
        if self._files.may_checkpoint():
            self._write_connection.close()
        else:
            _leave_open(self._write_connection)

    def check_files(self) -> None:
        """Raise `StoreError` if the path names files other than the open ones."""
        self._files.check()

    def commit(self, changes: Changes) -> None:
        """Write everything, or raise `ConflictError` if a run has changed since it was read."""
        self._writer.run(lambda connection: self._write(connection, changes))

    def exclusively(self, work: Callable[[Queries], tuple[Changes, T]]) -> T:
        """Read, compute and write under the write lock, for a caller that keeps losing to faster writers."""

        def job(connection: sqlite3.Connection) -> T:
            # Queries on the connection that holds the lock, which must not ask the writer for it again.
            changes, result = work(Queries(connection, self.path))
            self._write(connection, changes)
            return result

        return self._writer.run(job)

    def erase(self, run_id: str) -> int:
        """Delete a run without a parent, its children and their history; returns the number of runs deleted."""

        def job(connection: sqlite3.Connection) -> int:
            sql = "SELECT key FROM runs WHERE id = ? AND parent IS NULL"
            found = connection.execute(sql, (run_id,)).fetchone()
            if found is None:
                raise NotFoundError("unknown_run", f"there is no run `{run_id}` to delete")
            (count,) = connection.execute("SELECT count(*) FROM runs WHERE root = ?", found).fetchone()
            # Children, fields, history, claims and gates are deleted by the foreign keys.
            connection.execute("DELETE FROM runs WHERE key = ?", found)
            return int(count)

        return self._writer.run(job)

    def flush(self) -> None:
        """Checkpoint and truncate the log, as far as no reader prevents it."""
        self._files.check()
        with translated(self.path, self._files):
            self._write_connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._files.check()

    # -- writing ---------------------------------------------------------------

    def _write(self, connection: sqlite3.Connection, changes: Changes) -> None:
        # Checked inside the transaction, since a server may have claimed the visit after it was read.
        for row, visit in changes.free:
            if connection.execute(
                "SELECT 1 FROM claims WHERE run = ? AND visit = ?", (row.key, visit)
            ).fetchone():
                raise ConflictError(row.id)
        for claim, read_version in changes.claims:
            self._claim(connection, claim, read_version)
        for claim in changes.released:
            connection.execute(_RELEASED, (claim.root, claim.run, claim.visit, claim.owner))
        for digest, module in changes.modules.items():
            connection.execute(_MODULE, (digest, *module))
        # Updates come first: they detect a lost race. The winner's children have the same ids as the ones created here.
        for row, read_version in changes.updated.values():
            # With claims of its own in the same call, a new claim of the family is expected.
            self._move(connection, row, read_version, is_unserved=not (row.may_be_served or changes.claims))
            self._hook("run")
            self._write_fields(connection, row)
        for row in changes.created:
            self._create(connection, row)
        for row, visit in changes.closed_gates:
            connection.execute(_CLOSED, (row.key, visit))
        for row, visit, since in changes.gates:
            connection.execute(_GATE, (row.key, visit, since))
        for row, event in changes.history:
            connection.execute(_EVENT, (row.key, *_event(event)))
            self._hook("event")

    def _move(
        self, connection: sqlite3.Connection, row: RunRow, read_version: int, is_unserved: bool
    ) -> None:
        values = (*(_turning(row) if row.turned else ()), *_moving(row), row.key, read_version)
        sql = _TURNED if row.turned else _MOVED
        if is_unserved:
            sql, values = sql + _UNSERVED, (*values, row.root)
        # Another version, or a claim that has appeared: in both cases the caller has to read again.
        if connection.execute(sql, values).rowcount != 1:
            raise ConflictError(row.id)

    def _claim(self, connection: sqlite3.Connection, claim: ClaimRow, read_version: int) -> None:
        # A claim does not change the run's version, so that is compared explicitly.
        found = connection.execute("SELECT version FROM runs WHERE key = ?", (claim.run,)).fetchone()
        values = (claim.root, claim.run, claim.visit, claim.at, claim.owner, claim.returned)
        if found != (read_version,) or connection.execute(_CLAIM, values).rowcount != 1:
            raise ConflictError(claim.visit)
        self._hook("claim")

    def _create(self, connection: sqlite3.Connection, row: RunRow) -> None:
        if row.parent_row is not None:
            # The parent may have been inserted a moment ago in this same transaction.
            row.parent, row.root = row.parent_row.key, row.parent_row.root
        cursor = connection.execute(_RUN, (*_fixed(row), *_turning(row), *_moving(row)))
        if cursor.rowcount != 1:
            raise ConflictError(row.id)
        assert cursor.lastrowid is not None
        row.key = cursor.lastrowid
        if row.parent is None:
            # A root run refers to itself, so its checksum is only known after the insert.
            row.root = row.key
            connection.execute("UPDATE runs SET root = key, checksum = ? WHERE key = ?", (row.seal, row.key))
        self._hook("run")
        self._write_fields(connection, row)

    def _write_fields(self, connection: sqlite3.Connection, row: RunRow) -> None:
        for name, value in row.fields.items():
            connection.execute(_FIELD, (row.key, name, *_field(name, value)))
            self._hook("field")


def _opened(
    path: Path, busy_seconds: float, durable: bool
) -> tuple[sqlite3.Connection, sqlite3.Connection, OpenFiles]:
    """A write connection, a read connection (reads must not wait for a commit), and the files that both have open."""
    for _ in range(_TRIES):
        prepare_file(path)
        # Compared after opening: between the two calls the path may be given to another file.
        before = identity_of(path)
        connections: list[sqlite3.Connection] = []
        try:
            connections.append(connect(path, busy_seconds, durable))
            files = OpenFiles(path)
            connections.append(connect(path, busy_seconds, durable))
            if before == files.identities[0] and OpenFiles(path).identities == files.identities:
                # The list is emptied so that `finally` closes nothing that is returned.
                writing, reading = connections
                connections.clear()
                return writing, reading, files
        except OSError:
            pass  # One of the files has just disappeared: the next attempt reports why, or finds all of them.
        finally:
            for connection in connections:
                connection.close()
    raise StoreError(
        "store_replaced",
        f"{path} keeps being replaced while it is opened",
        "Try again once the file is stable.",
    )


def _leave_open(connection: sqlite3.Connection) -> None:
    """Leak a connection until the process exits: closing it would write into a log that belongs to another process."""
    import ctypes  # Only ever needed here.

    # Python closes a connection when its last reference goes, also during shutdown: this reference never goes.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def _fixed(row: RunRow) -> tuple[object, ...]:
    place = (row.id, row.root, row.parent, row.visit, row.position, row.depth)
    return (*place, row.workflow, row.task, row.agent, row.created)


def _turning(row: RunRow) -> tuple[object, ...]:
    return row.status, row.digest


def _moving(row: RunRow) -> tuple[object, ...]:
    return row.version, row.due, row.pending, row.updated, row.seal, row.snapshot


def _field(name: str, value: str | int) -> tuple[object, ...]:
    # A field that is the unchanged result of an event stores the event's number instead of a copy.
    if isinstance(value, int):
        return value, sealed(value, name), None
    return None, sealed(checksum(value), name), value


def _event(event: HistoryRow) -> tuple[object, ...]:
    facts = (event.seq, event.at, event.kind, event.visit, event.actor)
    return (*facts, event.seal, event.data, event.reply)
