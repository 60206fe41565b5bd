"""Real worker processes on a project."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.runtime.support import TemporalBox
from tests.support import PATIENCE, wait_until

WFC = (sys.executable, "-m", "wfc")


def environment(box: TemporalBox) -> dict[str, str]:
    key = {"WFC_TEMPORAL_KEY": box.settings.key} if box.settings.key else {}
    return {
        **os.environ,
        **key,
        "WFC_ENGINE": "temporal",
        "WFC_TEMPORAL_ADDRESS": box.settings.address,
        "WFC_TEMPORAL_TASK_QUEUE": box.settings.task_queue,
    }


class WorkerProcess:
    """`wfc worker`, at work when this returns."""

    def __init__(
        self, box: TemporalBox, folder: Path, *options: str, env: Mapping[str, str] | None = None
    ) -> None:
        self.said = folder / f"worker-{time.monotonic_ns()}.log"
        folder.mkdir(exist_ok=True)
        self.out = self.said.with_suffix(".out")
        with self.said.open("wb") as err, self.out.open("wb") as out:
            self.process = subprocess.Popen(
                [*WFC, "worker", *options],
                cwd=folder,
                env={**environment(box), **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        self.wait_for("task queue")

    def wait_for(self, text: str) -> str:
        def said() -> str:
            has_ended = self.process.poll() is not None
            shown = self.said.read_text(encoding="utf-8")
            assert text in shown or not has_ended, shown
            return shown if text in shown else ""

        return wait_until(said, lambda: f"{text!r} in {self.said.read_text(encoding='utf-8')}")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(PATIENCE)


@contextmanager
def worker(box: TemporalBox, folder: Path, *options: str) -> Iterator[WorkerProcess]:
    made = WorkerProcess(box, folder, *options)
    try:
        yield made
    finally:
        made.kill()
