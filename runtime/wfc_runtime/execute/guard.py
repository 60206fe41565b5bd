"""Commands end when their server does, also when it is killed and can't end them itself.

One small shell per server reads the process groups that are at work from a pipe. When the pipe closes, however that
came about, it kills those that are left, and what has left them but still carries the mark of its command. It holds
the lock by which others know that the server is alive for as long: nobody tries again what is still being ended.
"""

from __future__ import annotations

import atexit
import os
import subprocess
from contextlib import suppress
from threading import Lock

_SCRIPT = """
trap '' INT TERM HUP
groups=' '
while read -r what group; do
    case $what in
        add) groups="$groups$group " ;;
        drop) groups="${groups%% $group *} ${groups#* $group }" ;;
    esac
done
for group in $groups; do kill -s KILL -- "-${group%%:*}" 2>/dev/null; done
for group in $groups; do
    for place in $(grep -lzxF -- "${group#*:}" /proc/[0-9]*/environ 2>/dev/null); do
        place=${place#/proc/}
        kill -s KILL -- "${place%%/*}" 2>/dev/null
    done
done
"""


class Guard:
    """The process groups that must not outlive this process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._shell: subprocess.Popen[bytes] | None = None
        self._held: dict[int, int] = {}

    def hold(self, lock: int) -> None:
        """A locked file that is to stay locked until what is at work has been ended."""
        with self._lock:
            self._held[lock] = os.dup(lock)

    def let_go(self, lock: int) -> None:
        with self._lock:
            os.close(self._held.pop(lock))

    def add(self, group: int, mark: str) -> None:
        """`mark` is what stands in the environment of all that belongs to the command: `NAME=value`."""
        self._say(f"add {group}:{mark}\n")

    def drop(self, group: int, mark: str) -> None:
        self._say(f"drop {group}:{mark}\n")

    def _say(self, line: str) -> None:
        with self._lock:
            if self._shell is None or self._shell.poll() is not None:
                self._shell = self._start()
            assert self._shell.stdin is not None
            # Should the shell have been killed, the command still runs and its timeout still holds.
            with suppress(BrokenPipeError):
                self._shell.stdin.write(line.encode())

    def _start(self) -> subprocess.Popen[bytes]:
        shell = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
            pass_fds=tuple(self._held.values()),
            cwd="/",
            env={},
        )
        atexit.register(self._end, shell)
        return shell

    @staticmethod
    def _end(shell: subprocess.Popen[bytes]) -> None:
        assert shell.stdin is not None
        shell.stdin.close()
        shell.wait()


GUARD = Guard()
