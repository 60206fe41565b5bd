"""However much there is to do, a call takes about the same work, which is counted; `make bench` times it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.counting import SqliteWork, calls_of, sqlite_counted
from tests.torture.load import (
    bytes_per_step,
    hammer,
    large_state,
    many_children,
    many_runs,
    opened,
    project,
    runs_at_once,
    snapshots,
    soak,
)
from tests.torture.servers import Nursery, Server, nursery


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with nursery(project(tmp_path_factory.mktemp("load")), "two", "loop") as made:
        yield made


@pytest.fixture
def server(servers: Nursery, tmp_path: Path) -> Iterator[Server]:
    made = servers.server(tmp_path)
    yield made
    made.kill()
    made.gone()


@pytest.fixture
def sqlite() -> Iterator[SqliteWork]:
    with sqlite_counted() as work:
        yield work


def calls(work: Callable[[], Any], times: int) -> float:
    return statistics.median(calls_of(work) for _ in range(times))


def test_with_ten_thousand_runs_every_call_takes_about_the_work_that_it_takes_with_a_hundred(
    tmp_path: Path, sqlite: SqliteWork
) -> None:
    def work_of(work: Callable[[], Any], times: int) -> float:
        before = sqlite.instructions
        found = calls(work, times)
        return found + (sqlite.instructions - before) / times

    ratios = many_runs(tmp_path, 10_000, work_of, times=5)
    assert set(ratios) == {"list", "list all", "status", "history", "start", "open"}
    assert sqlite.instructions
    assert all(ratio < 1.5 for ratio in ratios.values()), ratios


def test_a_step_beside_a_mebibyte_of_state_calls_and_writes_about_as_much_as_beside_none(
    tmp_path: Path, sqlite: SqliteWork
) -> None:
    def written(work: Callable[[], Any], times: int) -> float:
        before = sqlite.characters
        for _ in range(times):
            work()
        return (sqlite.characters - before) / times

    for name, cost in (("calls", calls), ("written", written)):
        (tmp_path / name).mkdir()
        assert large_state(tmp_path / name, cost, times=5) < 1.2
    assert sqlite.characters


def test_the_end_of_a_child_among_a_hundred_takes_about_the_work_of_a_step(tmp_path: Path) -> None:
    assert many_children(tmp_path, 100, calls) < 1.5


def test_a_service_remembers_only_so_many_open_runs_and_so_much_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wfc_runtime.service.sqlite.unit_of_work._MOST_RUNS", 20)
    project(tmp_path)
    service = opened(tmp_path)
    before = len(snapshots())
    for _ in range(40):
        service.start("two")
    assert 15 < len(snapshots()) - before <= 21
    for _ in range(12):
        service.start("loop", {"ballast": 10_000})
    assert 6 <= sum(one.size > 900_000 for one in snapshots()) <= 9
    service.close()


def test_a_hundred_runs_at_once_are_all_worked(server: Server) -> None:
    assert runs_at_once(server, 100) == {"completed": 100}


def test_several_servers_that_want_the_same_steps_share_them_without_one_too_many(
    servers: Nursery, tmp_path: Path
) -> None:
    project(tmp_path)
    wins = hammer(servers, tmp_path, servers=3, turns=15)
    assert sum(wins.values()) >= 15


def test_a_step_with_three_hundred_bytes_takes_less_than_a_kilobyte_of_disk(tmp_path: Path) -> None:
    assert bytes_per_step(tmp_path, 200) < 1000


def test_a_server_does_not_grow_with_what_it_has_done(server: Server) -> None:
    early, *_, late = soak(server, rounds=60, every=20)
    assert late / early < 1.1
