"""The guard and supervisor processes between a server and its commands. `guard.py` starts this file as a script.

    server - guard (one per server) - supervisor (one per command) - the command - its descendants

A supervisor is the subreaper of its command (Linux): every descendant of the command stays below the supervisor, even
after a double fork, `setsid` or a change of environment. The supervisor kills them all when the command's own process
has ended and the server has read the output, when the server asks for it, and when its socket closes, which means that
the server has died. The guard is a subreaper as well: if a command kills its supervisor, the guard kills the rest.

Both ignore every signal that can be ignored, run in their own session, and hold the locks of the server, so that other
servers see it as alive until its last command has exited.

On a system without `prctl` and `/proc`, only the command's process group is killed.

The module must be cheap to start and to fork: it imports little, and nothing from this package.
"""

from __future__ import annotations

import marshal
import os
import select
import signal
import socket
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

RECORD = 9
"""The size of an order to the guard: a letter and a number. Descriptors are attached to it."""
HOLD, LET_GO, COMMAND = b"h", b"l", b"c"
TERMINATE, END = b"t", b"e"
"""Requests to a supervisor: send SIGTERM to the command's process group; kill everything."""
READY = b"r"
"""The first byte from a supervisor. The server sends its request after it, so a retry runs nothing twice."""
HEADER = 8
"""The size of the length field before a request."""
_PR_SET_CHILD_SUBREAPER = 36
_AGAIN = 0.02
_QUICK_ROUNDS = 500
_MOST_ROUNDS = 50
_Process = tuple[int, bytes]
"""A process id and its start time: ids are reused."""


class Subreaper:
    """Makes this process adopt its orphaned descendants. The attribute is not inherited by a fork."""

    def __init__(self) -> None:
        self._prctl: Any = None
        if sys.platform == "linux":
            # Without `ctypes` or `prctl`, only the process group of a command can be ended.
            with suppress(ImportError, OSError, AttributeError):
                import ctypes

                self._prctl = ctypes.CDLL(None).prctl

    def become(self) -> None:
        if self._prctl is not None:
            self._prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Children:
    """The child processes of this one."""

    def __init__(self) -> None:
        # SIGCHLD writes a byte into a pipe, so that one `poll` waits for children and sockets without a race.
        self._wake, self._wake_write = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._wake_write, False)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)

    def close(self) -> None:
        # In a fork: the pipe belongs to the parent, and its signals must not be written to it.
        signal.set_wakeup_fd(-1)
        os.close(self._wake)
        os.close(self._wake_write)

    def wait(self, others: list[socket.socket], seconds: float | None = None) -> list[socket.socket]:
        """Wait until a child has ended or a socket is readable; returns the readable sockets."""
        poll = select.poll()
        for number in (self._wake, *(one.fileno() for one in others)):
            poll.register(number, select.POLLIN)
        ready = {number for number, _ in poll.poll(None if seconds is None else seconds * 1000)}
        if self._wake in ready:
            with suppress(BlockingIOError):
                while os.read(self._wake, 512):
                    pass
        return [one for one in others if one.fileno() in ready]

    @staticmethod
    def ended(*, resume: bool = False) -> Iterator[tuple[int, int]]:
        """Reap the children that have ended, with exit codes; raises `ChildProcessError` if there are no children.

        `resume`: send SIGCONT to children that were stopped.
        """
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG | (os.WUNTRACED if resume else 0))
            if not pid:
                return
            if os.WIFSTOPPED(status):
                _kill(pid, signal.SIGCONT)
            else:
                yield pid, os.waitstatus_to_exitcode(status)


def end_descendants(spared: set[int], reap: Callable[[], object]) -> bool:
    """Kill the descendants of this process, except some children and theirs. False: none could be killed.

    First the children, round after round: their orphans become children as well. Reading the list of one's own
    children takes microseconds, so a program that keeps forking and exiting is caught in between. Then the whole tree,
    stopping each process first: a stopped process can't fork, so a program that forks faster than it can be killed is
    halted as a whole before its processes are killed.
    """
    killed = False
    # Bounded: a program that forks faster than this is handled by stopping it below.
    for _ in range(_QUICK_ROUNDS):
        children = _own_children() - spared
        if not children:
            break
        # A child that has not been reaped keeps its process id, so the signal can't hit another process.
        for pid in children:
            killed |= _kill(pid, signal.SIGKILL)
        reap()
    stopped: set[_Process] = set()
    for _ in range(_MOST_ROUNDS):
        new = _descendants(spared) - stopped
        if not new:
            break
        for process in new:
            _send(process, signal.SIGSTOP)
        stopped |= new
    for process in stopped:
        # A stopped process can be killed without being resumed.
        killed |= _send(process, signal.SIGKILL)
    return killed


