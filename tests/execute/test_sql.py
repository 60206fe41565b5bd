"""SQL on a SQLite file: what it returns, what no statement may do, and its limits."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from wfc_runtime.execute import Grant, can_execute, execute
from wfc_runtime.execute.sql import _alone

MODEL = {
    "table": "tasks",
    "columns": {
        "id": {"type": "text", "primary": True, "auto": "uuid"},
        "name": {"type": "text", "required": True},
        "status": {"type": "text", "default": "open"},
        "priority": {"type": "integer", "default": 0},
        "made": {"type": "timestamp", "auto": "created"},
        "changed": {"type": "timestamp", "auto": "updated"},
        "more": {"type": "json"},
    },
    "indexes": [{"columns": ["status"]}, {"columns": ["name", "priority"], "order": "desc", "unique": True}],
}


def sql(folder: Path, grant: Grant | None = None, **parameters: Any) -> dict[str, Any]:
    given = {"path": "a.db", **parameters}
    return execute({"type": "sql", "parameters": given}, grant or Grant.all_commands(folder))


def rows(folder: Path, text: str, **more: Any) -> list[Any]:
    found = sql(folder, sql=text, **more)
    assert "error" not in found, found
    return [list(row.values()) for row in found["rows"]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert "error" not in sql(
        tmp_path, sql="CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x'), (2, 'y;z')"
    )
    return tmp_path


def test_statements_return_rows_and_what_they_changed(folder: Path) -> None:
    found = sql(folder, sql="SELECT a, b FROM t WHERE a > ? ORDER BY a", params=[1])
    assert (found["rows"], found["columns"], found["row_count"]) == ([{"a": 2, "b": "y;z"}], ["a", "b"], 1)
    assert rows(folder, "SELECT b FROM t WHERE a = :n", params={"n": 1}) == [["x"]]
    changed = sql(folder, sql="UPDATE t SET b = 'n' || a")
    assert (changed["row_count"], changed["affected_rows"], changed["rows"]) == (2, 2, [])
    assert rows(folder, "WITH x AS (SELECT 3 AS a) INSERT INTO t SELECT a, 'w' FROM x RETURNING a") == [[3]]
    assert rows(folder, "SELECT x'00ff', 1e999, NULL, ?", params=[{"k": [1]}]) == [
        ["AP8=", None, None, '{"k": [1]}']
    ]
    assert rows(folder, "SELECT count(*) FROM u", init_sql="CREATE TABLE IF NOT EXISTS u (a);") == [[0]]


def test_all_statements_are_one_transaction(folder: Path) -> None:
    found = sql(folder, sql="INSERT INTO t VALUES (3, 'z'); INSERT INTO nothing VALUES (1)")
    assert found["error"]["code"] == "sql"
    assert rows(folder, "SELECT count(*) FROM t") == [[2]]


def test_a_model_creates_its_table_and_works_on_its_rows(tmp_path: Path) -> None:
    def model(op: str, **more: Any) -> dict[str, Any]:
        found = sql(tmp_path, model=MODEL, op=op, **more)
        assert "error" not in found, found
        return found

    model("schema")
    model("schema")
    [first] = model("insert", data={"name": "one", "priority": 5, "more": {"k": 1}})["rows"]
    assert (first["status"], first["priority"], len(first["id"]), first["more"]) == (
        "open",
        5,
        36,
        '{"k": 1}',
    )
    model("insert", data={"name": "two", "status": "done"})
    model("insert", data={"name": "o'three; DROP TABLE tasks", "priority": 9})
    assert model("select")["row_count"] == 3
    assert model("select", where={"status": "open", "priority": {">": 4, "<=": 9}})["row_count"] == 2
    ordered = model("select", order=["priority:desc"], columns=["name"], limit=1, offset=1)
    assert ordered["rows"] == [{"name": "one"}]
    assert model("select", where={"name": ["one", "two"]})["row_count"] == 2
    assert model("select", where={"name": {"not in": ["one"], "like": "t%"}})["row_count"] == 1
    assert model("select", where={"more": None})["row_count"] == 2
    assert model("select", where={"more": {"!=": None}})["row_count"] == 1
    assert model("update", where={"id": first["id"]}, data={"status": "done"})["affected_rows"] == 1
    model("upsert", data={"id": first["id"], "name": "uno"})
    model("upsert", data={"id": "new", "name": "neu"}, conflict=["id"])
    found = model("select", where={"id": [first["id"], "new"]}, order="name")["rows"]
    assert [(one["name"], one["status"], one["priority"]) for one in found] == [
        ("neu", "open", 0),
        ("uno", "done", 5),
    ]
    assert model("delete", where={"name": "neu"})["row_count"] == 1


@pytest.mark.parametrize(
    "given",
    [
        {"op": "update", "data": {"name": "x"}},
        {"op": "delete"},
        {"op": "delete", "where": {}},
        {"op": "drop"},
        {"op": "select", "where": {'name" OR 1=1 --': 1}},
        {"op": "select", "where": {"name": {"= 1 OR 1 =": 1}}},
        {"op": "select", "order": ["name; DROP TABLE tasks"]},
        {"op": "select", "order": ["name:desc, (SELECT 1)"]},
        {"op": "select", "columns": ["*"]},
        {"op": "select", "columns": ["name FROM sqlite_master --"]},
        {"op": "insert", "data": {"nothing": 1}},
        {"op": "schema", "model": {"table": "sqlite_master", "columns": {"a": {}}}},
        {"op": "schema", "model": {"table": 'x"; DROP TABLE tasks; --', "columns": {"a": {}}}},
        {"op": "schema", "model": {"table": "x", "columns": {"a": {"type": "text); DROP TABLE tasks"}}}},
        {"op": "select", "sql": "SELECT 1"},
    ],
)
def test_a_model_has_no_place_for_sql(given: dict[str, Any], tmp_path: Path) -> None:
    sql(tmp_path, model=MODEL, op="schema")
    sql(tmp_path, model=MODEL, op="insert", data={"name": "kept"})
    assert "error" in sql(tmp_path, **{"model": MODEL, **given})
    assert rows(tmp_path, "SELECT name FROM tasks") == [["kept"]]


@pytest.mark.parametrize(
    "text",
    [
        *("ATTACH 'b.db' AS b", "ATTACH ':memory:' AS b", "DETACH main", "VACUUM", "VACUUM INTO 'c.db'"),
        *("PRAGMA writable_schema = 1", "PRAGMA journal_mode = WAL", "PRAGMA journal_mode = DELETE"),
        *(
            "PRAGMA temp_store_directory = '/'",
            "PRAGMA trusted_schema = ON",
            "PRAGMA max_page_count = 99999999",
        ),
        *(
            "UPDATE sqlite_master SET sql = ''",
            "DELETE FROM sqlite_schema",
            "INSERT INTO sqlite_sequence VALUES (1, 2)",
        ),
        *("SELECT load_extension('x')", "SELECT LOAD_EXTENSION('x', 'y')", "SELECT readfile('/etc/passwd')"),
        *(
            "SELECT writefile('x', 'y')",
            "SELECT fts3_tokenizer('simple')",
            "CREATE VIRTUAL TABLE v USING fts5(a)",
        ),
        *("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s", "COMMIT; DROP TABLE t", "END; ATTACH 'b.db' AS b"),
        *(
            "CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT load_extension('x'); END; INSERT INTO t VALUES (9, 9)",
        ),
    ],
)
def test_no_statement_reaches_beyond_the_database(text: str, folder: Path) -> None:
    found = sql(folder, sql=text)
    assert set(found) == {"error"}, found
    assert sorted(path.name for path in folder.iterdir()) == ["a.db"]
    assert rows(folder, "SELECT count(*) FROM t") == [[2]]
    assert rows(folder, "SELECT name FROM sqlite_master") == [["t"]]


@pytest.mark.parametrize(
    "text",
    [
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
        "INSERT INTO t WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x, x FROM c",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 2000) SELECT x FROM c",
        "SELECT zeroblob(900000000)",
        "SELECT replace(printf('%.4000c', 'a'), 'a', printf('%.4000c', 'b'))",
        "SELECT group_concat(a.a) FROM t a, t b, t c, (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
        "SELECT x FROM c)",
        "SELECT " + "(" * 500 + "1" + ")" * 500,
        "SELECT 1" + " UNION ALL SELECT 1" * 90,
        ";" * 5 + "SELECT 1;" * 200,
        "SELECT '" + "x" * 200_000 + "'",
        # SQLite looks for the end of a statement from its beginning, at each semicolon.
        "CREATE TRIGGER g AFTER INSERT ON t BEGIN " + "SELECT 1;" * 9_000,
        "SELECT '" + ";" * 90_000,
        # One operation of SQLite's machine can take long.
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT randomblob(4000000) FROM c ORDER BY 1",
    ],
)
def test_time_rows_and_sizes_have_limits(text: str, folder: Path) -> None:
    assert set(sql(folder, sql=text, timeout=0.3)) == {"error"}
    assert rows(folder, "SELECT count(*) FROM t") == [[2]]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="temporary files can't be listed here")
@pytest.mark.parametrize(
    "text",
    [
        "WITH RECURSIVE c(x) AS (SELECT randomblob(90000) UNION SELECT randomblob(90000) FROM c) SELECT count(1) "
        "FROM c",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT randomblob(90000) FROM c ORDER BY 1",
        "CREATE TEMP TABLE z AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
        "SELECT randomblob(90000) FROM c",
    ],
)
def test_temporary_files_have_a_limit(text: str, folder: Path) -> None:
    grant = Grant(folder, commands=None, database_bytes=3_000_000)
    found = sql(folder, grant, sql=text, timeout=300)
    assert "temporary files" in found["error"]["message"]
    assert rows(folder, "SELECT count(*) FROM t") == [[2]]


def test_a_step_that_waits_for_its_turn_ends_with_its_run_and_at_its_time_limit(folder: Path) -> None:
    action = {"type": "sql", "parameters": {"path": "a.db", "sql": "SELECT 1", "timeout": 0.2}}
    cancelled = threading.Event()
    cancelled.set()
    with _alone(folder.resolve() / "a.db"):
        found = execute(action, Grant.all_commands(folder))
        ended = execute(action, Grant.all_commands(folder), "r1", cancelled)
    assert (found["error"]["code"], ended["error"]["code"]) == ("timeout", "interrupted")


def test_a_database_grows_up_to_its_limit(folder: Path) -> None:
    grant = Grant(folder, commands=None, database_bytes=200_000)
    found = sql(folder, grant, sql="INSERT INTO t VALUES (3, zeroblob(300000))")
    assert "full" in found["error"]["message"]


def test_reading_and_writing_a_database_are_granted_apart(folder: Path) -> None:
    reading, writing = Grant(folder, read=("*.db",)), Grant(folder, read=("*.db",), write=("*.db",))
    assert sql(folder, reading, sql="SELECT count(*) AS n FROM t")["rows"] == [{"n": 2}]
    for text in ("DELETE FROM t", "WITH x AS (SELECT 1) DELETE FROM t", "SELECT 1; DELETE FROM t"):
        assert sql(folder, reading, sql=text)["error"]["code"] == "refused"
    # A statement that looks like reading is held to it by the database.
    assert sql(folder, reading, sql="EXPLAIN SELECT 1; SELECT 1")["row_count"] == 1
    write = {"type": "sql", "parameters": {"path": "a.db", "sql": "DELETE FROM t"}}
    assert not can_execute(write, reading)
    assert can_execute(write, writing)
    assert not can_execute({"type": "sql", "parameters": {"path": "b.txt", "sql": "SELECT 1"}}, writing)
    assert not can_execute(write, Grant(folder, write=("*.db",)))
    assert rows(folder, "SELECT count(*) FROM t") == [[2]]


@pytest.mark.parametrize(
    "path", ["../b.db", "/etc/x.db", "link.db", "folder", "notes.txt", ":memory:/x", ".wfc/x.db"]
)
def test_only_a_database_in_the_granted_folders_is_opened(path: str, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    (inner / "folder").mkdir(parents=True)
    (inner / "notes.txt").write_text("Not a database, but a text that is long enough to have a header.")
    (inner / "link.db").symlink_to(tmp_path / "b.db")
    sqlite3.connect(tmp_path / "b.db").execute("CREATE TABLE t (a)").connection.close()
    grant = Grant(inner, commands=None)
    assert set(sql(inner, grant, path=path, sql="CREATE TABLE u (a)")) == {"error"}
    assert (inner / "notes.txt").read_text().startswith("Not a database")


def test_a_journal_that_names_another_file_is_not_replayed(folder: Path) -> None:
    """SQLite deletes the file that the journal of several databases names, once it has replayed it."""
    victim = folder / "victim"
    victim.write_text("x")
    name = str(victim).encode()
    magic = bytes.fromhex("d9d505f920a163d7")
    ending = (
        (1).to_bytes(4, "big") + name + len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big") + magic
    )
    header = (
        magic + (0).to_bytes(4, "big") * 3 + (512).to_bytes(4, "big") + (4096).to_bytes(4, "big")
    ).ljust(512, b"\0")
    (folder / "a.db-journal").write_bytes(header + ending)
    found = sql(folder, sql="SELECT count(*) FROM t", timeout=0.2)
    assert found["error"]["code"] == "busy"
    assert victim.exists()


def test_concurrent_writers_take_turns(folder: Path) -> None:
    found: list[dict[str, Any]] = []

    def write() -> None:
        for _ in range(5):
            found.append(sql(folder, sql="UPDATE t SET a = a + 1 WHERE b = 'x'"))

    threads = [threading.Thread(target=write) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert [one for one in found if "error" in one] == []
    assert rows(folder, "SELECT a FROM t WHERE b = 'x'") == [[21]]
    # Another program holds the file: the step waits for it, up to its time limit.
    other = sqlite3.connect(folder / "a.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert sql(folder, sql="DELETE FROM t", timeout=0.2)["error"]["code"] in ("timeout", "busy")
    other.execute("ROLLBACK")
    other.close()
    assert sql(folder, sql="DELETE FROM t")["affected_rows"] == 2


def test_a_schema_from_elsewhere_can_not_call_functions_with_effects(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as made:
        made.execute("CREATE TABLE t (a)")
        made.execute("CREATE VIEW v AS SELECT load_extension('evil')")
        made.execute("CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT load_extension('evil'); END")
    made.close()
    assert sql(tmp_path, sql="SELECT * FROM v")["error"]["code"] in ("refused", "sql")
    assert sql(tmp_path, sql="INSERT INTO t VALUES (1)")["error"]["code"] in ("refused", "sql")
    assert rows(tmp_path, "SELECT count(*) FROM t") == [[0]]
