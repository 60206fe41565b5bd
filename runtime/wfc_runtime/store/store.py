"""The store as the service sees it: questions, and changes that are committed whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from wfc_runtime.errors import NotFoundError
from wfc_runtime.store.database import DEFAULT_BUSY_SECONDS, connect, prepare_file
from wfc_runtime.store.queries import Queries
from wfc_runtime.store.records import Changes, ConflictError, RunRow, checksum
from wfc_runtime.store.writer import Hook, Writer, no_hook

T = TypeVar("T")

_INSERT_RUN = (
    "INSERT INTO runs (id, root, parent, visit, position, depth, workflow, task, agent, digest, version, status, due, "
    "pending, created, updated, checksum, snapshot) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_UPDATE_RUN = (
    "UPDATE runs SET version = ?, status = ?, due = ?, pending = ?, updated = ?, digest = ?, checksum = ?, snapshot = ? "
    "WHERE key = ? AND version = ?"
)
_INSERT_EVENT = "INSERT INTO history (run, seq, at, kind, visit, actor, checksum, data, told) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERT_MODULE = "INSERT OR IGNORE INTO modules (digest, workflow, text, created) VALUES (?, ?, ?, ?)"


class Store:
    """One file. Any number of processes may have it open; within one, threads share two connections."""

    def __init__(self, path: Path, busy_seconds: float = DEFAULT_BUSY_SECONDS, hook: Hook = no_hook) -> None:
        self.path = path
        self._hook = hook
        prepare_file(path)
        self._write_connection = connect(path, busy_seconds)
        # Reading must not wait for somebody's commit.
        self._read_connection = connect(path, busy_seconds)
        self._writer = Writer(self._write_connection, path, hook)
        self.queries = Queries(self._read_connection, path)

    def close(self) -> None:
        self._read_connection.close()
        self._write_connection.close()

    def commit(self, changes: Changes) -> None:
        """Write all of it. Raises `ConflictError`, writing nothing, when a run has moved since it was read."""
        self._writer.run(lambda connection: self._write(connection, changes))

    def exclusively(self, work: Callable[[Queries], tuple[Changes, T]]) -> T:
        """Read, work and write with nobody in between: for whoever keeps losing to quicker writers."""

        def job(connection: sqlite3.Connection) -> T:
            changes, result = work(Queries(connection, self.path))
            self._write(connection, changes)
            return result

        return self._writer.run(job)

    def erase(self, run_id: str) -> int:
        """Forget a run that is nobody's child, with its children and their history. How many runs went."""

        def job(connection: sqlite3.Connection) -> int:
            found = connection.execute(
                "SELECT key FROM runs WHERE id = ? AND parent IS NULL", (run_id,)
            ).fetchone()
            if found is None:
                raise NotFoundError("unknown_run", f"there is no run `{run_id}` to erase")
            (count,) = connection.execute("SELECT count(*) FROM runs WHERE root = ?", found).fetchone()
            connection.execute("DELETE FROM runs WHERE key = ?", found)
            return int(count)

        return self._writer.run(job)

    def _write(self, connection: sqlite3.Connection, changes: Changes) -> None:
        for digest, (workflow, text) in changes.modules.items():
            created = changes.created[0].created if changes.created else 0.0
            connection.execute(_INSERT_MODULE, (digest, workflow, text, created))
        for row in changes.created:
            self._insert(connection, row)
        for row, read_version in changes.updated.values():
            values = (
                row.version, row.status, row.due, row.pending, row.updated, row.digest, checksum(row.snapshot),
                row.snapshot, row.key, read_version,
            )  # fmt: skip
            if connection.execute(_UPDATE_RUN, values).rowcount != 1:
                raise ConflictError(row.id)
            self._hook("run")
        for row, event in changes.history:
            connection.execute(
                _INSERT_EVENT,
                (
                    row.key, event.seq, event.at, event.kind, event.visit, event.actor,
                    checksum(event.data, event.told), event.data, event.told,
                ),
            )  # fmt: skip
            self._hook("event")

    def _insert(self, connection: sqlite3.Connection, row: RunRow) -> None:
        if row.parent_row is not None:
            row.parent, row.root = row.parent_row.key, row.parent_row.root
        cursor = connection.execute(
            _INSERT_RUN,
            (
                row.id, row.root, row.parent, row.visit, row.position, row.depth, row.workflow, row.task, row.agent,
                row.digest, row.version, row.status, row.due, row.pending, row.created, row.updated,
                checksum(row.snapshot), row.snapshot,
            ),
        )  # fmt: skip
        assert cursor.lastrowid is not None
        row.key = cursor.lastrowid
        if row.parent is None:
            row.root = row.key
            connection.execute("UPDATE runs SET root = key WHERE key = ?", (row.key,))
        self._hook("run")
