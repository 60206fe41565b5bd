"""One server for a long time: its memory stays within bounds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tests.torture.load import project, soak
from tests.torture.servers import nursery

ROUNDS = int(os.environ.get("TORTURE_SOAK", "5000"))


def run(folder: Path) -> Iterator[str]:
    with nursery(project(folder), "two") as servers:
        server = servers.server(folder)
        memory = soak(server, ROUNDS, ROUNDS // 10)
        server.kill()
        server.gone()
    yield f"{ROUNDS} runs, {ROUNDS * 7} calls; memory after each tenth, to the first: " + ", ".join(
        f"{size / memory[0]:.3f}" for size in memory[1:]
    )
    assert memory[-1] / memory[0] < 1.2
