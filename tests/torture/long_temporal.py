"""Many runs at once over two workers on a Temporal server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tests.runtime.support import TemporalBox
from tests.temporal.load import work_through
from tests.temporal_server import start_server
from tests.torture.progress import Progress

STEPS = 20


def run(folder: Path, size: float, tell: Progress) -> Iterator[str]:
    box = TemporalBox(folder, start_server(os.getpid()))
    runs = round(200 * size)
    took = work_through(box, runs, STEPS, limit=900 * max(size, 1))
    yield f"{runs} runs of {STEPS} steps at once over two workers: {took:.0f} s, no step lost, none taken twice"
    box.close()
