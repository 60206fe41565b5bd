"""Several calls to a commit: who shares one, who is waited for, and who is not."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.runtime.test_store_writes import created
from wfc_runtime.store import Changes, ConflictError, RunRow, Store
from wfc_runtime.store import writer as writing


def test_calls_that_come_while_another_commits_share_the_next_commit(tmp_path: Path) -> None:
    points: list[str] = []
    first_begun, go_on = threading.Event(), threading.Event()

    def hook(point: str) -> None:
        points.append(point)
        if points.count("begun") == 1 and point == "written":
            first_begun.set()
            go_on.wait(10)

    store = Store(tmp_path / "state.db", hook=hook)
    threads = [threading.Thread(target=created, args=(store, f"r{number}")) for number in range(9)]
    threads[0].start()
    assert first_begun.wait(10)
    for thread in threads[1:]:
        thread.start()
    while len(store._writer._queue) < 8:
        threading.Event().wait(0.001)
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert points.count("committed") == 2
    assert all(store.queries.run(f"r{number}") is not None for number in range(9))
    store.close()


def test_a_call_that_fails_in_a_shared_commit_hurts_no_other(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def hook(point: str) -> None:
        if point == "written" and not begun.is_set():
            begun.set()
            go_on.wait(10)

    store = Store(tmp_path / "state.db", hook=hook)
    stale = RunRow(id="r0", workflow="w", digest="d", key=1, version=9, snapshot="{}")
    errors: list[Exception] = []

    def lose() -> None:
        try:
            store.commit(Changes(updated={1: (stale, 8)}))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=created, args=(store, "r0"))]
    threads[0].start()
    assert begun.wait(10)
    threads += [threading.Thread(target=lose), threading.Thread(target=created, args=(store, "r1"))]
    for thread in threads[1:]:
        thread.start()
    while len(store._writer._queue) < 2:
        threading.Event().wait(0.001)
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert [type(error) for error in errors] == [ConflictError]
    assert store.queries.run("r1") is not None
    store.close()


@pytest.fixture
def points() -> list[str]:
    return []


@pytest.fixture
def store(tmp_path: Path, points: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """One that is ready to wait for long, so that nothing here depends on who is quicker."""
    monkeypatch.setattr(writing, "_PATIENCE", 20)
    store = Store(tmp_path / "state.db", hook=points.append)
    yield store
    store.close()


def _until(happened: threading.Event) -> None:
    assert happened.wait(10)


def test_who_is_on_the_way_is_waited_for_and_shares_the_commit(store: Store, points: list[str]) -> None:
    threads = [threading.Thread(target=created, args=(store, f"r{number}")) for number in range(3)]
    for _ in threads:
        store.enter()
    for thread in threads:
        assert points == [], "nobody commits before all of them are there"
        thread.start()
    for thread in threads:
        thread.join(10)
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
    thread.join(10)
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


def test_a_call_broken_off_in_the_queue_leaves_the_others_their_turns(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def hook(point: str) -> None:
        if point == "written" and not begun.is_set():
            begun.set()
            go_on.wait(10)

    store = Store(tmp_path / "state.db", hook=hook)
    first = threading.Thread(target=created, args=(store, "first"))
    first.start()
    _until(begun)
    with _broken_off_soon():
        created(store, "broken-off")
    last = threading.Thread(target=created, args=(store, "last"))
    last.start()
    go_on.set()
    first.join(10)
    last.join(10)
    found = [store.queries.run(name) is not None for name in ("first", "broken-off", "last")]
    assert found == [True, False, True]
    store.close()
