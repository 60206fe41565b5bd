"""Many runs at once over two workers: no step is lost, none is taken twice."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from tests.runtime.support import OK, TemporalBox, step_ids, steps
from tests.temporal.processes import worker
from wfc_runtime.service.temporal.engine import TemporalService

THREADS = 20


def work_through(box: TemporalBox, runs: int, length: int, limit: float = 900) -> float:
    """Runs of so many steps, all under way at once, to their ends: how many seconds it took."""
    box.compile(
        steps(
            *[f"{{id: s{n}, type: shell, command: 'do {n}', output_to: last}}" for n in range(length)],
            "{id: end, type: return, needs_state: [last], value: '{{ state.last.stdout }}'}",
        )
    )
    service = TemporalService(box.settings, box.modules())

    def start(number: int) -> str:
        return str(service.start("w")["workflow_id"])

    def drive(numbers: range) -> None:
        """One step of each run after the other, so that all of them are under way at once."""
        for step in range(length):
            for number in numbers:
                result = {**OK, "stdout": f"{number}/s{step}"}
                reply = service.submit(ids[number], f"s{step}", result)
                if step == number % (length - 1):
                    again = service.submit(ids[number], f"s{step}", result)
                    assert again == {**reply, "repeated": True}
                if step < length - 1:
                    assert step_ids(reply) == [f"s{step + 1}"]
                else:
                    assert reply["result"] == f"{number}/s{step}"

    with worker(box, box.root), worker(box, box.root), ThreadPoolExecutor(THREADS) as pool:
        began = time.monotonic()
        ids = list(pool.map(start, range(runs)))
        list(pool.map(drive, [range(first, runs, THREADS) for first in range(THREADS)], timeout=limit))
        took = time.monotonic() - began
        for number, run in enumerate(ids[::20]):
            events = service.history(run)["events"]
            assert [event.get("step_id") for event in events] == [None, *[f"s{n}" for n in range(length)]]
            assert events[1]["result"]["stdout"] == f"{number * 20}/s0"
    service.close()
    return took
