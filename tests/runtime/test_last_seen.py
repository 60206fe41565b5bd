"""A server takes a run for what it last saw of it, and yet is never wrong: others may have the same file open."""

from __future__ import annotations

import pytest

from tests.runtime.support import OK, Box, steps
from wfc_runtime.errors import NotFoundError, RefusedError
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Changes, ClaimRow

LETTERS = "abcdef"
SIX = steps(
    "{id: pause, type: wait, duration_seconds: 5}",
    *(f"{{id: {name}, type: shell, command: x, output_to: {name}}}" for name in LETTERS),
)


@pytest.fixture
def box(file_box: Box) -> Box:
    """All of this is about the file."""
    return file_box


@pytest.fixture
def run(box: Box) -> str:
    """One that waits in `c`, and that `box.service` knows."""
    service = box.compile(SIX).service
    run = str(service.start("w")["workflow_id"])
    box.clock.pass_(6)
    service.submit(run, "a", OK)
    service.submit(run, "b", OK)
    return run


def _reads(service: SqliteService, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    asked: list[str] = []
    ask = service.store.queries.require
    monkeypatch.setattr(service.store.queries, "require", lambda run: (asked.append(run), ask(run))[1])
    return asked


def test_a_server_that_was_the_last_to_move_a_run_does_not_read_it_again(
    box: Box, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _reads(box.service, monkeypatch)
    assert box.service.submit(run, "c", OK)["action"]["step_id"] == "d"
    assert asked == []
    assert box.service.next_step(run)["action"]["step_id"] == "d"
    assert asked == [run], "who only asks would have no way to notice"


def test_an_overtaken_server_takes_the_answer_to_what_is_pending_by_now(box: Box, run: str) -> None:
    box.another().submit(run, "c", OK)
    assert box.service.submit(run, "d", OK)["action"]["step_id"] == "e"


def test_an_overtaken_server_says_where_the_run_is_now(box: Box, run: str) -> None:
    first = box.another().submit(run, "c", OK)
    assert box.service.submit(run, "c", OK) == {**first, "repeated": True}


def test_an_overtaken_server_refuses_another_answer_to_what_is_answered(box: Box, run: str) -> None:
    box.another().submit(run, "c", OK)
    with pytest.raises(RefusedError, match="with a different result") as refused:
        box.service.submit(run, "c", {**OK, "exit_code": 9})
    assert "`d`" in refused.value.hint


def test_a_run_that_ended_elsewhere_is_over_here(box: Box, run: str) -> None:
    other = box.another()
    other.cancel(run, "enough")
    with pytest.raises(RefusedError, match="cancelled"):
        box.service.submit(run, "c", OK)
    other.erase(run)
    with pytest.raises(NotFoundError):
        box.service.submit(run, "c", OK)


def test_what_another_server_has_claimed_meanwhile_is_not_the_agents(box: Box, run: str) -> None:
    other = box.another()
    row = other.store.queries.require(run)
    claim = ClaimRow(row.root, row.key, "c", box.clock(), other.owners.me())
    other.store.commit(Changes(claims=[(claim, row.version)]))
    with pytest.raises(RefusedError, match="the server is executing"):
        box.service.submit(run, "c", OK)
    assert box.service.status(run)["status"] == "running"


def test_what_is_claimed_between_reading_and_writing_is_not_the_agents(
    box: Box, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, store = box.another(), box.service.store
    row = other.store.queries.require(run)

    def claim(visit: str) -> None:
        found = ClaimRow(row.root, row.key, visit, box.clock(), other.owners.me())
        other.store.commit(Changes(claims=[(found, row.version)]))

    # The first attempt finds that something else is being done for the run, the second knows it.
    claim("elsewhere")
    commit, attempts = store.commit, iter(range(1, 9))

    def overtaken(changes: Changes) -> None:
        if next(attempts) == 2:
            claim("c")
        commit(changes)

    monkeypatch.setattr(store, "commit", overtaken)
    with pytest.raises(RefusedError, match="the server is executing"):
        box.service.submit(run, "c", OK)
    assert next(attempts) > 2


def test_a_result_that_does_not_fit_is_refused_once_and_counted_once(box: Box, run: str) -> None:
    with pytest.raises(RefusedError, match="does not fit"):
        box.service.submit(run, "c", {"stdout": 1})
    kinds = [event["event"] for event in box.service.history(run)["events"]]
    assert kinds.count("refused") == 1


def test_an_overtaken_server_shows_what_is_pending_by_now_to_whoever_ends_a_wait_again(
    box: Box, run: str
) -> None:
    box.another().submit(run, "c", OK)
    assert box.service.submit(run, "pause", {})["action"]["step_id"] == "d"
