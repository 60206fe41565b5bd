from __future__ import annotations

from tests.runtime.support import TemporalBox
from tests.temporal.load import work_through


def test_a_hundred_runs_at_once_over_two_workers_lose_and_double_nothing(temporal_box: TemporalBox) -> None:
    """`make torture` does it with two hundred, of twenty steps each."""
    work_through(temporal_box, 100, 8)
