"""Whatever state a run fails in, it can go on from there."""

from __future__ import annotations

import json
import random

import pytest

from tests.unit.machine.support import NOON, AnyMachine, compiled
from tests.unit.machine.test_library_parity import MACHINES, next_event, some_inputs
from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.events import Cancel, Reopen, Start
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.step import step

DEFERRING = """
name: w
version: 1.0.0
initial_state: {n: 0}
steps:
  - {id: first, type: shell, command: a, output_to: f, on_error: defer}
  - id: outer
    type: parallel
    branches:
      left:
        - {id: a1, type: shell, command: a, output_to: a1, on_error: defer}
        - id: inner
          type: parallel
          branches:
            x:
              - {id: x1, type: shell, command: a, on_error: defer}
            y:
              - {id: y1, type: shell, command: a, retry: {max_attempts: 2, delay_seconds: 5}}
              - {id: y2, type: wait, duration_seconds: 50}
      right:
        - id: loop
          type: while
          needs_state: [n]
          if: "{{ state.n < 3 }}"
          max_iterations: 4
          steps:
            - {id: b1, type: shell, command: b, output_to: b1, on_error: defer}
            - {id: b2, type: set_state, needs_state: [n], updates: {n: "{{ state.n + 1 }}"}}
  - {id: last, type: shell, command: a, on_error: defer}
  - {id: end, type: return, value: 1}
"""


def stored(snapshot: Snapshot) -> Snapshot:
    """As another process would read it."""
    return Snapshot.from_json(snapshot.to_json())


def walk(machine: AnyMachine, seed: int, limit: int = 80) -> tuple[int, Snapshot]:
    """A run with random answers that is retried each time it fails, and how often that was."""
    chance = random.Random(seed)
    snapshot = step(machine, None, Start(at=NOON, id="e0", inputs=some_inputs(machine, chance))).snapshot
    retried = 0
    for number in range(1, limit):
        at, name = NOON + number * 60, f"e{number}"
        if snapshot.status == "failed" and snapshot.kept is not None:
            failure = chance.choice([*snapshot.failures, None])
            visit = failure.visit if failure is not None else ""
            outcome = step(machine, stored(snapshot), Reopen(at=at, id=name, visit=visit))
            if failure is not None and failure.state in snapshot.kept.entering:
                # It ended the run, so the steps beside it were not passed by.
                waiting = snapshot.kept.pending.keys()
                assert outcome.snapshot.status != "running" or waiting <= outcome.snapshot.pending.keys()
            assert outcome.snapshot.state == snapshot.state or outcome.written
            snapshot = outcome.snapshot
            retried += 1
        elif snapshot.status == "running":
            event = next_event(machine, snapshot, number, chance)
            if isinstance(event, Cancel):
                continue
            try:
                snapshot = step(machine, stored(snapshot), event).snapshot
            except RefusedError:
                continue
        else:
            break
    return retried, snapshot


@pytest.mark.parametrize("machine", MACHINES)
def test_a_run_that_fails_anywhere_is_retried_and_every_event_after_that_is_understood(
    machine: AnyMachine,
) -> None:
    for seed in range(8):
        walk(machine, seed)


def test_deferred_failures_in_nested_branches_are_retried_until_the_run_completes() -> None:
    machine = compiled(DEFERRING).machine
    found = [walk(machine, seed, 400) for seed in range(30)]
    assert sum(retried for retried, _ in found) > 30
    assert {snapshot.status for _, snapshot in found} == {"completed"}
    assert all(not snapshot.failures and snapshot.kept is None for _, snapshot in found)


def test_a_run_in_progress_or_completed_keeps_nothing_for_a_retry() -> None:
    machine = compiled(DEFERRING).machine
    snapshot = step(machine, None, Start(at=NOON, id="e0")).snapshot
    with pytest.raises(RefusedError, match="the run is in progress"):
        step(machine, snapshot, Reopen(at=NOON, id="e1"))
    assert "kept" not in json.loads(snapshot.to_json())
    cancelled = step(machine, snapshot, Cancel(at=NOON, id="e1")).snapshot
    assert "kept" not in json.loads(cancelled.to_json())


def test_a_run_that_was_cancelled_with_its_parent_goes_on_with_the_same_visits() -> None:
    machine = compiled(DEFERRING).machine
    snapshot = step(machine, None, Start(at=NOON, id="e0")).snapshot
    stopped = step(machine, snapshot, Cancel(at=NOON, id="e1", keeps=True)).snapshot
    assert (stopped.status, stopped.pending) == ("cancelled", {})
    again = step(machine, stored(stopped), Reopen(at=NOON + 10, id="e2")).snapshot
    assert (again.status, list(again.pending), again.error) == ("running", ["first"], None)
    assert again.pending["first"].overdue_at == (snapshot.pending["first"].overdue_at or 0) + 10
