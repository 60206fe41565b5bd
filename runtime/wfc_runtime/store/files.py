"""Detect that the files SQLite has open are no longer the ones that the path of the store names.

A deleted or moved file stays readable and writable for the process that has it open. In WAL mode SQLite does not look
at the path again, so a server would keep acknowledging answers that no later server finds. `OpenFiles` compares device
and inode of the database, its log (`-wal`) and the index of the log (`-shm`) with what the path names now.

This module never opens these files, it only calls `stat`: closing a descriptor releases all POSIX locks that the
process, and so SQLite, holds on the file.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from contextlib import suppress
from pathlib import Path

from wfc_runtime.errors import StoreError

_SUFFIXES = ("", "-wal", "-shm")
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)

Identity = tuple[int, int]


class OpenFiles:
    """The three files of a store, as they were when it was opened."""

    def __init__(self, path: Path) -> None:
        """Raises `OSError` if one of them is missing."""
        self.path = path
        # Made absolute once: the process may change its working directory.
        self._absolute = os.path.abspath(path)
        self._beside = (f"{self._absolute}-wal", f"{self._absolute}-shm")
        found = self._found()
        self.identities = tuple(map(_identity, found))
        # Remembered to notice a truncation. The index is left out, since SQLite rebuilds it from the log.
        self._sizes = (found[0].st_size, found[1].st_size)
        self._modified = found[0].st_mtime_ns

    def check(self) -> None:
        """Raise `StoreError` if the path names other files, or if one of them was truncated."""
        try:
            database, log, index = self._found()
        except OSError as error:
            raise self._refusal(error) from None
        if (_identity(database), _identity(log), _identity(index)) != self.identities:
            raise self._refusal()
        if database.st_size < self._sizes[0] or log.st_size < self._sizes[1]:
            self._check_shorter(database, log)
        else:
            self._sizes = (database.st_size, log.st_size)
        self._modified = database.st_mtime_ns

    def may_checkpoint(self) -> bool:
        """Whether closing the last connection may copy the log into the database and delete it, as SQLite does.

        It may do so when the log or its index was deleted: the checkpoint then saves the answers in it. It must not
        when another process has used the same database in the meantime.
        """
        name = self._resolved()
        try:
            database = os.stat(name)
        except OSError:
            return True  # SQLite does neither to a database that has been moved.
        # Another database has the name now: for SQLite, that is the same as a database that was moved.
        if _identity(database) != self.identities[0]:
            return True
        log, index = (_identity_at(f"{name}{suffix}") for suffix in _SUFFIXES[1:])
        _, own_log, own_index = self.identities
        if (log, index) == (own_log, own_index):
            return True
        # A process that commits changes the database when it exits; a killed one leaves an index and a log behind.
        is_unused = log in (None, own_log) or os.stat(f"{name}-wal").st_size == 0
        return is_unused and index in (None, own_index) and database.st_mtime_ns == self._modified

    def _found(self) -> tuple[os.stat_result, os.stat_result, os.stat_result]:
        # `lstat` first: one call tells whether it is a link, and links are rare.
        database = os.lstat(self._absolute)
        log, index = self._beside
        if stat.S_ISLNK(database.st_mode):
            # SQLite names the log after the target of the link.
            name = os.path.realpath(self._absolute)
            database, log, index = os.stat(name), f"{name}-wal", f"{name}-shm"
        return database, os.stat(log), os.stat(index)

    def _resolved(self) -> str:
        return os.path.realpath(self._absolute) if os.path.islink(self._absolute) else self._absolute

    def _check_shorter(self, database: os.stat_result, log: os.stat_result) -> None:
        """Accept a database shortened by `VACUUM` or a log emptied by a checkpoint; refuse any other truncation."""
        # SQLite treats an empty database as a new one and deletes its log.
        if not database.st_size or not _is_whole(self._resolved()):
            raise self._error(
                "it, or its log, was truncated by another program",
                "Restart the server. If it then reports that the store is damaged, restore a backup.",
            )
        self._sizes = (database.st_size, log.st_size)

    # -- messages ----------------------------------------------------------------

    def _refusal(self, error: OSError | None = None) -> StoreError:
        # Only errors that mean "not there" prove a replacement; a permission problem may go away.
        if error is not None and error.errno not in _ABSENT:
            return StoreError(
                "store_unusable",
                f"{self.path} can't be inspected: {error.strerror}",
                "Make its folder accessible again.",
            )
        name = self._resolved()
        now = [_identity_at(f"{name}{suffix}") for suffix in _SUFFIXES]
        if now[0] != self.identities[0]:
            return self._moved("another file has taken its place" if now[0] else "no file has its name now")
        lost = [
            f"{os.path.basename(name)}{suffix}"
            for suffix, one, known in zip(_SUFFIXES, now, self.identities, strict=True)
            if one != known
        ]
        return self._error(
            f"{' and '.join(lost) or 'a part of it'} was deleted or replaced",
            "Stop this server without kill -9: it then writes what it has acknowledged into the store, unless another "
            "process has changed the store since. Then start it again.",
        )

    def _moved(self, what: str) -> StoreError:
        place = _place_of(self.identities[0])
        if place is None:
            return self._error(
                f"the file was deleted or moved, and {what}",
                "Earlier acknowledged answers are in the file that was open. If that was moved, move it back together "
                "with its -wal and -shm files; if it was deleted, restore a backup. Then restart the server.",
            )
        return self._error(
            f"the file was moved to {place}, and {what}",
            f"Earlier acknowledged answers are in {place}. Move it back together with its -wal and -shm files, or name "
            "it with --state or WFC_STATE. Then restart the server.",
        )

    def _error(self, what: str, hint: str) -> StoreError:
        message = f"{self.path} is not the store that this server opened: {what}"
        return StoreError("store_replaced", f"{message}. The server no longer reads or writes it", hint)


def identity_of(path: Path) -> Identity | None:
    """Device and inode of the file that a path resolves to."""
    return _identity_at(str(path))


def _identity_at(name: str) -> Identity | None:
    try:
        return _identity(os.stat(name))
    except OSError:
        return None


def _is_whole(name: str) -> bool:
    """Whether every page can be read. A new connection has no pages cached, so it reads them from disk."""
    try:
        connection = sqlite3.connect(f"{Path(name).as_uri()}?mode=ro", uri=True, timeout=1)
        try:
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
        finally:
            connection.close()
    except sqlite3.Error:
        return False


def _identity(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino


def _place_of(identity: Identity) -> str | None:
    """The current path of an open file of this process, from /proc; None if it was deleted or can't be found."""
    # `/proc` exists on Linux only; elsewhere the message names no place.
    with suppress(OSError):
        for opened in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                if _identity(os.stat(f"/proc/self/fd/{opened}")) == identity:
                    place = os.readlink(f"/proc/self/fd/{opened}")
                    return None if place.endswith(" (deleted)") else place
    return None
