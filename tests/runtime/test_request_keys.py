"""Calls with the same request key start one run, whatever happens between them."""

from __future__ import annotations

import secrets
import threading

import pytest

from tests.runtime.support import OK, TWO, Box
from wfc_runtime.errors import RefusedError
from wfc_runtime.service.ids import id_of_key
from wfc_runtime.service.sqlite import SqliteService


@pytest.fixture
def service(box: Box) -> SqliteService:
    return box.compile(TWO).service


@pytest.fixture
def key() -> str:
    """Tests share a Temporal server, and all of it has one run for a key."""
    return secrets.token_hex(16)


def test_the_same_key_again_starts_no_other_run(service: SqliteService, key: str) -> None:
    first = service.start("w", key=key)
    assert service.start("w", key=key) == first
    assert len(service.runs()["runs"]) == 1
    assert [event["event"] for event in service.history(first["workflow_id"])["events"]] == ["started"]


def test_another_key_and_no_key_start_runs_of_their_own(service: SqliteService, key: str) -> None:
    ids = {service.start("w", key=key)["workflow_id"] for key in (f"a{key}", f"b{key}", None, None)}
    assert len(ids) == 4
    assert {len(run) for run in ids} == {26}


def test_a_run_that_went_on_is_told_as_it_is_now(service: SqliteService, key: str) -> None:
    run = service.start("w", key=key)["workflow_id"]
    moved = service.submit(run, "build", OK)
    assert service.start("w", key=key)["action"] == moved["action"]
    service.cancel(run)
    assert service.start("w", key=key)["status"] == "cancelled"


def test_a_module_that_is_in_no_folder_is_started_once_too(service: SqliteService, key: str) -> None:
    module = service.registry.find("w")
    runs = {service.start_module(module, key=key)["workflow_id"] for _ in range(2)}
    assert runs == {id_of_key(key)}


def test_a_key_of_another_workflow_is_refused(box: Box, key: str) -> None:
    service = box.compile(TWO, TWO.replace("name: w", "name: other")).service
    service.start("w", key=key)
    with pytest.raises(RefusedError, match="this request key has already started a run of `w`"):
        service.start("other", key=key)
    assert len(service.runs()["runs"]) == 1


def test_of_many_at_once_one_starts_the_run_and_all_are_told_of_it(service: SqliteService, key: str) -> None:
    found: list[str] = []
    gate = threading.Barrier(8)

    def start() -> None:
        gate.wait()
        found.append(service.start("w", key=key)["workflow_id"])

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [id_of_key(key)] * 8
    assert len(service.runs()["runs"]) == 1
