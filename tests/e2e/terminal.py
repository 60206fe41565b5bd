"""A real terminal with the real command line in it, and somebody who types."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
from pathlib import Path

from tests.forks import start
from tests.support import PATIENCE

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """`wfc` in a pseudo terminal. What it shows, on both of its outputs, is read as text without colours."""

    def __init__(self, *arguments: str | Path, cwd: Path, env: dict[str, str] | None = None) -> None:
        self.seen = ""
        self._from = 0
        self._file, its_own = pty.openpty()
        known = {**os.environ, "TERM": "xterm", "COLUMNS": "120", **(env or {})}
        self._process = start(arguments, cwd, known, (its_own, its_own, its_own), terminal=True)
        os.close(its_own)

    def expect(self, text: str) -> None:
        """Wait until this is shown, after what was waited for before."""
        while (found := self.seen.find(text, self._from)) < 0:
            if not self._read():
                raise AssertionError(f"{text!r} never came after:\n{self.seen[self._from :]}")
        self._from = found + len(text)

    def send(self, line: str) -> None:
        os.write(self._file, f"{line}\n".encode())

    def answer(self, prompt: str, line: str) -> None:
        self.expect(prompt)
        self.send(line)

    def interrupt(self) -> None:
        """Ctrl-C, as the terminal sends it."""
        os.write(self._file, b"\x03")

    def wait(self) -> int:
        """Until the command has ended: its exit code."""
        while self._read():
            pass
        status = self._process.wait()
        os.close(self._file)
        return status

    def kill(self) -> None:
        self._process.signal(signal.SIGKILL)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._file], [], [], PATIENCE)
        assert ready, f"nothing came in {PATIENCE:.0f} s after:\n{self.seen}"
        try:
            data = os.read(self._file, 65536)
        except OSError:  # Linux: the other end is closed.
            data = b""
        self.seen += _ESCAPES.sub("", data.decode("utf-8", "replace")).replace("\r\n", "\n")
        return bool(data)
