"""`wfc serve` over stdio as two processes: the front holds the client's pipe, a worker does the work.

Clients do not restart a server that died, or only when the user asks for it. So the process that the client knows is a
small one that can hardly fail: it passes lines on (`front_messages`), starts a new worker when one has died, and sends
it the requests that are still unanswered. It is a single thread around `poll` and imports next to nothing: it can
answer from the cache (`front_cache`) while the worker is still importing the SDK.

POSIX only. Elsewhere, over HTTP and in a terminal, the server is one process.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from itertools import islice

from wfc_runtime.interrupt import INTERRUPTED
from wfc_runtime.server.front_messages import Outgoing, Relay

TYPE_CHECKING = False  # As in `typing`, which takes longer to import than this module.
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from wfc_runtime.server.front_cache import HandshakeCache

WORKER = "serve-worker"
"""Replaces `serve` in the worker's command line, so that the two processes can be distinguished."""

# Back-pressure: a client that does not read must not make the front buffer without bound.
_FULL = 8 * 1024 * 1024
"""While this many bytes wait to be written on one side, the other side is not read."""
_LONGEST_LINE = 64 * 1024 * 1024
_CHUNK = 256 * 1024
_PIPE_BUF = select.PIPE_BUF
_DELAYS = (0.0, 0.2, 0.5, 1.0, 2.0)
"""Seconds before the next worker is started, while workers die without having answered anything."""
_QUIET = 200
"""Milliseconds without a message after which the cache is written."""
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_STARTING = 30.0
"""Seconds that a worker that is still starting has to answer after the client has disconnected."""


def worker_command(arguments: list[str]) -> list[str]:
    """The command line of a worker. It runs in the project's folder, from which Python must not import `wfc`."""
    flags = [flag for name, flag in _FLAGS.items() if getattr(sys.flags, name)]
    home = os.path.dirname(os.path.dirname(os.path.abspath(str(sys.modules["wfc"].__file__))))
    # If wfc itself was imported from that folder, it may be nowhere else, so the folder must stay on the path.
    is_here = bool(sys.path) and os.path.abspath(sys.path[0]) == home and not sys.flags.safe_path
    return [sys.executable, *flags, *([] if is_here else ["-P"]), "-m", "wfc", WORKER, *arguments]


_FLAGS = {
    "isolated": "-I",
    "ignore_environment": "-E",
    "no_user_site": "-s",
    "no_site": "-S",
    "dont_write_bytecode": "-B",
}


def hold(arguments: list[str]) -> NoReturn:
    """Serve until the client disconnects or a signal ends the process."""
    from wfc_runtime.server.front_cache import HandshakeCache

    front = Front(worker_command(arguments), HandshakeCache(arguments))
    status = front.run()
    if status >= 0:
        os._exit(status)
    signal.signal(-status, signal.SIG_DFL)
    # With the signal's default action restored, so that the caller sees that the signal ended the process.
    os.kill(os.getpid(), -status)
    os._exit(128 - status)


class Lines:
    """Splits input into lines. A line longer than `most` is skipped and counted."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rest = bytearray()
        self._is_skipping = False
        self.skipped = 0

    # A line may arrive in many pieces, and a piece may have many lines.
    def feed(self, data: bytes) -> list[bytes]:
        *ends, rest = data.split(b"\n")
        lines: list[bytes] = []
        for end in ends:
            if not self._is_skipping:
                lines.append(bytes(self._rest) + end + b"\n")
                self._rest.clear()
            self._is_skipping = False
        if not self._is_skipping:
            self._rest += rest
            if len(self._rest) > self._most:
                self._rest.clear()
                self._is_skipping = True
                self.skipped += 1
        return lines


class Worker:
    """A worker process, and the front's ends of its pipes."""

    def __init__(self, command: list[str], reset: list[signal.Signals]) -> None:
        theirs_in, self.stdin = os.pipe()
        self.stdout, theirs_out = os.pipe()
        # The descriptors of the worker are closed in this process in any case: an open copy would hide the
        # end of a pipe.
        try:
            actions = [(os.POSIX_SPAWN_DUP2, theirs_in, 0), (os.POSIX_SPAWN_DUP2, theirs_out, 1)]
            self.pid = os.posix_spawn(command[0], command, os.environ, file_actions=actions, setsigdef=reset)
        except BaseException:
            os.close(self.stdin)
            os.close(self.stdout)
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        # A worker that does not read must not block the front, which also has to serve the client.
        os.set_blocking(self.stdin, False)
        os.set_blocking(self.stdout, False)
        self.lines = Lines(sys.maxsize)

    def close_stdin(self) -> None:
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def close(self) -> None:
        self.close_stdin()
        if self.stdout >= 0:
            os.close(self.stdout)
            self.stdout = -1

    def kill(self, number: int) -> None:
        # The process has not been waited for, so its id can't have been reused.
        os.kill(self.pid, number)


