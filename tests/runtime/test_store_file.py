"""The file: how it is made, and what is said when it can't be used."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.support import OK, TWO, Box, steps
from tests.support import PATIENCE
from wfc_runtime.errors import NotFoundError, StoreError
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store
from wfc_runtime.store.database import MIGRATIONS, version_of
from wfc_runtime.store.records import checksum


@pytest.fixture
def box(file_box: Box) -> Box:
    """All of this is about the file."""
    return file_box


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_file_and_its_folder_are_made_for_their_owner_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        store = Store(tmp_path / ".wfc" / "state.db")
        assert mode(tmp_path / ".wfc") == 0o700
        files = [path for path in (tmp_path / ".wfc").iterdir() if path.name.startswith("state")]
        assert {path.name for path in files} == {"state.db", "state.db-wal", "state.db-shm"}
        assert {mode(path) for path in files} == {0o600}
        store.close()
    finally:
        os.umask(old)


def test_a_folder_made_for_the_store_is_ignored_by_git(tmp_path: Path) -> None:
    Store(tmp_path / ".wfc" / "state.db").close()
    assert (tmp_path / ".wfc" / ".gitignore").read_text() == "*\n"


def test_nothing_acknowledged_is_left_to_the_page_cache(tmp_path: Path) -> None:
    store = Store(tmp_path / "state.db")
    for connection in (store._write_connection, store._read_connection):
        settings = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "user_version")
        }
        assert settings == {
            "journal_mode": "wal",
            "synchronous": 2,
            "foreign_keys": 1,
            "busy_timeout": 10_000,
            "user_version": len(MIGRATIONS),
        }
    store.close()


def test_a_store_from_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    Store(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"written by a newer wfc \(store version 99") as caught:
        Store(path)
    assert caught.value.code == "store_newer"
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(StoreError, match="is another program's database"):
        Store(path)


def test_a_file_that_is_no_database_is_said_to_be_damaged(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(b"this is not a database, and long enough to tell" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        Store(path)
    assert caught.value.code == "store_damaged"
    assert path.read_bytes() == before


def test_a_file_too_short_to_be_a_store_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("S")
    with pytest.raises(StoreError, match="too short to be a store"):
        Store(path)
    assert path.read_text() == "S"


def test_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        Store(tmp_path)


def test_a_place_that_cannot_be_written_is_refused_with_what_to_do() -> None:
    with pytest.raises(StoreError, match=r"can't be (written|opened)"):
        Store(Path("/proc/wfc/state.db"))


def test_a_store_that_has_become_read_only_says_so_and_still_answers(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    service.store._write_connection.execute("PRAGMA query_only = 1")
    with pytest.raises(StoreError, match="can't be written") as caught:
        service.submit(run, "build", OK)
    assert caught.value.code == "store_read_only"
    assert service.status(run)["action"]["step_id"] == "build"
    service.store._write_connection.execute("PRAGMA query_only = 0")
    assert service.submit(run, "build", OK)["action"]["step_id"] == "test"


def test_a_full_disk_is_said_to_be_full_and_nothing_is_lost(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    pages = service.store._write_connection.execute("PRAGMA page_count").fetchone()[0]
    service.store._write_connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="no space left on the disk"):
        service.submit(run, "build", {**OK, "stdout": "x" * 100_000})
    assert service.status(run)["action"]["step_id"] == "build"
    service.store._write_connection.execute("PRAGMA max_page_count = 1000000")
    assert service.submit(run, "build", OK)["action"]["step_id"] == "test"


def test_a_store_that_was_cut_short_is_said_to_be_damaged(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    service.submit(run, "build", {**OK, "stdout": "x" * 50_000})
    box.close()
    data = box.state.read_bytes()
    box.state.write_bytes(data[: len(data) // 2])
    with pytest.raises(StoreError) as caught:
        box.service.status(run)
    assert caught.value.code == "store_damaged"


def test_a_flipped_bit_in_what_was_written_is_noticed(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    service.submit(run, "build", {**OK, "stdout": "the original text"})
    box.close()
    data = box.state.read_bytes()
    assert data.count(b"the original text") == 1
    box.state.write_bytes(data.replace(b"the original text", b"the 0riginal text"))
    with pytest.raises(StoreError, match="is not what was written"):
        box.service.state(run, ["built"])
    with pytest.raises(StoreError, match="is not what was written"):
        box.service.history(run)


def test_a_field_that_is_lost_is_noticed(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    service.submit(run, "build", OK)
    box.close()
    with sqlite3.connect(box.state) as connection:
        connection.execute("DELETE FROM fields WHERE name = 'built'")
    connection.close()
    with pytest.raises(StoreError, match="is not what was written"):
        box.service.state(run)
    with pytest.raises(StoreError, match="is not what was written"):
        box.service.next_step(run)


def test_what_has_become_another_runs_is_not_told_as_this_ones(box: Box) -> None:
    service = box.compile(TWO).service
    one, two = service.start("w")["workflow_id"], service.start("w")["workflow_id"]
    box.close()
    with sqlite3.connect(box.state) as connection:
        connection.execute("DELETE FROM runs WHERE id = ?", (one,))
        connection.execute("UPDATE runs SET id = ?", (one,))
    connection.close()
    for ask in (box.service.history, box.service.status, box.service.state):
        with pytest.raises(StoreError, match="is not what was written"):
            ask(one)
        with pytest.raises(NotFoundError):
            ask(two)


def test_a_list_has_no_run_that_is_not_as_it_was_written(box: Box) -> None:
    service = box.compile(TWO).service
    service.start("w")
    box.close()
    with sqlite3.connect(box.state) as connection:
        connection.execute("UPDATE runs SET workflow = 'v'")
    connection.close()
    with pytest.raises(StoreError, match="is not what was written"):
        box.service.runs("all")


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE history SET told = 5",
        "UPDATE history SET data = 5",
        "UPDATE runs SET created = 'yesterday'",
        "UPDATE runs SET snapshot = 5",
        "UPDATE runs SET workflow = CAST(x'fffe' AS TEXT)",
        "UPDATE fields SET value = 5, seq = NULL",
    ],
)
def test_a_value_that_has_become_another_kind_is_said_to_be_damage(box: Box, damage: str) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    service.submit(run, "build", OK)
    box.close()
    with sqlite3.connect(box.state) as connection:
        connection.execute(damage)
    connection.close()

    def look(service: SqliteService) -> None:
        service.status(run)
        service.history(run)
        service.runs("all")

    with pytest.raises(StoreError) as caught:
        look(box.service)
    assert caught.value.code == "store_damaged"


def test_fields_that_have_changed_places_are_noticed(box: Box) -> None:
    service = box.compile(
        steps("{id: a, type: set_state, updates: {x: one, y: two}}", "{id: b, type: shell, command: y}")
    ).service
    run = service.start("w")["workflow_id"]
    box.close()
    with sqlite3.connect(box.state) as connection:
        kept = dict(connection.execute("SELECT name, value FROM fields"))
        sums = dict(connection.execute("SELECT name, checksum FROM fields"))
        for name, other in (("x", "y"), ("y", "x")):
            sql = "UPDATE fields SET value = ?, checksum = ? WHERE name = ?"
            assert connection.execute(sql, (kept[other], sums[other], name)).rowcount == 1
    connection.close()
    with pytest.raises(StoreError) as caught:
        box.restart().state(run, ["x", "y"])
    assert caught.value.code == "store_damaged"


def test_a_last_event_that_nothing_else_tells_of_is_missed(box: Box) -> None:
    service = box.compile(
        steps("{id: a, type: shell, command: x}", "{id: b, type: shell, command: y}")
    ).service
    run = service.start("w")["workflow_id"]
    service.submit(run, "a", OK)
    box.close()
    with sqlite3.connect(box.state) as connection:
        assert connection.execute("DELETE FROM history WHERE seq = 2").rowcount == 1
    connection.close()
    with pytest.raises(StoreError, match=f"event 2 of run {run} is missing"):
        box.restart().history(run)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE history SET visit = 'another' WHERE seq = 2",
        "UPDATE history SET kind = 'clock' WHERE seq = 2",
        "UPDATE history SET actor = 'me' WHERE seq = 1",
        "UPDATE history SET at = at + 1",
        "UPDATE history SET told = x'00ff' WHERE seq = 2",
        "UPDATE history SET seq = 7 WHERE seq = 3",
        "DELETE FROM history WHERE seq = 3",
        "DELETE FROM history WHERE seq = 1",
        "UPDATE fields SET seq = 1",
        "UPDATE fields SET seq = 2 WHERE seq = 3",
        "UPDATE fields SET seq = 9 WHERE seq = 3",
        "UPDATE fields SET name = 'another' WHERE value IS NOT NULL",
        "UPDATE runs SET status = 'completed'",
        "UPDATE runs SET pending = 'another'",
        "UPDATE runs SET version = version + 1",
        "UPDATE runs SET version = version - 1",
        "UPDATE runs SET due = 5",
        "UPDATE runs SET root = root + 1",
        "UPDATE runs SET created = created - 9",
    ],
)
def test_a_fact_that_has_become_another_is_said_to_be_damage(box: Box, damage: str) -> None:
    make = "{id: a, type: shell, command: make, output_to: o}"
    count = "{id: c, type: set_state, needs_state: [o], updates: {c: '{{ state.o.stdout }}!'}}"
    loop = f"{{id: l, type: while, if: '{{{{ true }}}}', max_iterations: 9, steps: [{make}, {count}]}}"
    service = box.compile(steps(loop)).service
    run = service.start("w")["workflow_id"]
    for visit in ("a", "a@2"):
        service.submit(run, visit, OK)
    box.close()
    with sqlite3.connect(box.state) as connection:
        assert connection.execute(damage).rowcount >= 1
    connection.close()

    def look(service: SqliteService) -> None:
        service.state(run, ["o", "c"])
        service.history(run)

    with pytest.raises(StoreError, match=r"is not what was written|missing") as caught:
        look(box.service)
    assert caught.value.code == "store_damaged"


def test_rows_that_an_older_wfc_wrote_are_read(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    service.submit(run, "build", OK)
    box.close()
    with sqlite3.connect(box.state) as connection:
        for table, key, content in (
            ("runs", "key", "snapshot"),
            ("history", "rowid", "data, told"),
            ("fields", "rowid", "value"),
        ):
            for number, *parts in connection.execute(f"SELECT {key}, {content} FROM {table}").fetchall():
                old = checksum(*parts) if any(parts) else None
                connection.execute(f"UPDATE {table} SET checksum = ? WHERE {key} = ?", (old, number))
    connection.close()
    assert box.service.state(run, ["built"])["state"] == {"built": OK}
    assert len(box.service.history(run)["events"]) == 2
    assert box.service.submit(run, "test", OK)["status"] == "completed"


def test_tables_that_are_not_even_text_are_said_to_be_damage(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    Store(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA writable_schema = 1")
        connection.execute("UPDATE sqlite_master SET sql = CAST(x'43fffe9b' AS TEXT) WHERE name = 'runs'")
    connection.close()
    with pytest.raises(StoreError) as caught:
        Store(path)
    assert caught.value.code == "store_damaged"


def test_a_store_that_somebody_else_holds_for_too_long_is_said_to_be_busy(box: Box) -> None:
    box.compile(TWO)
    store = Store(box.state, busy_seconds=0.05)
    other = sqlite3.connect(box.state, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="is busy") as caught:
        store.erase("nothing")
    assert caught.value.code == "store_busy"
    other.close()
    store.close()


OPENER = """
import sys
from pathlib import Path
from wfc_runtime.store import Store

