"""Servers that run commands themselves, killed at every write and at random moments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.torture.commands import Figures, check, kill_anytime, points_of, project, work
from tests.torture.progress import Progress
from tests.torture.servers import nursery

_ROUNDS = 100
"""Runs of each workflow whose servers are killed at random moments."""


def run(folder: Path, size: float, tell: Progress) -> Iterator[str]:
    rounds = round(_ROUNDS * size) or 1
    generated = project(folder)
    with nursery(generated, "chain", "again") as servers:
        for half, workflow in enumerate(("chain", "again")):
            figures, anytime = Figures(), Figures()
            writes = points_of(servers, generated, folder, workflow, figures)
            for number in range(1, writes + 1):
                tell((half + number / (writes + rounds)) / 2)
                check(work(servers, generated, folder, workflow, [number]), figures)
            # Where commands run side by side, one may share the commit of another: then there are fewer.
            assert writes * 0.8 <= figures.kills <= writes
            yield f"{workflow}: at each of {writes} writes: {figures}"
            for number in range(rounds):
                tell((half + (writes + number) / (writes + rounds)) / 2)
                kill_anytime(servers, generated, folder, workflow, Random(number), anytime)
            yield f"{workflow}: at random moments: {anytime}"