def _own_children() -> set[int]:
    """The children of this process; empty if the kernel does not list them."""
    me = os.getpid()
    try:
        with open(f"/proc/{me}/task/{me}/children", "rb", buffering=0) as listed:
            found = b""
            while more := listed.read(1 << 16):
                found += more
    except OSError:
        return set()
    return {int(pid) for pid in found.split()}


def _descendants(spared: set[int]) -> set[_Process]:
    children: dict[int, list[_Process]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (found := _parent_and_start(int(name))):
            children.setdefault(found[0], []).append((int(name), found[1]))
    below: set[_Process] = set()
    left = [one for one in children.get(os.getpid(), ()) if one[0] not in spared]
    while left:
        process = left.pop()
        if process not in below:
            below.add(process)
            left += children.get(process[0], ())
    return below


def _parent_and_start(pid: int) -> tuple[int, bytes] | None:
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as stat:
            text = stat.read(4096)
    except OSError:
        return None
    # The process name, in parentheses, may contain anything, even spaces and parentheses.
    fields = text.rpartition(b")")[2].split()
    return (int(fields[1]), fields[19]) if len(fields) > 19 else None


def _send(process: _Process, number: int) -> bool:
    """Signal a process unless its id has been reused. False: this process may not signal it."""
    pid, start = process
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        # It has ended, so there is nothing to do: that counts as success.
        return True
    except (AttributeError, OSError):
        # A kernel without pidfds.
        return _kill(pid, number)
    try:
        # The start time is compared after the descriptor was opened. From then on, the id can't be given to
        # another process.
        now = _parent_and_start(pid)
        if now is not None and now[1] == start:
            signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        pass
    except PermissionError:
        return False
    finally:
        os.close(handle)
    return True


def _kill(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True


class Supervisor:
    """Starts one command, reports how it ended, and kills what is left of it."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._children = Children()
        self._command = 0
        self._code: int | None = None

    def run(self, streams: list[int]) -> None:
        """`streams`: descriptors for standard output, standard error and, if it has one, standard input."""
        # Received completely before anything is started.
        request = self._request()
        if request is None:
            return
        error = self._start(streams, *marshal.loads(request))
        for stream in streams:
            os.close(stream)
        # The write ends are closed here, so that the server sees the end of the output.
        if error:
            self._say(f"error {error}")
            return
        self._say(f"started {os.getpid()}")
        self._watch()
        self._end_all()
        self._say("gone")

    def _request(self) -> bytes | None:
        """The request; None if the server died before sending it."""
        with suppress(OSError):
            self._control.sendall(READY)
        size = self._receive(HEADER)
        return None if size is None else self._receive(int.from_bytes(size, "big"))

    def _receive(self, size: int) -> bytes | None:
        found = bytearray()
        while len(found) < size:
            data = self._receive_some(min(size - len(found), 1 << 16))
            if not data:
                return None
            found += data
        return bytes(found)

    def _say(self, text: str) -> None:
        # The server may have died.
        with suppress(OSError):
            self._control.sendall(f"{text}\n".encode())

    def _start(
        self,
        streams: list[int],
        program: bytes,
        words: list[bytes],
        folder: bytes,
        env: dict[bytes, bytes],
    ) -> int:
        """Start the command; returns the errno if that fails, else 0."""
        output = [
            (os.POSIX_SPAWN_DUP2, given, wanted) for given, wanted in zip(streams, (1, 2, 0), strict=False)
        ]
        # The supervisor ignores signals, and a command would inherit that.
        defaults = {*_signals(), signal.SIGCHLD}
        try:
            os.chdir(folder)
            self._command = os.posix_spawn(
                program, words, env, file_actions=output, setsid=True, setsigdef=defaults
            )
        except OSError as error:
            return error.errno or -1
        finally:
            # The supervisor must not keep the folder in use.
            os.chdir("/")
        return 0

    def _watch(self) -> None:
        """Wait until the server has requested the end or has died, or no process is left."""
        reported = False
        while True:
            # One wait for both: an order of the server, and the end of a child.
            ready = self._children.wait([self._control])
            try:
                self._reap()
            except ChildProcessError:
                return
            finally:
                # Also when this was the last child: the exit code must be reported before the end.
                if self._code is not None and not reported:
                    self._say(f"ended {self._code}")
                    reported = True
            if ready:
                received = self._receive_some()
                if not received or END in received:
                    return
                if TERMINATE in received and self._code is None:
                    with suppress(ProcessLookupError, PermissionError):
                        os.killpg(self._command, signal.SIGTERM)

    def _receive_some(self, most: int = 64) -> bytes:
        """Bytes from the server; empty if it has died."""
        try:
            return self._control.recv(most)
        except OSError:
            return b""

    def _reap(self) -> None:
        for pid, code in self._children.ended():
            if pid == self._command:
                self._code = code

    def _end_all(self) -> None:
        """Kill until there are no children, or only processes of another user, which this process may not signal."""
        reported = self._code is not None
        with suppress(ChildProcessError):
            while True:
                self._reap()
                # Without /proc, descendants can't be found.
                if sys.platform == "linux" and os.path.exists("/proc/self/stat"):
                    killed = end_descendants(set(), self._reap)
                else:
                    killed = self._kill_group()
                self._reap()
                if not killed:
                    break
                # A short pause, since a killed process needs a moment to disappear.
                self._children.wait([], _AGAIN)
        if self._code is not None and not reported:
            self._say(f"ended {self._code}")

    def _kill_group(self) -> bool:
        try:
            os.killpg(self._command, signal.SIGKILL)
        except OSError:
            return self._code is None
        return True


class Guard:
    """Starts a supervisor for each command, and kills what a killed supervisor left behind."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._subreaper = Subreaper()
        self._children = Children()
        self._locks: dict[int, int] = {}
        self._supervised: dict[int, socket.socket] = {}
        self._left: list[socket.socket] = []
        """The sockets of killed supervisors. They are closed once no process of their commands is left."""

    def run(self) -> None:
        """Serve until the server has exited and no command is left."""
        self._subreaper.become()
        serving = True
        while serving or self._supervised or self._left:
            # While something is left of a killed supervisor, this is polled: no signal tells when it can be
            # killed.
            ready = self._children.wait([self._line] if serving else [], _AGAIN if self._left else None)
            self._tidy()
            if ready:
                serving = self._take_order()

    def _tidy(self) -> None:
        none_left = self._reap()
        # Everything below the guard except its living supervisors belongs to commands whose supervisor was
        # killed.
        if self._left and not none_left and sys.platform == "linux":
            none_left = not end_descendants(set(self._supervised), self._reap)
        if none_left or sys.platform != "linux":
            for control in self._left:
                control.close()
            self._left.clear()

    def _reap(self) -> bool:
        """Reap the children; returns whether none is left."""
        try:
            # A command can stop its supervisor with SIGSTOP.
            for pid, code in self._children.ended(resume=True):
                control = self._supervised.pop(pid, None)
                # A supervisor exits with 0 when it has ended everything itself.
                if control is not None and code:
                    self._left.append(control)
                elif control is not None:
                    control.close()
        except ChildProcessError:
            return True
        return False

    def _take_order(self) -> bool:
        """Read one order. False: the server has exited."""
        try:
            # At most the control socket and three streams.
            order, received, _, _ = socket.recv_fds(self._line, RECORD, 4)
        except OSError:
            return False
        if len(order) < RECORD:
            return False
        for one in received:
            # Otherwise a later command would inherit them.
            os.set_inheritable(one, False)
        kind, number = order[:1], int.from_bytes(order[1:], "big")
        if kind == HOLD and len(received) == 1:
            self._locks[number] = received[0]
        elif kind == LET_GO and number in self._locks:
            os.close(self._locks.pop(number))
        elif kind == COMMAND and len(received) == 1 + number:
            self._supervise(received[0], received[1:])
        else:
            # The descriptors did not arrive, since too many are open. The server sees its socket close and retries.
            for one in received:
                os.close(one)
        return True

    def _supervise(self, control: int, streams: list[int]) -> None:
        line = socket.socket(fileno=control)
        try:
            pid = os.fork()
        except OSError:
            pid = -1
        if not pid:
            try:
                # The supervisor keeps the locks and nothing else of the guard's: an open copy of a socket would hide
                # from its other end that it was closed.
                self._line.close()
                self._children.close()
                for other in (*self._supervised.values(), *self._left):
                    other.close()
                self._subreaper.become()
                Supervisor(line).run(streams)
                os._exit(0)
            finally:
                # Whatever happens in the child, it must never return into the loop of the guard.
                os._exit(1)
        if pid > 0:
            self._supervised[pid] = line
        else:
            line.close()
        for stream in streams:
            os.close(stream)


def _signals() -> set[signal.Signals]:
    """The signals that can be ignored, except SIGCHLD."""
    return {*signal.valid_signals()} - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}


def main() -> None:
    for number in _signals():
        signal.signal(number, signal.SIG_IGN)
    # Descriptor 0 is the socket; move it, since commands inherit 0 as their empty standard input.
    line = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.close(null)
    Guard(line).run()


if __name__ == "__main__":
    main()
