"""A command as a process group of its own: its output, its time limit, and the end of all that it started.

SECURITY. The command gets the environment it is handed and nothing else, no standard input, and no descriptors of the
server. When its time is up, or the run is cancelled, the whole group is ended: first asked, then killed, and with it
what has left the group but still carries the command's mark in its environment.

A command is over when its own process has ended. What it left in the background may go on, as in any shell; what that
prints afterwards is not waited for.
"""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from threading import Event

from wfc_runtime.execute.base import ExecutionError, shortened
from wfc_runtime.execute.capture import Captured
from wfc_runtime.execute.guard import GUARD

MARK = "WFC_COMMAND"
_WHEN_TOLD = 'read -r go && exec "$0" "$@" </dev/null; exit 125'
"""The command begins when the guard knows of it. A server that dies before leaves nothing behind."""
_LOOK_EVERY = 0.1
_LOOK_FOR_END = 0.1 if hasattr(os, "pidfd_open") else 0.02
_DRAIN = 0.5
_GRACE = 2.0
_CHUNK = 64 * 1024


@dataclass(frozen=True)
class Finished:
    exit_code: int
    """As shells have it: 128 and the number of the signal for what a signal ended."""
    stdout: Captured
    stderr: Captured
    timed_out: bool = False
    stopped: bool = False


def run_process(
    arguments: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    seconds: float,
    limits: tuple[int, int],
    stop: Event,
    capture: bool = True,
) -> Finished:
    """Run a command to its end or the end of its time."""
    mark = token_hex(16)
    output = subprocess.PIPE if capture else subprocess.DEVNULL
    program = _program(arguments[0], cwd, env)
    if program is None:
        raise ExecutionError(f"{shortened(arguments[0])} can't be started: there is no such program")
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _WHEN_TOLD, program, *arguments[1:]],
            cwd=cwd,
            env={**env, MARK: mark},
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ExecutionError(f"{shortened(arguments[0])} can't be started: {why}") from None
    GUARD.add(process.pid, f"{MARK}={mark}")
    try:
        assert process.stdin is not None
        with suppress(BrokenPipeError), process.stdin as told:
            told.write(b"go\n")
        return _Watch(process, mark, limits).until_end(time.monotonic() + seconds, stop)
    finally:
        GUARD.drop(process.pid, f"{MARK}={mark}")


def _program(name: str, cwd: Path, env: Mapping[str, str]) -> str | None:
    """As the command will find it. None: there is none."""
    if os.sep not in name:
        return shutil.which(name, path=env.get("PATH"))
    return name if os.access(cwd / name, os.X_OK) else None


class _Watch:
    """A process that runs, seen from outside."""

    def __init__(self, process: subprocess.Popen[bytes], mark: str, limits: tuple[int, int]) -> None:
        self._process = process
        self._mark = mark
        self._streams = (Captured(limits[0]), Captured(limits[1]))

    def until_end(self, deadline: float, stop: Event) -> Finished:
        timed_out = stopped = False
        with ExitStack() as stack:
            selector = stack.enter_context(selectors.DefaultSelector())
            for pipe, stream in zip((self._process.stdout, self._process.stderr), self._streams, strict=True):
                if pipe is not None:
                    stack.callback(pipe.close)
                    os.set_blocking(pipe.fileno(), False)
                    selector.register(pipe, selectors.EVENT_READ, stream)
            if hasattr(os, "pidfd_open"):
                end = os.pidfd_open(self._process.pid)
                stack.callback(os.close, end)
                selector.register(end, selectors.EVENT_READ, None)
            while self._process.poll() is None:
                left = deadline - time.monotonic()
                timed_out, stopped = left <= 0, stop.is_set()
                if timed_out or stopped:
                    self._end_all(selector)
                    break
                self._read(selector, min(left, _LOOK_EVERY, _LOOK_FOR_END))
            self._drain(selector)
        code = self._process.wait()
        return Finished(code if code >= 0 else 128 - code, *self._streams, timed_out, stopped)

    def _read(self, selector: selectors.BaseSelector, seconds: float) -> int:
        """What has come, at most within so many seconds; how much that was."""
        found = 0
        for key, _ in selector.select(seconds):
            if key.data is None:
                continue
            with suppress(BlockingIOError):
                data = os.read(key.fd, _CHUNK)
                key.data.add(data)
                found += len(data)
                if not data:
                    selector.unregister(key.fileobj)
        return found

    def _drain(self, selector: selectors.BaseSelector) -> None:
        """What is still in the pipes. A child in the background may keep them open for ever."""
        for key in [key for key in selector.get_map().values() if key.data is None]:
            selector.unregister(key.fileobj)
        end = time.monotonic() + _DRAIN
        while selector.get_map() and (left := end - time.monotonic()) > 0:
            self._read(selector, left)

    def _end_all(self, selector: selectors.BaseSelector) -> None:
        self._signal(signal.SIGTERM)
        end = time.monotonic() + _GRACE
        while self._process.poll() is None and time.monotonic() < end:
            self._read(selector, 0.02)
        self._signal(signal.SIGKILL)
        for escaped in _marked(self._mark):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(escaped, signal.SIGKILL)
        self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _marked(mark: str) -> list[int]:
    """The processes that carry a mark: what made itself a session of its own. Only Linux lets us look."""
    if sys.platform != "linux":
        return []
    wanted, found = f"{MARK}={mark}".encode(), []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError):
                if wanted in Path("/proc", entry, "environ").read_bytes().split(b"\0"):
                    found.append(int(entry))
    return found
