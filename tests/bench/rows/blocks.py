"""Graphs of blocks: how close a run comes to its critical path, the longest chain of dependent blocks."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tests.bench.measure import Row
from tests.blocks.support import compiled
from wfc_runtime.execute import Grant
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite.serving import ServingService
from wfc_runtime.store import Store

BLOCKS = 50
_LONGEST = 1.5
"""Seconds that a command sleeps at most."""


def rows() -> Iterator[Row]:
    seconds, waits = _graph(random.Random(7))
    path = _critical(seconds, waits)
    with tempfile.TemporaryDirectory() as name:
        took = _run(Path(name), _text(seconds, waits))
    by_waves = _by_waves(seconds, waits)
    detail = f"{took:.2f} s; the critical path takes {path:.2f} s, and wave after wave {by_waves / path:.2f}x of that"
    yield Row(
        f"a graph of {BLOCKS} blocks with uneven durations, to its critical path",
        took / path,
        1.15,
        detail=detail,
    )


def _graph(chance: random.Random) -> tuple[list[float], list[list[int]]]:
    seconds = [round(chance.uniform(0.05, _LONGEST), 2) for _ in range(BLOCKS)]
    waits = [
        chance.sample(range(max(0, number - 12), number), k=min(number, chance.choice([1, 1, 2, 3])))
        if number >= 6
        else []
        for number in range(BLOCKS)
    ]
    return seconds, waits


def _critical(seconds: list[float], waits: list[list[int]]) -> float:
    ends: list[float] = []
    for own, before in zip(seconds, waits, strict=True):
        ends.append(own + max((ends[one] for one in before), default=0.0))
    return max(ends)


def _by_waves(seconds: list[float], waits: list[list[int]]) -> float:
    wave: list[int] = []
    for before in waits:
        wave.append(1 + max((wave[one] for one in before), default=-1))
    return sum(max(own for own, at in zip(seconds, wave, strict=True) if at == one) for one in set(wave))


def _text(seconds: list[float], waits: list[list[int]]) -> str:
    blocks = "\n".join(
        f"  - {{id: b{number}, type: Shell, inputs: {{command: sleep {own}}}, "
        f"depends_on: [{', '.join(f'b{one}' for one in before)}]}}"
        for number, (own, before) in enumerate(zip(seconds, waits, strict=True))
    )
    outputs = f"  ok: ${{blocks.b{BLOCKS - 1}.succeeded}}"
    return f"name: graph\ndescription: Commands that sleep.\nblocks:\n{blocks}\noutputs:\n{outputs}\n"


def _run(folder: Path, text: str) -> float:
    registry = Registry(compiled(folder, text))
    grant = replace(Grant.all_commands(folder), parallel=BLOCKS)
    service = ServingService(Store(folder / "state.db"), registry, grant, every_kind=True)
    try:
        began = time.monotonic()
        reply = service.start("graph", {})
        while reply["status"] in ("pending_action", "running"):
            reply = service.next_step(str(reply["workflow_id"]))
        assert reply["status"] == "completed", reply
        return time.monotonic() - began
    finally:
        service.close()
