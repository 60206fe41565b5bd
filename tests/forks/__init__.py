"""Commands as processes of their own, forked from one that has imported wfc already.

Each has its own memory, folder, environment, streams, session and exit code, as a fresh one has, and can be killed like
one; only the imports, which take longer than most commands, are spared. What is said of the start of a process itself
(imports, an interrupt in their midst, variables that Python looks at) is tested with fresh ones.
"""

from __future__ import annotations

import fcntl
import marshal
import os
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.support import PATIENCE, ROOT
from tests.temporal_server import owner

HOME = "WFC_TESTS_FORKS"
"""The variable with the folder of the process that forks. All processes of a session share one."""


@dataclass(frozen=True)
class Fork:
    """A command under way."""

    pid: int
    _line: socket.socket

    def wait(self, seconds: float = PATIENCE) -> int:
        """Until it has ended: its exit code."""
        with self._line:
            self._line.settimeout(seconds)
            return int(self._line.recv(64))

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


def start(
    arguments: Sequence[str | Path],
    cwd: Path,
    env: dict[str, str],
    streams: tuple[int, int, int],
    *,
    terminal: bool = False,
    module: str = "wfc.__main__",
) -> Fork:
    """Begin `wfc`, or another module, with these arguments. In a terminal, its standard input controls it."""
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    line.connect(address())
    order = marshal.dumps((list(map(str, arguments)), str(cwd), env, "", terminal, module))
    socket.send_fds(line, [order], streams)
    line.settimeout(PATIENCE)
    return Fork(int(line.recv(64)), line)


def run(arguments: Sequence[str], cwd: Path, env: dict[str, str], stdin: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of `wfc` with these arguments."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin.encode())
        given.seek(0)
        status = start(arguments, cwd, env, (given.fileno(), out.fileno(), err.fileno())).wait()
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode())
        return status, texts[0], texts[1]


def command(*arguments: str | Path, pid_file: Path | None = None) -> list[str]:
    """The same as a command line, for clients that start servers themselves. The file gets the server's process id."""
    launch = Path(__file__).parent / "launch.py"
    parts = (sys.executable, "-I", "-S", launch, address(), pid_file or "", *arguments)
    return list(map(str, parts))


def commands() -> Path:
    """A folder with such a `wfc`, for shells to look in first."""
    folder = Path(os.environ[HOME]) / "bin"
    folder.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as script:
        script.write(f'#!/bin/sh\nexec {shlex.join(command())} "$@"\n')
    os.chmod(script.name, 0o755)
    os.replace(script.name, folder / "wfc")
    return folder


def address() -> str:
    """Where the process that forks listens. The first who asks starts it."""
    folder = Path(os.environ[HOME])
    path = str(folder / "forks")
    with (folder / "forks.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            asked = [sys.executable, "-m", "tests.forks.mother", path, str(owner())]
            mother = subprocess.Popen(
                asked, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
            )
            assert mother.stdout is not None
            with mother.stdout as said:
                assert said.read() == b"ready", "the process that forks did not start"
            # Its end is not ours to wait for.
            mother.returncode = 0
    return path
