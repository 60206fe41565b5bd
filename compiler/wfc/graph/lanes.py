"""Lines that run side by side: each gets a lane of its own, and those that go to the same place share one."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterable
from typing import TypeVar

Interval = tuple[int, int]
Key = TypeVar("Key", bound=Hashable)


def share_lanes(intervals: Iterable[tuple[Key, Interval]]) -> tuple[dict[Key, int], int]:
    """A lane for each, so that no two on one lane touch, and how many there are. Short ones come first."""
    lanes: list[list[Interval]] = []
    found: dict[Key, int] = {}
    for key, interval in sorted(intervals, key=lambda item: item[1][1] - item[1][0]):
        lane = next((index for index, taken in enumerate(lanes) if _fits(taken, interval)), len(lanes))
        if lane == len(lanes):
            lanes.append([])
        insort(lanes[lane], interval)
        found[key] = lane
    return found, len(lanes)


def _fits(taken: list[Interval], interval: Interval) -> bool:
    at = bisect_left(taken, interval)
    return (at == 0 or taken[at - 1][1] < interval[0]) and (at == len(taken) or taken[at][0] > interval[1])
