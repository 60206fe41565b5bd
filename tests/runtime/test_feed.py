"""The feed of changes: what another process does is seen, each run once, and a cursor that is too old says so."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.support import OK, TWO, Box, children, steps
from tests.support import wait_until
from wfc_runtime.errors import RequestError

CALLER = steps("{id: sub, type: call, workflow: w, with: {}, output_to: said}", name="caller")


def changes_after(box: Box, cursor: str, run: str) -> dict[str, Any]:
    """The next change of a run. Engines differ in how soon they notice it."""
    found: dict[str, Any] = {}

    def look() -> bool:
        nonlocal cursor
        reply = box.service.changes(cursor, watching=[run])
        cursor = reply["cursor"]
        found.update({one["run"]: one for one in reply["changes"]})
        return run in found

    wait_until(look)
    change: dict[str, Any] = found[run]
    return change


def test_without_a_cursor_there_is_only_the_cursor_of_now(box: Box) -> None:
    box.compile(TWO).service.start("w")
    reply = box.service.changes()
    assert reply["changes"] == []
    assert box.service.changes(reply["cursor"]).get("resync") is None


def test_what_another_process_does_is_a_change(box: Box) -> None:
    box.compile(TWO)
    cursor = box.service.changes()["cursor"]
    run = box.another().start("w")["workflow_id"]
    change = changes_after(box, cursor, run)
    assert (change["status"], change["workflow"], change["pending"]) == ("pending_action", "w", ["build"])


def test_a_run_that_ends_is_a_change(box: Box) -> None:
    run = box.compile(TWO).service.start("w")["workflow_id"]
    box.service.submit(run, "build", OK)
    cursor = box.service.changes(watching=[run])["cursor"]
    box.another().submit(run, "test", OK)
    wait_until(lambda: changes_after(box, cursor, run)["status"] == "completed")


def test_a_burst_is_one_change_per_run_with_its_last_number(file_box: Box) -> None:
    run = file_box.compile(TWO).service.start("w")["workflow_id"]
    cursor = file_box.service.changes()["cursor"]
    file_box.service.submit(run, "build", OK)
    file_box.service.submit(run, "test", OK)
    reply = file_box.service.changes(cursor)
    assert [(one["run"], one["seq"], one["status"]) for one in reply["changes"]] == [(run, 3, "completed")]
    assert file_box.service.changes(reply["cursor"])["changes"] == []


def test_a_change_of_a_child_names_its_root(file_box: Box) -> None:
    reply = file_box.compile(TWO, CALLER).service.start("caller")
    [child] = children(reply)
    cursor = file_box.service.changes()["cursor"]
    file_box.service.submit(child, "build", OK)
    [change] = file_box.service.changes(cursor)["changes"]
    assert (change["run"], change["root"]) == (child, reply["workflow_id"])


def test_after_runs_were_deleted_the_feed_says_that_everything_may_differ(file_box: Box) -> None:
    service = file_box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    service.cancel(run)
    cursor = service.changes()["cursor"]
    service.erase(run)
    assert service.changes(cursor)["resync"] is True
    # New events get the numbers of the deleted ones, but another time.
    file_box.clock.pass_(1)
    other = service.start("w")["workflow_id"]
    service.cancel(other)
    assert service.changes(cursor)["resync"] is True


def test_a_claim_of_a_server_is_told_without_an_event(file_box: Box) -> None:
    service = file_box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    cursor = service.changes()["cursor"]

    def claim(work: Any) -> Any:
        work.unit.claim(work.unit.find(run), "build", "somebody")
        return {}

    service._work(claim, None)
    reply = service.changes(cursor)
    assert (reply["changes"], reply["claims"]) == ([], True)
    assert "claims" not in service.changes(reply["cursor"])


@pytest.mark.slow
def test_a_cursor_of_another_server_means_to_start_over(temporal_box: Box) -> None:
    temporal_box.compile(TWO)
    cursor = temporal_box.service.changes()["cursor"]
    assert temporal_box.another().changes(cursor)["resync"] is True


@pytest.mark.parametrize("cursor", ["1", "a-b-c", "1-2", "1-2-3-4", "x" * 10_000])
def test_what_is_no_cursor_is_refused(file_box: Box, cursor: str) -> None:
    file_box.compile(TWO)
    with pytest.raises(RequestError, match="is not a cursor"):
        file_box.service.changes(cursor)
