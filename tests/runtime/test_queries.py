"""However many runs a store holds, a call reads only what it needs."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.runtime.support import OK, TWO, Box, children, steps
from wfc_runtime.service.interface import Service
from wfc_runtime.store.records import checksum


@pytest.fixture
def box(file_box: Box) -> Box:
    """All of this is about the file."""
    return file_box


def test_no_call_goes_through_a_whole_table(box: Box) -> None:
    box.compile(TWO, steps("{id: c, type: call, workflow: w, with: {}, output_to: o}", name="caller"))
    service = box.service
    seen: set[str] = set()
    for connection in (service.store._read_connection, service.store._write_connection):
        connection.set_trace_callback(seen.add)
    reply = service.start("caller")
    run, [child] = reply["workflow_id"], children(reply)
    service.submit(child, "build", OK)
    service.submit(child, "build", OK)
    box.clock.pass_(1000)
    service.status(run)
    service.runs()
    service.runs("all", before=run)
    assert service.ids(run[:4], 9) == [run]
    service.state(child, ["built"])
    service.history(child)
    service.tick()
    service.cancel(service.start("w")["workflow_id"])
    box.restart().status(run)
    with sqlite3.connect(box.state) as connection:
        for statement in seen:
            if statement.startswith(("SELECT", "UPDATE", "DELETE")):
                plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
                # A subquery's few rows are gone through, and what servers are executing at this moment. A table that
                # grows never is.
                few = ("subquery", "SCAN claims")
                scans = [line for line in plan if line.startswith("SCAN")]
                assert not [line for line in scans if not any(one in line for one in few)], statement
    connection.close()
    assert len(seen) > 20


def test_lists_starts_and_ticks_are_as_quick_with_thousands_of_runs(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    with sqlite3.connect(box.state) as connection:
        columns = [
            row[1] for row in connection.execute("PRAGMA table_info(runs)") if row[1] not in ("key", "id")
        ]
        names = ", ".join(columns)
        connection.execute(
            f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) "
            f"INSERT INTO runs (id, {names}) SELECT 'copy' || i, {names} FROM n, runs WHERE id = ?",
            (run,),
        )
        connection.create_function("checksum_of", 1, checksum)
        connection.execute("UPDATE runs SET root = key, checksum = checksum_of(snapshot)")
    connection.close()
    steps_taken = 0

    def count() -> int:
        nonlocal steps_taken
        steps_taken += 1
        return 0

    service.store._read_connection.set_progress_handler(count, 100)
    assert len(service.runs()["runs"]) == 50
    assert len(service.runs("all")["runs"]) == 50
    service.status(run)
    service.start("w")
    assert steps_taken * 100 < 20_000
    # Thousands of waits that are not over: a tick reads the first of them from the index, and writes nothing.
    with sqlite3.connect(box.state) as connection:
        connection.execute("UPDATE runs SET due = ? + key", (box.clock.now + 500,))
    connection.close()
    written: list[str] = []
    service.store._write_connection.set_trace_callback(written.append)
    steps_taken = 0
    service.store._read_connection.set_progress_handler(count, 1)
    left = service.tick()
    assert left is not None
    assert left > 500
    assert steps_taken < 200
    assert written == []


def test_the_engine_keeps_to_the_interface(tmp_path: Path) -> None:
    from wfc_runtime.service.sqlite import SqliteService

    service: Service = SqliteService.open(tmp_path / "state.db", tmp_path / "generated")
    offered = {name for name in vars(Service) if not name.startswith("_")}
    assert offered <= set(dir(service))
    service.close()
    with pytest.raises(sqlite3.ProgrammingError):
        service.store._read_connection.execute("SELECT 1")  # type: ignore[attr-defined]
