"""Open the store file: schema and numbered migrations, integrity checks, and the translation of SQLite's errors."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from wfc_runtime.errors import StoreError
from wfc_runtime.store.files import OpenFiles

# Numbered schema migrations. A migration that has been released is never changed: stores in the field have run it.

APPLICATION_ID = 0x57464331
"""Marks the file as ours ("WFC1"), so that another program's database is never touched."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # The compiled module that a run was started with: the run continues with it after `wfc compile` changed it.
        """
        CREATE TABLE modules (
            digest TEXT PRIMARY KEY,
            workflow TEXT NOT NULL,
            text TEXT NOT NULL,
            created REAL NOT NULL
        )
        """,
        # `version` counts the events of a run and is the optimistic lock: a writer names the version that it read.
        # `snapshot` is the last column, so that lists and timers need not read past it. SQLite does not detect a
        # flipped bit in a text; `checksum` does.
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
        # The state, one row per field: a step writes only what it changes, however large the rest is. A result that
        # was stored unchanged is not written twice: `seq` names its event. Ordered by rowid, fields come in the
        # order in which they were first written.
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
        # At most one accepted answer per visit; the index also finds it when the same answer is sent again.
        "CREATE UNIQUE INDEX history_answers ON history(run, visit) WHERE kind = 'submitted'",
    ),
    (
        # Actions that a server is executing. `owner` names the process: see wfc_runtime.service.server_liveness.
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
    # The line map generated with a module. Modules up to format 2 keep their line numbers in the text.
    ("ALTER TABLE modules ADD COLUMN line_map TEXT",),
    # The next due time, independent of the size of the store: servers ask once a second.
    ("CREATE INDEX runs_due ON runs(due) WHERE status = 'running' AND due IS NOT NULL",),
    # Whether the action becomes pending again when its server has died: the work of an agent, not that of a command.
    ("ALTER TABLE claims ADD COLUMN returned INTEGER NOT NULL DEFAULT 0",),
    (
        # The visits that ask a person, of runs and of their children: the inbox of the page. The run itself contains
        # the question; this table only finds it without reading every run in progress.
        """
        CREATE TABLE gates (
            run INTEGER NOT NULL REFERENCES runs(key) ON DELETE CASCADE,
            visit TEXT NOT NULL,
            since REAL NOT NULL,
            PRIMARY KEY (run, visit)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX gates_by_age ON gates(since, run, visit)",
        # Every prompt has a prompt_type. A snapshot that is not JSON is damaged, which reading that run reports.
        """
        INSERT INTO gates (run, visit, since)
        SELECT runs.key, pending.key, runs.updated
        FROM runs, json_each(CASE WHEN json_valid(snapshot) THEN snapshot ELSE '{}' END, '$.pending') AS pending
        WHERE status = 'running' AND json_extract(pending.value, '$.parameters.prompt_type') IS NOT NULL
        """,
        # Counts and lists of one workflow, independent of the size of the store.
        "CREATE INDEX runs_of_workflow ON runs(workflow, status, key) WHERE parent IS NULL",
    ),
    # The journal of a run, however long its history is.
    ("CREATE INDEX history_journal ON history(run, seq) WHERE kind = 'journal'",),
)


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Migrate the file to the current schema: all steps or, if one fails, none."""
    # Without a lock first: opening a current store, the usual case, must not wait for writers.
    if version_of(connection, path) == len(MIGRATIONS):
        return
    # The write lock comes first: the version is read again under it, since another process may have migrated meanwhile.
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read again: this is the version under the lock.
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
    """The schema version of a file. Raises `StoreError` for another program's file and for one of a later wfc."""
    # One read transaction: if another process committed the first migration between two of these statements, the
    # file would seem to have tables but no application id.
    outermost = not connection.in_transaction
    if outermost:
        connection.execute("BEGIN")
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (owner,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    finally:
        # SQLite ends the transaction itself after some errors; a second ROLLBACK would raise.
        if outermost and connection.in_transaction:
            connection.execute("ROLLBACK")
    if owner != APPLICATION_ID and (owner or version or tables):
        raise StoreError(
            "store_foreign",
            f"{path} is another program's database",
            "Name another file with --state or WFC_STATE.",
        )
    if version > len(MIGRATIONS):
        raise StoreError(
            "store_newer",
            f"{path} was written by a newer wfc (store version {version}, this one supports {len(MIGRATIONS)})",
            "Upgrade wfc, or name another file with --state or WFC_STATE.",
        )
    return int(version)


# Opening.

DEFAULT_BUSY_SECONDS = 10.0
_LOG_PAGES = 128
_LEAST_BYTES = 512
"""The smallest page size of SQLite: no database is smaller."""
RESTORE = "Keep a copy and restore a backup, or name another file with --state or WFC_STATE."


def prepare_file(path: Path) -> None:
    """Create the folder and an empty file that only its owner can read. SQLite gives -wal and -shm the same mode."""
    folder = path.parent
    try:
        if not folder.exists():
            folder.mkdir(parents=True, mode=0o700, exist_ok=True)
            # Only in the default folder. A folder that the user names is the user's, and is left alone.
            if folder.name == ".wfc":
                (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        # `realpath`, because SQLite names the log after the target of a link.
        if _size_at(path) == 0 and _size_at(f"{os.path.realpath(path)}-wal"):
            # SQLite would create a new database and delete the log, with acknowledged answers in it.
            raise StoreError(
                "store_damaged",
                f"{path} is missing or empty, but its log {path.name}-wal exists",
                "Restore the file that belongs to the log. To start with an empty store, delete the log too.",
            )
        if not path.exists():
            # Created here and not by SQLite, whose file mode would depend on the umask.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        elif path.is_dir():
            raise StoreError("store_unusable", f"{path} is a folder, not a file")
        elif 0 < path.stat().st_size < _LEAST_BYTES:
            # SQLite would treat it as an empty database and overwrite it.
            raise damaged(path, "it is too short to be a store")
        elif not os.access(path, os.W_OK):
            raise _read_only(path)
    except PermissionError:
        raise _read_only(path) from None
    except OSError as error:
        if error.errno == errno.EROFS:
            raise _read_only(path) from None
        raise StoreError("store_unusable", f"{path} can't be opened: {error.strerror}") from None


def _size_at(path: Path | str) -> int:
    """The size of a file; 0 if it does not exist."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def connect(
    path: Path, busy_seconds: float = DEFAULT_BUSY_SECONDS, durable: bool = True
) -> sqlite3.Connection:
    """A connection with our settings, on a file with the current schema. `durable=False` is for temporary stores."""
    with translated(path):
        # `isolation_level=None`: transactions are started explicitly. The caller's locks make sure that one
        # thread at a time uses the connection.
        connection = sqlite3.connect(
            path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
        )
        try:
            # A change of journal mode ignores the busy timeout when two processes create the file together.
            _until_free(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone(), busy_seconds)
            # NORMAL loses acknowledged steps when the power fails; OFF corrupts.
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
            # macOS only: there, a plain fsync does not reach the disk.
            connection.execute("PRAGMA fullfsync = 1")
            connection.execute("PRAGMA foreign_keys = 1")
            # Overwrite values that a run has cleared and runs that were deleted; FAST would leave whole pages intact.
            connection.execute("PRAGMA secure_delete = 1")
            # The file may come from somebody else, and its schema must not be able to call functions.
            connection.execute("PRAGMA trusted_schema = 0")
            # Writing over an existing part of the log costs half as much as extending it, because the file system
            # journals the new size: checkpoint early, so that the log starts over.
            connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
            migrate(connection, str(path))
        except BaseException:
            connection.close()
            raise
    return connection


def _until_free(action: Callable[[], object], seconds: float) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            action()
            return
        except sqlite3.OperationalError as error:
            if (
                _primary_code(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
                or time.monotonic() > end
            ):
                raise
            time.sleep(0.01)


def translated(path: Path, files: OpenFiles | None = None) -> Translation:
    """Turn SQLite's errors into `StoreError`s that say what is wrong with the store and what to do."""
    return Translation(path, files)


class Translation:
    """A class rather than a generator: entering a generator would cost more than the query inside it."""

    def __init__(self, path: Path, files: OpenFiles | None) -> None:
        self._path = path
        self._files = files

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, sqlite3.Error):
            if self._files is not None:
                # SQLite has no error of its own for a file that was deleted or replaced.
                self._files.check()
            raise _translate(self._path, error) from error
        if isinstance(error, UnicodeDecodeError):
            # The original message quotes the undecodable bytes: do not repeat it.
            raise damaged(self._path, "it contains text that is not UTF-8") from error


def damaged(path: Path, why: str) -> StoreError:
    return StoreError("store_damaged", f"{path} is damaged: {why}", RESTORE)


def _primary_code(error: sqlite3.Error) -> int:
    # The low byte is the primary result code; the rest is the extended code.
    # Errors that Python's module raises itself have no code.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _translate(path: Path, error: sqlite3.Error) -> StoreError:
    match _primary_code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreError(
                "store_busy", f"{path} is busy: another process has been writing for too long", "Try again."
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return _read_only(path)
        case sqlite3.SQLITE_FULL:
            return StoreError(
                "store_full",
                f"no space left on the disk for {path}",
                "Free some space. Nothing was lost.",
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return StoreError(
                "store_damaged",
                f"{path} is damaged or not a wfc store: {error}",
                RESTORE,
            )
        case sqlite3.SQLITE_IOERR:
            return StoreError(
                "store_unusable", f"{path} can't be read or written: {error}", "Check the disk."
            )
    # Our statements are valid, so a row or a table has been changed: invalid text, a duplicate key, a missing table.
    if _primary_code(error) in (0, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH):
        return damaged(path, str(error))
    return StoreError("store_unusable", f"{path} can't be used: {error}")


def _read_only(path: Path) -> StoreError:
    return StoreError(
        "store_read_only",
        f"{path} can't be written",
        "Make the file and its folder writable, or name another file with --state or WFC_STATE.",
    )


# Read-only checks: is this file a store, of a supported version, and intact?


def check_soundness(path: Path) -> None:
    """Raise `StoreError` if the file is not an intact store that this version can read."""
    with translated(path):
        # Read-only and by URI: a check must not create a file, a log or a new schema.
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=1)
        try:
            version_of(connection, str(path))
            # The first problem is enough, and `quick_check` skips the comparison of indexes with tables,
            # which is slow.
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise damaged(path, str(verdict))
            # A file of the right version whose tables are missing passes the check above.
            connection.execute("SELECT id FROM runs LIMIT 1").fetchone()
        finally:
            connection.close()
