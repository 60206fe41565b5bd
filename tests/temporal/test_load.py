"""Many runs at once over two workers: no step is lost, none is taken twice."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from tests.runtime.support import OK, TemporalBox, step_ids, steps
from tests.temporal.processes import worker
from wfc_runtime.service.temporal.engine import TemporalService

RUNS, STEPS, SECONDS = 200, 20, 900
LONG = steps(
    *[f"{{id: s{number}, type: shell, command: 'do {number}', output_to: last}}" for number in range(STEPS)],
    "{id: end, type: return, needs_state: [last], value: '{{ state.last.stdout }}'}",
)


def test_two_hundred_runs_of_twenty_steps_over_two_workers_lose_and_double_nothing(
    temporal_box: TemporalBox,
) -> None:
    temporal_box.compile(LONG)
    service = TemporalService(temporal_box.settings, temporal_box.modules())

    def drive(number: int) -> str:
        reply = service.start("w")
        run: str = reply["workflow_id"]
        while reply["status"] == "pending_action":
            [visit] = step_ids(reply)
            result = {**OK, "stdout": f"{number}/{visit}"}
            reply = service.submit(run, visit, result)
            if visit == f"s{number % STEPS}" and visit != f"s{STEPS - 1}":
                assert service.submit(run, visit, result) == reply
        assert reply["result"] == f"{number}/s{STEPS - 1}"
        return run

    root = temporal_box.root
    with worker(temporal_box, root), worker(temporal_box, root), ThreadPoolExecutor(RUNS) as pool:
        began = time.monotonic()
        runs = list(pool.map(drive, range(RUNS), timeout=SECONDS))
        assert time.monotonic() - began < SECONDS
        for number, run in enumerate(runs[::20]):
            events = service.history(run)["events"]
            assert [event.get("step_id") for event in events] == [None, *[f"s{n}" for n in range(STEPS)]]
            assert events[1]["result"]["stdout"] == f"{number * 20}/s0"
    service.close()
