"""Thousands of damaged copies of a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.torture.damage import cut, flip, make_store
from tests.torture.progress import Progress

_FLIPS = 2000


def run(folder: Path, size: float, tell: Progress) -> Iterator[str]:
    made = make_store(folder)
    flips, sizes, places = round(_FLIPS * size) or 1, range(1, len(made.data), 517), set()
    for number in range(flips):
        places.add(flip(made, Random(f"flip {number}")))
        tell(number / (flips + len(sizes)))
    for number, length in enumerate(sizes):
        cut(made, length)
        tell((flips + number) / (flips + len(sizes)))
    yield f"{flips} flipped bytes in {len(places)} places, {len(sizes)} stores cut short"
    yield ", ".join(f"{count} {outcome}" for outcome, count in made.outcomes.most_common())
