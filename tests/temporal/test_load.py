"""Many runs at once over two workers: no step is lost, none is taken twice."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from tests.runtime.support import OK, TemporalBox, step_ids, steps
from tests.temporal.processes import worker
from wfc_runtime.service.temporal.engine import TemporalService

RUNS, STEPS, THREADS, SECONDS = 200, 20, 20, 900
LONG = steps(
    *[f"{{id: s{number}, type: shell, command: 'do {number}', output_to: last}}" for number in range(STEPS)],
    "{id: end, type: return, needs_state: [last], value: '{{ state.last.stdout }}'}",
)


def test_two_hundred_runs_of_twenty_steps_over_two_workers_lose_and_double_nothing(
    temporal_box: TemporalBox,
) -> None:
    temporal_box.compile(LONG)
    service = TemporalService(temporal_box.settings, temporal_box.modules())

    def start(number: int) -> str:
        return str(service.start("w")["workflow_id"])

    def drive(numbers: range) -> None:
        """One step of each run after the other, so that all of them are under way at once."""
        for step in range(STEPS):
            for number in numbers:
                result = {**OK, "stdout": f"{number}/s{step}"}
                reply = service.submit(runs[number], f"s{step}", result)
                if step == number % (STEPS - 1):
                    assert service.submit(runs[number], f"s{step}", result) == reply
                if step < STEPS - 1:
                    assert step_ids(reply) == [f"s{step + 1}"]
                else:
                    assert reply["result"] == f"{number}/s{step}"

    root = temporal_box.root
    with worker(temporal_box, root), worker(temporal_box, root), ThreadPoolExecutor(THREADS) as pool:
        began = time.monotonic()
        runs = list(pool.map(start, range(RUNS)))
        list(pool.map(drive, [range(first, RUNS, THREADS) for first in range(THREADS)], timeout=SECONDS))
        assert time.monotonic() - began < SECONDS
        for number, run in enumerate(runs[::20]):
            events = service.history(run)["events"]
            assert [event.get("step_id") for event in events] == [None, *[f"s{n}" for n in range(STEPS)]]
            assert events[1]["result"]["stdout"] == f"{number * 20}/s0"
    service.close()
