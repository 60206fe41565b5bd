"""Load, at length, with the ratios."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from tests.torture.load import (
    bytes_per_step,
    hammer,
    large_state,
    line,
    many_children,
    many_runs,
    processor_seconds,
    project,
    runs_at_once,
)
from tests.torture.progress import Progress
from tests.torture.servers import nursery

LIMITS = {"runs": 3.0, "state": 3.0, "children": 6.0}


def run(folder: Path, size: float, tell: Progress) -> Iterator[str]:
    def place(name: str) -> Path:
        made = folder / name
        made.mkdir()
        return made

    ratios = many_runs(place("runs"), 10_000, processor_seconds, times=200)
    yield f"with 10,000 runs, to 100: {line(ratios)}"
    assert max(ratios.values()) < LIMITS["runs"]
    state = large_state(place("state"), processor_seconds, times=200)
    yield f"a step beside 1 MB of state, to one beside none: {state:.2f}x"
    assert state < LIMITS["state"]
    for many in (100, 400):
        children = many_children(place(f"children-{many}"), many, processor_seconds)
        yield f"the step that ends one of {many} children, to a step alone: {children:.2f}x"
        assert children < LIMITS["children"] * many / 100
    stored = bytes_per_step(place("bytes"), 2000)
    yield f"disk for a step with a result of 300 bytes: {stored:.0f} bytes"
    assert stored < 1000
    generated = project(place("project"))
    with nursery(generated, "two", "loop") as servers:
        server = servers.server(place("at-once"))
        runs_at_once(server, 1)
        start = time.perf_counter()
        for _ in range(50):
            runs_at_once(server, 1)
        middle = time.perf_counter()
        assert runs_at_once(server, 500) == {"completed": 500}
        alone, together = (middle - start) / 50, (time.perf_counter() - middle) / 500
        yield f"a run among 500 at once, to one after the other: {together / alone:.2f}x"
        wins = hammer(servers, generated.parent, servers=6, turns=200)
        yield f"6 servers on one store, {sum(wins.values())} steps of one run won by {line_of(wins)}, none twice"
        server.kill()
        server.gone()


def line_of(wins: dict[str, int]) -> str:
    return ", ".join(str(won) for won in wins.values())
