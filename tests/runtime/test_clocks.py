"""Clocks that are set back: no wait lasts longer for it, and no event is older than the one before it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from tests.runtime.support import NOON, OK, TWO, Box, step_ids, steps
from tests.support import wait_until
from wfc_runtime.errors import RefusedError
from wfc_runtime.execute import Grant
from wfc_runtime.registry import Registry
from wfc_runtime.service.clock import SteadyClock, since_boot
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.service.sqlite.serving import ServingService
from wfc_runtime.store import Store

HOUR = 3600.0
WAIT = steps("{id: settle, type: wait, duration_seconds: 30}", "{id: go, type: shell, command: x}")


class Machine:
    """A computer: a clock that people set, and one that they can't. Servers are processes that ask both."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.wall = NOON
        self.uptime = 100.0

    def pass_(self, seconds: float) -> None:
        self.wall += seconds
        self.uptime += seconds
        if self.box._open:
            self.box._open[-1].tick()

    def server(self) -> SqliteService:
        service = SqliteService(Store(self.box.state), Registry(self.box.generated), clock=self.clock())
        self.box._open.append(service)
        return service

    def clock(self) -> SteadyClock:
        return SteadyClock(lambda: self.wall, lambda: self.uptime)


@pytest.fixture
def machine(file_box: Box) -> Machine:
    """Temporal's time is that of its server."""
    return Machine(file_box)


def times(service: SqliteService, run: str) -> list[float]:
    row = service.store.queries.require(run)
    return [event.at for event in service.store.queries.history(row.key, 0, 500)]


# -- the clock ---------------------------------------------------------------------


JUMPS = [
    ([1, 1, 1], [1, 2, 3]),
    ([-HOUR], [0]),
    ([-HOUR, 5, 5], [0, 5, 10]),
    ([10, -1, 1], [10, 10, 11]),
    ([HOUR, -HOUR, 2], [HOUR, HOUR, HOUR + 2]),
    ([-HOUR, -HOUR, -HOUR, 1], [0, 0, 0, 1]),
    ([-NOON, 1], [0, 1]),
    ([-0.001, -0.001, -0.001], [0, 0, 0]),
]


@pytest.mark.parametrize(("jumps", "expected"), JUMPS)
def test_a_clock_follows_jumps_forward_and_ignores_those_back(
    jumps: list[float], expected: list[float]
) -> None:
    """A whole number of seconds above 0 passes; anything else is how the clock is set."""
    wall, uptime = NOON, 0.0
    clock = SteadyClock(lambda: wall, lambda: uptime)
    found = []
    for jump in jumps:
        wall += jump
        if 0 < jump < HOUR:
            uptime += jump
        found.append(clock() - NOON)
    assert found == pytest.approx(expected)


def test_sleep_of_the_machine_counts_although_the_clock_was_set_back_meanwhile(machine: Machine) -> None:
    clock = machine.clock()
    machine.uptime += 600
    machine.wall -= HOUR
    assert clock() == NOON + 600


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="only Linux counts sleep in its own clock")
def test_the_clock_that_nobody_sets_counts_the_time_since_the_machine_was_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time, "clock_gettime", lambda which: 41.5 + (which == time.CLOCK_BOOTTIME))
    assert since_boot() == 42.5


def test_threads_that_ask_together_never_see_time_go_back() -> None:
    wall = NOON

    def jumping() -> float:
        nonlocal wall
        wall += (-7.0, 3.0)[int(wall) % 2]
        return wall

    clock, seen = SteadyClock(jumping), list[list[float]]()

    def look() -> None:
        seen.append([clock() for _ in range(2000)])

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(seen) == 4
    assert all(one == sorted(one) for one in seen)


@pytest.mark.parametrize("moment", [float("inf"), float("nan"), 1e18, 253_402_300_800.0])
def test_what_can_be_no_time_is_not_followed(moment: float) -> None:
    clock = SteadyClock(lambda: NOON, lambda: 0.0)
    clock.follow(moment)
    assert clock() == NOON


# -- while a server lives ------------------------------------------------------------


@pytest.mark.parametrize("back", [1.0, 29.0, HOUR, 10 * 365 * 24 * HOUR])
def test_a_wait_lasts_no_longer_when_the_clock_is_set_back(machine: Machine, back: float) -> None:
    service = machine.box.compile(WAIT) and machine.server()
    run = service.start("w")["workflow_id"]
    machine.pass_(10)
    machine.wall -= back
    with pytest.raises(RefusedError, match="waits for another 20 s"):
        service.submit(run, "settle", {})
    machine.pass_(19.5)
    assert step_ids(service.status(run)) == ["settle"]
    machine.pass_(0.5)
    assert step_ids(service.status(run)) == ["go"]


def test_a_wait_that_begins_after_the_clock_was_set_back_lasts_its_duration(machine: Machine) -> None:
    service = machine.box.compile(WAIT) and machine.server()
    machine.wall -= HOUR
    run = service.start("w")["workflow_id"]
    machine.pass_(29)
    assert step_ids(service.status(run)) == ["settle"]
    machine.pass_(1)
    assert step_ids(service.status(run)) == ["go"]


def test_a_deadline_and_a_pause_come_in_time_although_the_clock_is_set_back(machine: Machine) -> None:
    text = steps(
        "{id: a, type: shell, command: x, deadline: 40, retry: {max_attempts: 2, delay_seconds: 20}}",
        "{id: b, type: shell, command: x}",
    )
    service = machine.box.compile(text) and machine.server()
    run = service.start("w")["workflow_id"]
    machine.wall -= HOUR
    machine.pass_(41)
    assert step_ids(service.status(run)) == ["a@retry"]
    machine.wall -= HOUR
    machine.pass_(20)
    assert step_ids(service.status(run)) == ["a@2"]


