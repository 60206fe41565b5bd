"""Run a command as a process: bounded output, a timeout, and the end of everything that it started."""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import IO

from wfc_runtime.contract import Json
from wfc_runtime.execute.base import ExecutionError, shortened
from wfc_runtime.execute.guard import GUARD, GuardLostError, Supervised
from wfc_runtime.execute.permissions import find_program
from wfc_runtime.machine.values import size_of

# Captured output is bounded: the beginning, the end, and the number of bytes left out between them.

_MARK = "\n[... {:,} bytes left out ...]\n"


class Captured:
    """One output stream. Memory stays bounded, however much is written."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    @property
    def ends(self) -> tuple[bytes, bytes]:
        """The beginning and, if the stream is longer than the limit, the end, which may overlap nothing in between."""
        return bytes(self._head), bytes(self._tail[-self._limit :])

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self._limit - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room < len(data) else b""
        # Trimmed only at twice the limit, so that each byte is moved at most once on average.
        if len(self._tail) > 2 * self._limit:
            del self._tail[: -self._limit]

    def text(self) -> tuple[str, bool]:
        """All output or, if that is too long as JSON, its two ends; and whether something was left out."""
        if self.total <= self._limit:
            whole = self._head.decode("utf-8", "replace")
            # Escaped as JSON, a text of control characters is six times as long.
            if size_of(whole) <= self._limit:
                return whole, False
        everything = bytes(self._head + self._tail[-self._limit :])
        keep = self._limit // 2
        while True:
            head, tail = _clean_end(everything[:keep]), _clean_start(everything[-keep:])
            left_out = self.total - len(head) - len(tail)
            text = head.decode("utf-8", "replace") + _MARK.format(left_out) + tail.decode("utf-8", "replace")
            if size_of(text) <= self._limit or keep < 64:
                return text, True
            # Halved until it fits: how much JSON escapes depends on the content.
            keep //= 2


def _clean_end(data: bytes) -> bytes:
    """Drop the first bytes of a character whose rest was cut off."""
    for back in range(1, min(4, len(data)) + 1):
        lead = data[-back]
        if lead & 0xC0 != 0x80:
            length = 4 if lead >= 0xF0 else 3 if lead >= 0xE0 else 2 if lead >= 0xC0 else 1
            return data[:-back] if length > back else data
    return data


def _clean_start(data: bytes) -> bytes:
    """Drop the last bytes of a character whose beginning was cut off."""
    skip = 0
    while skip < min(3, len(data)) and data[skip] & 0xC0 == 0x80:
        skip += 1
    return data[skip:]


def streams(stdout: Captured, stderr: Captured) -> dict[str, Json]:
    """Both streams in the form of a result; with the full size of a stream that was shortened."""
    found: dict[str, Json] = {}
    for name, stream in (("stdout", stdout), ("stderr", stderr)):
        text, cut = stream.text()
        found[name] = text
        if cut:
            found[f"{name}_bytes"] = stream.total
    return found


# Running the process.

_LOOK_EVERY = 0.1
_DRAIN = 0.5
_GRACE = 2.0
_CLEARING = 5.0
"""How long a supervisor may take to kill everything before the guard takes over."""
_CHUNK = 64 * 1024
_FULL_PIPE = 1024 * 1024
"""The largest capacity that an unprivileged process can give a pipe."""
_KILLED = 137


@dataclass(frozen=True)
class Finished:
    exit_code: int
    """As in a shell: 128 plus the signal number if a signal ended it."""
    stdout: Captured
    stderr: Captured
    timed_out: bool = False
    stopped: bool = False
    was_idle: bool = False
    """Whether it timed out because it wrote nothing for too long."""


class NotStartedError(ExecutionError):
    """The program does not exist, or it can't be executed."""

    def __init__(self, program: str, why: str, *, is_missing: bool = False) -> None:
        super().__init__(f"{shortened(program)} can't be started: {why}")
        self.why = why
        self.is_missing = is_missing


