"""Run commands below a guard process that ends them and all their descendants, even if the server is killed.

The guard is a separate process, started with the first command; `guard_process.py` describes what it does. It holds the
locks by which other servers see that this one is alive, so none repeats a command that is still being ended.
"""

from __future__ import annotations

import atexit
import marshal
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock

from wfc_runtime.execute import guard_process
from wfc_runtime.execute.guard_process import COMMAND, END, HEADER, HOLD, LET_GO, READY, RECORD, TERMINATE

_LOADER = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Variables that an interpreter may need to start."""
_ATTEMPTS = 5


class GuardLostError(Exception):
    """The guard process can't be started, or was killed."""


class Supervised:
    """A command, seen from the server: what its supervisor reports, and the requests to it."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.error = 0
        """The errno, if the command could not be started."""
        self.code: int | None = None
        """The exit code of the command's own process once it has ended."""
        self.is_gone = False
        """Whether no process of the command is left."""
        self.is_lost = False
        """Whether the supervisor was killed."""
        self._pid = 0
        self._unread = b""

    @property
    def is_over(self) -> bool:
        return self.is_gone or self.is_lost

    def read(self) -> None:
        """Read what the supervisor has reported; blocks until there is something."""
        try:
            data = self.control.recv(4096)
        except OSError:
            data = b""
        if not data:
            # A socket that fails is treated like one that was closed.
            # The socket closes after "gone" or "error". A close without either means that the supervisor was killed.
            self.is_lost = not (self.is_gone or self.error)
            self.is_gone = not self.is_lost
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            what, _, number = line.partition(b" ")
            if what == b"started":
                self._pid = int(number)
            elif what == b"ended":
                self.code = int(number)
            elif what == b"error":
                self.error = int(number)
            elif what == b"gone":
                self.is_gone = True

    def terminate(self) -> None:
        """Send SIGTERM to the command's process group."""
        self._say(TERMINATE)

    def end(self) -> None:
        """Kill the command and all its descendants."""
        self._say(END)

    def abandon(self) -> None:
        """Kill the supervisor, so that the guard ends the rest: a command may have stopped its supervisor."""
        if self._pid:
            # The supervisor may be gone, and its id may belong to another user's process.
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self._pid, signal.SIGKILL)

    def _say(self, what: bytes) -> None:
        with suppress(OSError):
            self.control.sendall(what)


class Guard:
    """The guard process of this process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        self._held: dict[int, int] = {}
        self._live: set[socket.socket] = set()

    def hold(self, lock: int) -> None:
        """Keep a locked file locked until the last command has ended."""
        with self._lock:
            # A copy of the descriptor: the caller may close its own before the guard is started.
            self._held[lock] = os.dup(lock)
            if self._line is not None:
                # If the guard was killed, the next command starts a new one, which then gets all locks.
                with suppress(OSError):
                    self._order(HOLD, lock, self._held[lock])

    def let_go(self, lock: int) -> None:
        with self._lock:
            os.close(self._held.pop(lock))
            if self._line is not None:
                with suppress(OSError):
                    self._order(LET_GO, lock)

    def start(
        self,
        program: str,
        words: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        *streams: int,
    ) -> Supervised:
        """Start a program with these words as `argv`. `streams` are its standard output, standard error and, unless it
        is empty, standard input. Raises `GuardLostError`, or `ValueError` for a NUL in a word."""
        # Packed first, so that an invalid argument is reported before a supervisor exists.
        request = _packed(program, words, cwd, env)
        try:
            control = self._supervisor(streams)
        except OSError as error:
            why = error.strerror or str(error)
            raise GuardLostError(f"the process that supervises commands can't be used: {why}") from None
        # If the supervisor has been killed since, the reader of its reports finds out.
        with suppress(BrokenPipeError, ConnectionResetError):
            control.sendall(len(request).to_bytes(HEADER, "big") + request)
        return Supervised(control)

    def _supervisor(self, streams: Sequence[int]) -> socket.socket:
        """The socket of a new supervisor. Retrying is safe: a supervisor starts nothing before it has a request."""
        for _ in range(_ATTEMPTS):
            near, far = socket.socketpair()
            with far, self._lock:
                line = self._line or self._restart()
                with suppress(BrokenPipeError, ConnectionResetError):
                    self._order(COMMAND, len(streams), far.fileno(), *streams)
                self._live.add(near)
            # The request is sent only after this byte, so nothing has been executed if it does not arrive.
            if near.recv(1) == READY:
                return near
            # The guard was killed, or it could not fork.
            self.forget(near)
            with self._lock:
                # Another thread may already have started a new guard.
                if self._line is line:
                    self._line = None
                    line.close()
        raise OSError("it can't start a process")

    def forget(self, control: socket.socket) -> None:
        """Drop a finished command. Closing the socket makes the supervisor end anything that is left."""
        with self._lock:
            self._live.discard(control)
            control.close()

    def resume(self) -> None:
        """Resume the guard, in case a command has stopped it."""
        with self._lock:
            # `poll` also reaps it: a signal to the id of a guard that has ended could hit another process.
            if self._process is not None and self._process.poll() is None:
                self._process.send_signal(signal.SIGCONT)

    def _order(self, kind: bytes, number: int, *descriptors: int) -> None:
        assert self._line is not None
        socket.send_fds(self._line, [kind + number.to_bytes(RECORD - 1, "big")], descriptors)

    def _restart(self) -> socket.socket:
        line, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                # Isolated from site packages, environment and current folder, so that none of them can change it.
                [sys.executable, "-I", "-S", guard_process.__file__],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # A session of its own: Ctrl-C in a terminal must not reach the guard before it has ended the
                # commands.
                start_new_session=True,
                cwd="/",
                env={name: os.environ[name] for name in _LOADER if name in os.environ},
            )
        self._line = line
        # A new guard holds no locks. It gets those that are held now.
        with suppress(BrokenPipeError, ConnectionResetError):
            for lock, held in self._held.items():
                self._order(HOLD, lock, held)
        atexit.register(self._end, self._process, line)
        return line

    def _end(self, process: subprocess.Popen[bytes], line: socket.socket) -> None:
        """At a normal exit: end every command, then wait until the guard has finished."""
        with self._lock:
            # Closing tells each supervisor to end its command; the guard then ends when all of them have.
            for control in self._live:
                with suppress(OSError):
                    control.shutdown(socket.SHUT_RDWR)
            line.close()
        process.wait()


def _packed(program: str, words: Sequence[str], cwd: Path, env: Mapping[str, str]) -> bytes:
    request = (
        os.fsencode(program),
        [os.fsencode(word) for word in words],
        os.fsencode(cwd),
        {os.fsencode(name): os.fsencode(value) for name, value in env.items()},
    )
    if any(b"\0" in one for one in (request[0], *request[1], request[2], *request[3], *request[3].values())):
        raise ValueError("embedded null byte")
    return marshal.dumps(request, 2)


GUARD = Guard()
