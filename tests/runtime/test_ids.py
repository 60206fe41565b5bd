"""Ids of runs by their beginning, on either engine."""

from __future__ import annotations

from tests.execute.serving import until
from tests.runtime.support import TWO, Box


def test_ids_that_begin_alike_are_found_in_order(box: Box) -> None:
    box.compile(TWO)
    runs = sorted(box.service.start("w")["workflow_id"] for _ in range(2))
    # A Temporal server lists a run some time after it has started, each in its own time.
    until(lambda: box.service.ids(runs[0][:6], 9) == [runs[0]])
    until(lambda: box.service.ids(runs[1], 9) == [runs[1]])
    assert box.service.ids("nosuchrun", 9) == []
