"""Detects which of the servers that share a store are alive.

A server that executes actions itself holds a lock on its own file next to the store as long as it lives. The
operating system releases the lock when the process has ended, however it ended, and its commands with it (see
`wfc_runtime.execute.guard`). So neither a clock nor a process id has to be trusted: a process that can lock the file
knows that its owner has ended.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from wfc_runtime.errors import StoreError
from wfc_runtime.service.ids import new_id

if TYPE_CHECKING:
    from wfc_runtime.execute.guard import Guard


class LiveServers:
    """The processes that claim actions in one store, including this one."""

    def __init__(self, state: Path) -> None:
        self._folder = state.with_name(f"{state.name}-servers")
        self._lock = Lock()
        self._me: tuple[str, int] | None = None

    def me(self) -> str:
        """The name of this process in claims."""
        with self._lock:
            if self._me is None:
                # Created on first use: a server that executes nothing leaves no file behind.
                name = new_id()
                self._me = (name, self._hold(name))
                # The guard holds the same open file, so the lock outlives this process until its commands
                # have ended, too.
                _guard().hold(self._me[1])
            return self._me[0]

    def is_alive(self, owner: str) -> bool:
        with self._lock:
            if self._me is not None and self._me[0] == owner:
                return True
        path = self._folder / owner
        try:
            opened = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            # No file: the owner has ended and removed it.
            return False
        try:
            if not _locked(opened):
                return True
            # Names are never reused, so the next caller finds no file and draws the same conclusion.
            with suppress(OSError):
                path.unlink()
            # The file is only removed by a process that could lock it, never by age or process id.
            return False
        finally:
            os.close(opened)

    def close(self) -> None:
        with self._lock:
            if self._me is not None:
                name, opened = self._me
                with suppress(OSError):
                    # Removed before the lock is released, so that nobody can find an unlocked file of a
                    # living server.
                    (self._folder / name).unlink()
                _guard().let_go(opened)
                os.close(opened)
                self._me = None

    def _hold(self, name: str) -> int:
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            # O_EXCL: a name is used once.
            opened = os.open(self._folder / name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError("store_unusable", f"{self._folder} can't be written: {error.strerror}") from None
        if not _locked(opened):
            os.close(opened)
            raise StoreError("store_unusable", f"{self._folder} is on a file system without locks")
        return opened


def _guard() -> Guard:
    # Imported here: most servers execute nothing themselves.
    from wfc_runtime.execute.guard import GUARD

    return GUARD


def _locked(opened: int) -> bool:
    """Try to lock a file; success means that it has no living owner."""
    # Imported here: Windows has no fcntl, and a server on Windows executes no actions.
    import fcntl

    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
