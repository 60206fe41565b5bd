"""The store's tables, one numbered step after the other. A step that has been released is never changed."""

from __future__ import annotations

import sqlite3

from wfc_runtime.errors import StoreError

APPLICATION_ID = 0x57464331
"""Marks the file as ours ("WFC1"), so that another program's database is never touched."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # What a run was started with, so that it can go on after `wfc compile` has changed it.
        """
        CREATE TABLE modules (
            digest TEXT PRIMARY KEY,
            workflow TEXT NOT NULL,
            text TEXT NOT NULL,
            created REAL NOT NULL
        )
        """,
        # `version` counts the events that the run has seen: whoever writes says which one was read.
        # `snapshot` stands last, so that lists and the clock do not have to read past it. SQLite does not
        # notice a flipped bit in a text: the checksum does.
        """
        CREATE TABLE runs (
            key INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            root INTEGER NOT NULL,
            parent INTEGER REFERENCES runs(key) ON DELETE CASCADE,
            visit TEXT,
            position INTEGER,
            depth INTEGER NOT NULL,
            workflow TEXT NOT NULL,
            task TEXT,
            agent TEXT,
            digest TEXT NOT NULL REFERENCES modules(digest),
            version INTEGER NOT NULL,
            status TEXT NOT NULL,
            due REAL,
            pending TEXT NOT NULL,
            created REAL NOT NULL,
            updated REAL NOT NULL,
            checksum INTEGER NOT NULL,
            snapshot TEXT NOT NULL
        )
        """,
        "CREATE INDEX runs_listed ON runs(status, key) WHERE parent IS NULL",
        "CREATE INDEX runs_under_way ON runs(root) WHERE status = 'running'",
        "CREATE INDEX runs_of_parent ON runs(parent) WHERE parent IS NOT NULL",
        "CREATE INDEX runs_of_module ON runs(digest)",
        # The state, one row per field: a step writes what it changes, however large the rest is. A result that
        # was kept as it came is not written again: `seq` names its event. By rowid, fields stand in the order in
        # which they were first written.
        """
        CREATE TABLE fields (
            run INTEGER NOT NULL REFERENCES runs(key) ON DELETE CASCADE,
            name TEXT NOT NULL,
            seq INTEGER,
            checksum INTEGER,
            value TEXT
        )
        """,
        "CREATE UNIQUE INDEX fields_of_run ON fields(run, name)",
        """
        CREATE TABLE history (
            run INTEGER NOT NULL REFERENCES runs(key) ON DELETE CASCADE,
            seq INTEGER NOT NULL,
            at REAL NOT NULL,
            kind TEXT NOT NULL,
            visit TEXT,
            actor TEXT,
            checksum INTEGER NOT NULL,
            data TEXT NOT NULL,
            told BLOB
        )
        """,
        "CREATE UNIQUE INDEX history_in_order ON history(run, seq)",
        # One accepted answer per visit, and the way to find it when it is sent again.
        "CREATE UNIQUE INDEX history_answers ON history(run, visit) WHERE kind = 'submitted'",
    ),
    (
        # What servers are doing by themselves. `owner` names the process: see wfc_runtime.service.server_liveness.
        """
        CREATE TABLE claims (
            root INTEGER NOT NULL,
            run INTEGER NOT NULL REFERENCES runs(key) ON DELETE CASCADE,
            visit TEXT NOT NULL,
            at REAL NOT NULL,
            owner TEXT NOT NULL,
            PRIMARY KEY (root, run, visit)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX claims_of_run ON claims(run)",
    ),
)


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Bring the file to this version's tables: all steps or, if anything goes wrong, none."""
    if version_of(connection, path) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for number in range(version_of(connection, path), len(MIGRATIONS)):
            for statement in MIGRATIONS[number]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def version_of(connection: sqlite3.Connection, path: str) -> int:
    """The number of the tables in a file. Raises `StoreError` for a file that is not ours, or of a later wfc."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if owner != APPLICATION_ID and (owner or version or tables):
        raise StoreError(
            "store_foreign",
            f"{path} is a database of another program",
            "Name another file with --state or WFC_STATE.",
        )
    if version > len(MIGRATIONS):
        raise StoreError(
            "store_newer",
            f"{path} was written by a newer wfc (store version {version}, this one knows {len(MIGRATIONS)})",
            "Upgrade wfc, or name another file with --state or WFC_STATE.",
        )
    return int(version)