def run_process(
    arguments: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    seconds: float,
    limits: tuple[int, int],
    stop: Event,
    capture: bool = True,
    path: str | None = None,
    given: IO[bytes] | None = None,
    on_output: Callable[[bytes], None] | None = None,
    idle: float | None = None,
    grace: float = _GRACE,
) -> Finished:
    """Run a command until it ends or times out.

    `path` is the PATH to find it in; by default that of `env`. `given` is its standard input, a file; by default that
    is empty. `on_output` gets its standard output as it comes. `idle` is how long it may write nothing to it, and
    `grace` how long it has to end after SIGTERM.
    """
    name = arguments[0]
    # Searched before anything is started, for a clear message.
    program = find_program(name, cwd, env.get("PATH") if path is None else path)
    if program is None:
        raise NotStartedError(name, "no such program", is_missing=True)
    streams = (Captured(limits[0]), Captured(limits[1]))
    with ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        # The write ends are closed as soon as the guard has its copies: otherwise the read ends would never see an end.
        with ExitStack() as theirs:
            streams_given: list[int] = []
            for stream in streams:
                if not capture:
                    streams_given.append(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC))
                else:
                    ours, writing = os.pipe()
                    streams_given.append(writing)
                    stack.callback(os.close, ours)
                    os.set_blocking(ours, False)
                    selector.register(ours, selectors.EVENT_READ, stream)
                theirs.callback(os.close, streams_given[-1])
            if given is not None:
                streams_given.append(given.fileno())
            try:
                command = GUARD.start(program, arguments, cwd, env, *streams_given)
            except ValueError as error:
                raise NotStartedError(name, str(error)) from None
            except GuardLostError as error:
                raise ExecutionError(str(error)) from None
        stack.callback(GUARD.forget, command.control)
        selector.register(command.control, selectors.EVENT_READ, None)
        watch = _Watch(name, command, selector, streams, on_output, idle, grace)
        return watch.until_end(time.monotonic() + seconds, stop)


class _Watch:
    """Watches a running command: output, timeout, stop requests."""

    def __init__(
        self,
        name: str,
        command: Supervised,
        selector: selectors.BaseSelector,
        streams: tuple[Captured, Captured],
        on_output: Callable[[bytes], None] | None,
        idle: float | None,
        grace: float,
    ) -> None:
        self._on_output = on_output
        self._idle = idle
        self._grace = grace
        self._heard = time.monotonic()
        """When it last wrote to its standard output."""
        self._name = name
        self._command = command
        self._selector = selector
        self._streams = streams
        self._open = sum(1 for key in selector.get_map().values() if key.data is not None)
        """The number of streams that are not at their end."""

    def until_end(self, deadline: float, stop: Event) -> Finished:
        command = self._command
        timed_out = stopped = was_idle = False
        while command.code is None and not command.is_over:
            now = time.monotonic()
            left = deadline - now
            was_idle = self._idle is not None and now - self._heard >= self._idle
            timed_out, stopped = left <= 0 or was_idle, stop.is_set()
            if timed_out or stopped:
                command.terminate()
                # SIGTERM first, so that the command can clean up; what is left is killed below.
                self._read_until(lambda: command.code is not None or command.is_over, self._grace)
                break
            self._read(min(left, _LOOK_EVERY))
        if command.error:
            # Reported by the supervisor, since the program is started there.
            raise NotStartedError(self._name, os.strerror(command.error))
        # A background process that holds the streams open must not delay the result for long.
        if not (timed_out or stopped):
            self._read_until(lambda: command.is_over or not self._open, _DRAIN)
        self._end_all()
        self._drain()
        code = command.code
        if code is None and not (timed_out or stopped):
            raise ExecutionError("the process that supervised the command was killed", "interrupted")
        exit_code = _KILLED if code is None else code if code >= 0 else 128 - code
        return Finished(exit_code, *self._streams, timed_out, stopped, timed_out and was_idle)

    def _drain(self) -> None:
        """Read the rest. All writers have ended; only a stream passed to another process can still be open."""
        self._read_until(lambda: not self._open, _DRAIN)
        # On a busy machine the time may pass without a single read: read at least as much as a full pipe holds.
        for _ in range(2 * _FULL_PIPE // _CHUNK):
            if not (self._open and self._read(0)):
                break

    def _end_all(self) -> None:
        command = self._command
        command.end()
        self._read_until(lambda: command.is_over, _CLEARING)
        if not command.is_over:
            # The supervisor does not react: it may have been stopped by the command itself.
            command.abandon()
            GUARD.resume()
            self._read_until(lambda: command.is_over, _CLEARING)

    def _read_until(self, is_enough: Callable[[], bool], seconds: float) -> None:
        end = time.monotonic() + seconds
        while not is_enough() and (left := end - time.monotonic()) > 0:
            self._read(left)

    def _read(self, seconds: float) -> bool:
        """Read what is available, waiting at most this long; returns whether there was anything."""
        ready = self._selector.select(seconds)
        for key, _ in ready:
            if key.data is None:
                self._command.read()
                if self._command.is_over:
                    self._selector.unregister(key.fileobj)
                # The control socket is not a stream of the command.
                continue
            with suppress(BlockingIOError):
                data = os.read(key.fd, _CHUNK)
                key.data.add(data)
                if key.data is self._streams[0] and data:
                    if self._on_output is not None:
                        self._on_output(data)
                    # Only now: the time that the callback took is not silence of the command.
                    self._heard = time.monotonic()
                if not data:
                    self._selector.unregister(key.fileobj)
                    self._open -= 1
        return bool(ready)
