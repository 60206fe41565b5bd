"""Thousands of damaged copies of a store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.torture.damage import cut, flip, make_store

FLIPS = int(os.environ.get("TORTURE_FLIPS", "2000"))


def run(folder: Path) -> Iterator[str]:
    made = make_store(folder)
    places = {flip(made, Random(f"flip {number}")) for number in range(FLIPS)}
    sizes = range(1, len(made.data), 517)
    for size in sizes:
        cut(made, size)
    yield f"{FLIPS} flipped bytes in {len(places)} places, {len(sizes)} stores cut short"
    yield ", ".join(f"{count} {outcome}" for outcome, count in made.outcomes.most_common())
