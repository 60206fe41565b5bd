"""Opening the file, and SQLite's errors in words."""

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
from wfc_runtime.store.migrations import migrate

DEFAULT_BUSY_SECONDS = 10.0
_LOG_PAGES = 128
_LEAST_BYTES = 512
"""No database is smaller."""
RESTORE = "Keep a copy and restore a backup, or name another file with --state or WFC_STATE."


def prepare_file(path: Path) -> None:
    """Make the folder, and an empty file that only its owner can read: -wal and -shm get the same mode."""
    folder = path.parent
    try:
        if not folder.exists():
            folder.mkdir(parents=True, mode=0o700, exist_ok=True)
            if folder.name == ".wfc":
                (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        if _size_at(path) == 0 and _size_at(f"{os.path.realpath(path)}-wal"):
            # SQLite would make a new database, and delete the log with the answers in it.
            raise StoreError(
                "store_damaged",
                f"{path} is missing or empty, but its log {path.name}-wal is there",
                "Put the file back that belongs to the log; to begin with an empty store, delete the log too.",
            )
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        elif path.is_dir():
            raise StoreError("store_unusable", f"{path} is a folder, not a file")
        elif 0 < path.stat().st_size < _LEAST_BYTES:
            # SQLite would take it for an empty one and write over it.
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
    """The size of a file; 0 if there is none."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def connect(
    path: Path, busy_seconds: float = DEFAULT_BUSY_SECONDS, durable: bool = True
) -> sqlite3.Connection:
    """A connection with our settings, on a file that has today's tables. One that is thrown away need not last."""
    with translated(path):
        connection = sqlite3.connect(
            path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
        )
        try:
            # A change of journal mode ignores the busy timeout when two processes create the file together.
            _until_free(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone(), busy_seconds)
            # NORMAL loses acknowledged steps when the power fails; OFF corrupts.
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
            connection.execute("PRAGMA fullfsync = 1")
            connection.execute("PRAGMA foreign_keys = 1")
            # What a run has forgotten, or was erased, is overwritten; FAST would leave whole pages as they were.
            connection.execute("PRAGMA secure_delete = 1")
            connection.execute("PRAGMA trusted_schema = 0")
            # Writing where the log has been before costs half of making it longer, of which the file system keeps a
            # journal too: bring the pages home early and begin the log anew.
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
    """SQLite's errors as ours: what is wrong with the store and what to do about it."""
    return Translation(path, files)


class Translation:
    """Around each question to the file: a generator would cost more than the question."""

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
                # SQLite has no words for a file that was deleted or replaced.
                self._files.check()
            raise _translate(self._path, error) from error
        if isinstance(error, UnicodeDecodeError):
            # SQLite quotes what it could not make sense of, byte by byte.
            raise damaged(self._path, "it has text that is none") from error


def damaged(path: Path, why: str) -> StoreError:
    return StoreError("store_damaged", f"{path} is damaged: {why}", RESTORE)


def _primary_code(error: sqlite3.Error) -> int:
    # The low byte is the kind of error, the rest says more.
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
                f"there is no room left on the disk for {path}",
                "Free some space; nothing was lost.",
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
    # Our statements are right, so a row or a table is not what it was: a text that is none, a number that is taken.
    if _primary_code(error) in (0, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH):
        return damaged(path, str(error))
    return StoreError("store_unusable", f"{path} can't be used: {error}")


def _read_only(path: Path) -> StoreError:
    return StoreError(
        "store_read_only",
        f"{path} can't be written",
        "Make the file and its folder writable, or name another file with --state or WFC_STATE.",
    )