print("ready", flush=True)
sys.stdin.readline()
Store(Path(sys.argv[1])).close()
"""


def test_processes_that_create_the_store_together_all_find_it_whole(tmp_path: Path) -> None:
    path = tmp_path / ".wfc" / "state.db"
    command = [sys.executable, "-c", OPENER, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    openers = [subprocess.Popen(command, text=True, **pipes) for _ in range(4)]  # type: ignore[call-overload]
    for opener in openers:
        assert opener.stdout.readline() == "ready\n"
    for opener in openers:
        opener.stdin.write("go\n")
        opener.stdin.flush()
    for opener in openers:
        _, errors = opener.communicate(timeout=PATIENCE)
        assert (opener.returncode, errors) == (0, "")
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    connection.close()


def test_a_store_that_another_process_creates_meanwhile_is_not_taken_for_a_foreign_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state.db"

    class Overtaken(sqlite3.Connection):
        def execute(self, sql: str, *parameters: object) -> sqlite3.Cursor:
            if "sqlite_master" in sql:
                Store(path).close()
            return super().execute(sql, *parameters)

    # As SQLite's own setting of a file that another process is creating.
    sqlite3.connect(path).execute("PRAGMA journal_mode = WAL").connection.close()
    connection = sqlite3.connect(path, isolation_level=None, factory=Overtaken)
    assert version_of(connection, str(path)) == 0
    assert version_of(connection, str(path)) == len(MIGRATIONS)
    connection.close()
