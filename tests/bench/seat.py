"""A process that drives one engine, and works only when it is its turn."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol

ROOT = Path(__file__).parents[2]


def quiet() -> dict[str, str]:
    """The environment, with nothing reported home from a measurement."""
    return {**os.environ, "LANGSMITH_TRACING": "false", "DO_NOT_TRACK": "1"}


class Turn(NamedTuple):
    """What some steps took."""

    seconds: float
    processor: float
    """Seconds of processor time, all threads together."""


class Named(Protocol):
    @property
    def name(self) -> str: ...


class Seat:
    """Stopped between turns: an engine that polls while it waits would slow the others down."""

    def __init__(self, python: Path, engine: Named, place: Path, arguments: list[str]) -> None:
        half, *others = arguments
        module = f"tests.bench.peers.{engine.name}"
        self._command = [str(python), "-m", module, half, str(place), *others]

    def __enter__(self) -> Seat:
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            self._command,
            cwd=ROOT,
            env=quiet(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
        )
        try:
            self._heard()
        except BaseException:
            self._close()
            raise
        self._process.send_signal(signal.SIGSTOP)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            assert pipe is not None
            pipe.close()
        self._process.wait()

    def turn(self, steps: int) -> Turn:
        """Have so many steps done; what they took."""
        assert self._process.stdin is not None
        self._process.send_signal(signal.SIGCONT)
        self._process.stdin.write(f"{steps}\n")
        self._process.stdin.flush()
        heard = self._heard()
        self._process.send_signal(signal.SIGSTOP)
        return Turn(float(heard["seconds"]), float(heard["processor"]))

    def end(self) -> dict[str, Any]:
        """Have it check what its runs have come to; what it says of itself."""
        assert self._process.stdin is not None
        self._process.send_signal(signal.SIGCONT)
        self._process.stdin.close()
        report = self._heard()
        if code := self._process.wait():
            raise self._failure(code)
        return report

    def _heard(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._failure(self._process.wait())
        heard: dict[str, Any] = json.loads(line)
        return heard

    def _failure(self, code: int) -> RuntimeError:
        self._errors.seek(0)
        return RuntimeError(f"{' '.join(self._command)} exited with {code}:\n{self._errors.read()}")