def test_a_server_that_works_by_itself_tries_again_in_time_although_the_clock_is_set_back(
    machine: Machine,
) -> None:
    retry = "timeout: 1, retry: {max_attempts: 2, delay_seconds: 20}"
    machine.box.compile(steps(f"{{id: a, type: shell, runner: server, command: sleep 60, {retry}}}"))
    grant = Grant.all_commands(machine.box.root)
    store, registry = Store(machine.box.state), Registry(machine.box.generated)
    service = ServingService(store, registry, grant, clock=machine.clock(), reply_seconds=0.1)
    machine.box._open.append(service)
    run = service.start("w")["workflow_id"]
    wait_until(lambda: service.store.queries.require(run).pending == "a@retry", "the retry")
    machine.wall -= HOUR
    machine.pass_(20)
    wait_until(lambda: service.status(run)["status"] == "failed", "the failure")
    assert [event["event"] for event in service.history(run)["events"]].count("submitted") == 2


# -- after a restart ---------------------------------------------------------------------


def test_after_a_restart_time_is_not_below_the_newest_in_the_store(machine: Machine) -> None:
    machine.box.compile(TWO)
    run = machine.server().start("w")["workflow_id"]
    machine.wall -= HOUR
    machine.box.close()
    service = machine.server()
    service.submit(run, "build", OK)
    other = service.start("w")["workflow_id"]
    assert times(service, run) == [NOON, NOON]
    assert times(service, other) == [NOON]
    machine.pass_(5)
    assert times(service, service.start("w")["workflow_id"]) == [NOON + 5]


def test_a_wait_that_outlives_its_server_still_ends_once_its_duration_has_passed_in_the_next(
    machine: Machine,
) -> None:
    run = machine.box.compile(WAIT) and machine.server().start("w")["workflow_id"]
    machine.wall -= HOUR
    machine.box.close()
    service = machine.server()
    machine.pass_(29)
    assert step_ids(service.status(run)) == ["settle"]
    machine.pass_(1)
    assert step_ids(service.status(run)) == ["go"]


def test_a_store_from_a_clock_far_ahead_goes_on_from_there_and_its_waits_end(machine: Machine) -> None:
    """The newest time in the store counts until the wall clock has caught up."""
    machine.box.compile(WAIT)
    machine.wall += 10 * 365 * 24 * HOUR
    machine.server().start("w")
    machine.box.close()
    machine.wall = NOON
    service = machine.server()
    run = service.start("w")["workflow_id"]
    assert times(service, run) == [NOON + 10 * 365 * 24 * HOUR]
    machine.pass_(30)
    assert step_ids(service.status(run)) == ["go"]


def test_the_newest_time_need_not_be_that_of_the_last_event(machine: Machine) -> None:
    machine.box.compile(TWO)
    early, late = machine.server(), machine.server()
    machine.wall += HOUR
    late.start("w")
    machine.wall -= HOUR
    # It has seen nothing of the other's yet.
    run = early.start("w")["workflow_id"]
    assert times(early, run) == [NOON]
    machine.box.close()
    assert times(machine.server(), run) == [NOON]
    assert machine.server()._clock() == NOON + HOUR


def test_a_damaged_time_is_not_followed(machine: Machine) -> None:
    machine.box.compile(TWO)
    service = machine.server()
    run, other = service.start("w")["workflow_id"], service.start("w")["workflow_id"]
    service.store._write_connection.execute("UPDATE history SET at = 9e9 WHERE run = 1")
    machine.box.close()
    service = machine.server()
    assert service._clock() == NOON
    assert step_ids(service.submit(other, "build", OK)) == ["test"]
    assert run != other


# -- several servers ------------------------------------------------------------------------


def test_a_server_never_writes_a_time_below_the_newest_that_it_has_seen(machine: Machine) -> None:
    machine.box.compile(TWO)
    behind = machine.server()
    machine.wall += HOUR
    ahead = machine.server()
    run = ahead.start("w")["workflow_id"]
    machine.wall -= HOUR
    # The first server has not asked for the time since: for it, the clock never was ahead.
    behind.submit(run, "build", OK)
    assert times(behind, run) == [NOON + HOUR, NOON + HOUR]
    assert times(behind, behind.start("w")["workflow_id"]) == [NOON + HOUR]
    machine.pass_(3)
    ahead.submit(run, "test", OK)
    assert times(ahead, run) == [NOON + HOUR, NOON + HOUR, NOON + HOUR + 3]


def test_a_server_that_knows_less_waits_no_longer_than_the_duration(machine: Machine) -> None:
    machine.box.compile(WAIT)
    machine.wall += HOUR
    run = machine.server().start("w")["workflow_id"]
    machine.wall -= HOUR
    other = machine.server()
    machine.pass_(30)
    assert step_ids(other.status(run)) == ["go"]


# -- waits that a person skips -----------------------------------------------------------------


def test_skipping_waits_moves_the_run_alone(machine: Machine) -> None:
    machine.box.compile(WAIT)
    service = machine.server()
    other = service.start("w")["workflow_id"]
    machine.box.close()
    service = machine.server()
    run = service.start("w")["workflow_id"]
    service.ahead += 30
    service.tick(run)
    service.tick()
    assert step_ids(service.status(run)) == ["go"]
    assert times(service, run) == [NOON, NOON]
    machine.box.close()
    assert step_ids(machine.server().status(other)) == ["settle"]


def test_a_server_by_default_has_such_a_clock(tmp_path: Path) -> None:
    service = SqliteService(Store(tmp_path / "state.db"), Registry(tmp_path))
    assert isinstance(service._clock, SteadyClock)
    service.close()
