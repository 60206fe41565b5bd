"""One server for a long time: its memory stays within bounds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.torture.load import project, soak
from tests.torture.progress import Progress
from tests.torture.servers import nursery

_ROUNDS = 4000


def run(folder: Path, size: float, tell: Progress) -> Iterator[str]:
    rounds = max(round(_ROUNDS * size), 100)
    with nursery(project(folder), "two") as servers:
        server = servers.server(folder)
        memory = soak(server, rounds, rounds // 10, tell)
        server.kill()
        server.gone()
    yield f"{rounds} runs, {rounds * 7} calls; memory after each tenth, to the first: " + ", ".join(
        f"{size / memory[0]:.3f}" for size in memory[1:]
    )
    assert memory[-1] / memory[0] < 1.2