class Front:
    """The client's pipe, the current worker, and the pending timer."""

    def __init__(self, command: list[str], cache: HandshakeCache | None = None) -> None:
        self._command = command
        self._relay = Relay(cache)
        self._cache = cache
        self._lines = Lines(_LONGEST_LINE)
        self._worker: Worker | None = None
        self._is_first = True
        self._silent_deaths = 0
        self._due: tuple[float, Callable[[], None]] | None = None
        """The only pending timer: its time and its action."""
        self._is_ending = False
        self._signal = 0
        self._status: int | None = None
        self._wake, self._reset = -1, [signal.SIGPIPE, signal.SIGXFSZ]

    def run(self) -> int:
        """Serve, and return the exit status; negative: the signal to die from."""
        _occupy_standard_streams()
        self._listen_for_signals()
        self._start()
        while self._status is None:
            self._turn()
        self._flush()
        if self._cache is not None and self._cache.is_changed:
            self._cache.write()
        return self._status

    # -- the loop --------------------------------------------------------------

    def _turn(self) -> None:
        # Registered again in each turn: which descriptors matter depends on what waits to be written.
        relay, worker, poll = self._relay, self._worker, select.poll()
        poll.register(self._wake, select.POLLIN)
        if not self._is_ending and not _is_mute(worker) and relay.to_worker.size < _FULL:
            poll.register(0, select.POLLIN)
        if relay.to_client.size:
            poll.register(1, select.POLLOUT)
        if worker and worker.stdout >= 0 and relay.to_client.size < _FULL:
            poll.register(worker.stdout, select.POLLIN)
        if worker and worker.stdin >= 0 and relay.to_worker.size:
            poll.register(worker.stdin, select.POLLOUT)
        due = self._due
        is_changed = self._cache is not None and self._cache.is_changed
        patience: float | None = _QUIET if is_changed else None
        if due is not None:
            # A timer takes precedence over writing the cache, which can wait.
            patience = max(0.0, (due[0] - time.monotonic()) * 1000)
        ready = dict(poll.poll(patience))
        if is_changed and not ready and self._cache is not None:
            self._cache.write()
        if (self._wake in ready or 0 in ready) and self._hear():
            # Signals come first: what the client sends now must not go to a worker that has died.
            return
        if worker and worker.stdout in ready:
            self._read_worker(worker)
        # The end of its output can come before the signal of its death. What the client sends waits for the next one.
        if 0 in ready and not _is_mute(worker):
            self._read_client()
        if worker and relay.to_worker.size:
            self._write_worker(worker)
        if relay.to_client.size:
            self._write_client()
        # `is`: the timer may have been replaced while this turn was processed.
        if due is not None and self._due is due and time.monotonic() >= due[0]:
            self._due = None
            due[1]()
        # Everything has been delivered, so the end of the input tells the worker to finish.
        if self._is_ending and self._worker and not relay.to_worker.size:
            self._worker.close_stdin()

    def _after(self, seconds: float, work: Callable[[], None]) -> None:
        self._due = time.monotonic() + seconds, work

    # -- pipes -----------------------------------------------------------------

    def _read_client(self) -> None:
        try:
            data = os.read(0, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            # A reset connection is an end like any other.
            data = b""
        if not data:
            self._end()
            return
        for line in self._lines.feed(data):
            self._relay.from_client(line)
        for _ in range(self._lines.skipped):
            self._relay.refuse_overlong(_LONGEST_LINE)
        self._lines.skipped = 0
        if self._worker is None and self._due is None and self._relay.asked:
            # Workers kept dying; a new request is worth another attempt.
            self._start()

    def _read_worker(self, worker: Worker) -> bool:
        """Read from the worker; returns whether there was anything."""
        try:
            data = os.read(worker.stdout, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            os.close(worker.stdout)
            worker.stdout = -1
            if not self._is_ending:
                # Its output has ended, so it can't answer any more. Its exit status may take a moment longer.
                self._after(2, lambda: self._kill(signal.SIGKILL))
            return False
        for line in worker.lines.feed(data):
            self._relay.from_worker(line)
        return True

    def _write_worker(self, worker: Worker) -> None:
        waiting = self._relay.to_worker
        while worker.stdin >= 0 and waiting.size:
            # `memoryview` avoids copying the rest of a large line.
            first = memoryview(waiting.lines[0])[waiting.offset :]
            try:
                waiting.written(os.writev(worker.stdin, [first, *islice(waiting.lines, 1, 64)]))
            except BlockingIOError:
                return
            except OSError:
                # The worker is dying. The next one gets what it has not read.
                worker.close_stdin()

    def _write_client(self) -> None:
        """Write in small pieces and only if there is space: the client may have made the pipe a blocking one."""
        room = select.poll()
        room.register(1, select.POLLOUT)
        waiting = self._relay.to_client
        while waiting.size and room.poll(0):
            try:
                waiting.written(os.write(1, _piece(waiting)))
            except BlockingIOError:
                return
            except OSError:
                waiting.clear()
                self._end()

    def _flush(self) -> None:
        """Write the rest of the output, as long as the client reads it."""
        waiting, room = self._relay.to_client, select.poll()
        room.register(1, select.POLLOUT)
        while waiting.size and room.poll(2000):
            before = waiting.size
            self._write_client()
            if waiting.size == before:
                return

    # -- workers ---------------------------------------------------------------

    def _start(self) -> None:
        try:
            self._worker = Worker(self._command, self._reset)
        except OSError as error:
            _say(f"can't start a worker: {error.strerror}")
            self._died(None)
            return
        self._relay.worker_started()

    def _reap(self) -> None:
        worker = self._worker
        if worker is None:
            return
        # WNOHANG: another child's signal, or several signals in one, must not block the loop.
        pid, status = os.waitpid(worker.pid, os.WNOHANG)
        if not pid:
            return
        # Its children may hold the pipe open, so do not wait for the end of its output.
        while worker.stdout >= 0 and self._read_worker(worker):
            pass
        worker.close()
        self._worker = self._due = None
        self._died(os.waitstatus_to_exitcode(status))

    def _died(self, status: int | None) -> None:
        """Handle the end of a worker. `status` is as in `subprocess`; None: it could not be started."""
        relay = self._relay
        is_first, self._is_first = self._is_first, False
        if self._is_ending:
            self._leave(status)
            return
        if is_first and not relay.ever_answered and status is not None and status >= 0:
            # A wrong option, or a project that can't be served. The worker has printed the reason.
            self._status = status
            return
        # A worker that has answered something is not part of a series of failed starts.
        self._silent_deaths = 0 if relay.has_answered else self._silent_deaths + 1
        relay.has_answered = False
        repeated = relay.worker_died()
        how = "could not be started" if status is None else f"died ({_cause(status)})"
        if self._silent_deaths > len(_DELAYS):
            # The next request gets one more attempt.
            self._silent_deaths = len(_DELAYS)
            relay.fail_all("the server can't be started: it keeps crashing")
            _say(
                f"the worker {how} {len(_DELAYS) + 1} times before its first answer; waiting for the next request"
            )
            return
        delay = _DELAYS[max(0, self._silent_deaths - 1)]
        _say(f"the worker {how}; starting another in {delay:g} s, requests to repeat: {repeated}")
        self._after(delay, self._start)

    # -- the end ---------------------------------------------------------------

    def _listen_for_signals(self) -> None:
        self._wake, wake = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wake, False)
        # A signal writes a byte into the pipe, which wakes `poll`; the handlers themselves do nothing.
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, *_ENDING):
            # Signals that the parent process ignores stay ignored, here and in the worker.
            if number == signal.SIGCHLD or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda *_: None)
                self._reset.append(number)

    def _hear(self) -> bool:
        """Whether there was a signal."""
        try:
            heard = os.read(self._wake, 4096)
        except BlockingIOError:
            return False
        for number in heard:
            if number in _ENDING:
                self._end(number)
        self._reap()
        return True

    def _end(self, number: int = 0) -> None:
        """Start to shut down: the client has disconnected, or a signal arrived."""
        if number:
            # A second signal means that the user is impatient.
            self._kill(signal.SIGKILL if self._signal else number)
            self._signal = self._signal or number
            self._after(0.5, lambda: self._kill(signal.SIGKILL))
        elif not self._is_ending:
            self._after(2 if self._relay.ever_answered else _STARTING, self._end_by_force)
        self._is_ending = True
        # Nothing is running that has to end first.
        if self._worker is None:
            self._leave(None)

    def _end_by_force(self) -> None:
        self._kill(signal.SIGTERM)
        self._after(1, lambda: self._kill(signal.SIGKILL))

    def _kill(self, number: int) -> None:
        if self._worker is not None:
            self._worker.kill(number)

    def _leave(self, status: int | None) -> None:
        if self._signal:
            # Ctrl-C has its own exit status in wfc; any other signal is passed on by dying from it.
            self._status = INTERRUPTED if self._signal == signal.SIGINT else -self._signal
        else:
            self._status = max(0, status or 0)


def _is_mute(worker: Worker | None) -> bool:
    return worker is not None and worker.stdout < 0


def _piece(waiting: Outgoing) -> bytes:
    """At most as many bytes as a pipe accepts without blocking, from one or more lines."""
    piece = waiting.lines[0][waiting.offset : waiting.offset + _PIPE_BUF]
    for line in islice(waiting.lines, 1, 64) if len(piece) < _PIPE_BUF else ():
        piece += line[: _PIPE_BUF - len(piece)]
        if len(piece) == _PIPE_BUF:
            break
    return piece


def _cause(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


def _say(text: str) -> None:
    """Write a line to standard error, unless nobody reads it: the front must never block on it."""
    # `poll` first: a full pipe on standard error would block forever.
    room = select.poll()
    room.register(2, select.POLLOUT)
    try:
        if room.poll(0):
            os.write(2, f"wfc serve: {text}\n".encode("utf-8", "replace"))
    except OSError:
        pass


def _occupy_standard_streams() -> None:
    """Open closed standard streams, so that no pipe gets the number of one."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(opened)
