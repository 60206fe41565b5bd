"""Several calls to a commit: who shares one, who is waited for, and who is not."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.runtime.test_store_writes import created
from tests.support import PATIENCE
from wfc_runtime.store import Changes, ConflictError, ModuleRow, RunRow, Store
from wfc_runtime.store import writer as writing


class HeldStore(Store):
    """One whose first commit stays open until it is told to go on."""

    def __init__(self, path: Path) -> None:
        self.points: list[str] = []
        self._begun, self._go_on = threading.Event(), threading.Event()
        super().__init__(path, hook=self._reached)

    def _reached(self, point: str) -> None:
        self.points.append(point)
        if point == "written" and not self._begun.is_set():
            self._begun.set()
            self._go_on.wait(PATIENCE)

    def begin(self, run_id: str) -> threading.Thread:
        thread = threading.Thread(target=created, args=(self, run_id))
        thread.start()
        assert self._begun.wait(PATIENCE)
        return thread

    def go_on_with(self, waiting: int) -> None:
        while len(self._writer._queue) < waiting:
            threading.Event().wait(0.001)
        self._go_on.set()


@pytest.fixture
def held(tmp_path: Path) -> Iterator[HeldStore]:
    store = HeldStore(tmp_path / "state.db")
    yield store
    store.close()


def test_calls_that_come_while_another_commits_share_the_next_commit(held: HeldStore) -> None:
    threads = [held.begin("r0")]
    threads += [threading.Thread(target=created, args=(held, f"r{number}")) for number in range(1, 9)]
    for thread in threads[1:]:
        thread.start()
    held.go_on_with(waiting=8)
    for thread in threads:
        thread.join(PATIENCE)
    assert held.points.count("committed") == 2
    assert all(held.queries.run(f"r{number}") is not None for number in range(9))


def test_a_call_that_fails_in_a_shared_commit_hurts_no_other(held: HeldStore) -> None:
    stale = RunRow(id="r0", workflow="w", digest="d", key=1, version=9, snapshot="{}")
    errors: list[Exception] = []

    def lose() -> None:
        try:
            held.commit(Changes(updated={1: (stale, 8)}, modules={"lost": ModuleRow("w", "text", None, 0.0)}))
        except Exception as error:
            errors.append(error)

    threads = [held.begin("r0")]
    threads += [threading.Thread(target=lose), threading.Thread(target=created, args=(held, "r1"))]
    for thread in threads[1:]:
        thread.start()
    held.go_on_with(waiting=2)
    for thread in threads:
        thread.join(PATIENCE)
    assert [type(error) for error in errors] == [ConflictError]
    assert held.queries.run("r1") is not None
    # What it had written before it failed is not there either.
    assert held.queries.module("lost") is None


@pytest.fixture
def points() -> list[str]:
    return []


@pytest.fixture
def store(tmp_path: Path, points: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """One that is ready to wait for long, so that nothing here depends on who is quicker."""
    monkeypatch.setattr(writing, "_PATIENCE", PATIENCE)
    store = Store(tmp_path / "state.db", hook=points.append)
    yield store
    store.close()


def test_who_is_on_the_way_is_waited_for_and_shares_the_commit(store: Store, points: list[str]) -> None:
    threads = [threading.Thread(target=created, args=(store, f"r{number}")) for number in range(3)]
    for _ in threads:
        store.enter()
    for thread in threads:
        assert points == [], "nobody commits before all of them are there"
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert points.count("committed") == 1
    assert all(store.queries.run(f"r{number}") for number in range(3))


def test_who_leaves_without_a_change_is_not_waited_for(store: Store, points: list[str]) -> None:
    store.enter()
    store.enter()
    thread = threading.Thread(target=created, args=(store,))
    thread.start()
    while not store._writer._queue:
        threading.Event().wait(0.001)
    assert points == []
    store.leave()
    thread.join(PATIENCE)
    assert points.count("committed") == 1


def test_nobody_is_waited_for_longer_than_a_moment(
    store: Store, points: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_PATIENCE", 0.01)
    store.enter()
    store.enter()
    created(store)
    assert points.count("committed") == 1


@contextmanager
def _broken_off_soon() -> Iterator[None]:
    """As by Ctrl-C."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_call_broken_off_while_it_waits_for_others_lets_them_go_on(store: Store) -> None:
    store.enter()
    store.enter()
    with _broken_off_soon():
        created(store, "broken-off")
    store.leave()
    created(store, "next")
    assert store.queries.run("next") is not None
    assert store.queries.run("broken-off") is None


def test_a_call_broken_off_in_the_queue_leaves_the_others_their_turns(held: HeldStore) -> None:
    first = held.begin("first")
    with _broken_off_soon():
        created(held, "broken-off")
    last = threading.Thread(target=created, args=(held, "last"))
    last.start()
    held.go_on_with(waiting=1)
    first.join(PATIENCE)
    last.join(PATIENCE)
    found = [held.queries.run(name) is not None for name in ("first", "broken-off", "last")]
    assert found == [True, False, True]
