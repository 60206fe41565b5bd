"""`sql`: statements on a SQLite file of the granted folders, in one transaction and within limits.

SECURITY. An authorizer sees every statement before it runs: other databases, extensions, virtual tables, transactions
and all but a few pragmas are refused, and everything that writes unless writing is granted. A journal beside the file
is never replayed: it can name another file, which SQLite would then delete. The file is opened by its name, after the
checks that every file gets, and its identity is compared again behind that; SQLite has no way to open a descriptor.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote

from wfc_runtime.contract import Json
from wfc_runtime.execute.base import ExecutionError, Executor, Job, Parameters, Result, shortened
from wfc_runtime.execute.paths import Place, file_refusal, identity, located
from wfc_runtime.execute.permissions import Access, Grant
from wfc_runtime.execute.sql_models import Statement, is_reading, statement_of

_MOST_ROWS = 1_000
_MOST_BYTES = 100 * 1024
_LONGEST = 600.0
_OPERATIONS = 100
"""How many operations of SQLite's machine pass between two looks at the clock. One can handle megabytes."""
_LONGEST_TEXT = 100_000
_MOST_SEMICOLONS = 2_000
_BETWEEN_SIZES = 0.2
"""Seconds between two looks at the size of temporary files."""
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 5_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: _LONGEST_TEXT,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 1_000,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 50,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_READING = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE))
_WRITING = frozenset(
    (
        *(sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE, sqlite3.SQLITE_ALTER_TABLE),
        *(sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_CREATE_INDEX, sqlite3.SQLITE_CREATE_VIEW),
        *(sqlite3.SQLITE_CREATE_TRIGGER, sqlite3.SQLITE_CREATE_TEMP_TABLE, sqlite3.SQLITE_CREATE_TEMP_INDEX),
        *(sqlite3.SQLITE_CREATE_TEMP_VIEW, sqlite3.SQLITE_DROP_TABLE, sqlite3.SQLITE_DROP_INDEX),
        *(sqlite3.SQLITE_DROP_VIEW, sqlite3.SQLITE_DROP_TRIGGER, sqlite3.SQLITE_DROP_TEMP_TABLE),
        *(sqlite3.SQLITE_DROP_TEMP_INDEX, sqlite3.SQLITE_DROP_TEMP_VIEW, sqlite3.SQLITE_REINDEX),
        *(sqlite3.SQLITE_ANALYZE,),
    )
)
_PRAGMAS = frozenset(
    (
        *("foreign_key_check", "foreign_key_list", "index_info", "index_list", "index_xinfo"),
        *("integrity_check", "quick_check", "table_info", "table_list", "table_xinfo"),
    )
)
_NO_FUNCTIONS = frozenset(("load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"))


@lru_cache(maxsize=1024)
def _alone(path: Path) -> Lock:
    """By file: parallel steps of one server take turns, so that the journal of one does not look like a leftover."""
    return Lock()


@contextmanager
def _turn(path: Path, job: Job, deadline: float) -> Iterator[None]:
    lock = _alone(path)
    # In parts, to notice that the run was cancelled while another step uses the file.
    while not lock.acquire(timeout=0.1):
        if job.stop.is_set():
            raise ExecutionError("the run ended before the database was free", "interrupted")
        if time.monotonic() >= deadline:
            raise ExecutionError("another step used the database until the time limit", "timeout")
    try:
        yield
    finally:
        lock.release()


def _sql(job: Job) -> Result:
    parameters = job.parameters
    if parameters.text("engine", "sqlite") != "sqlite":
        raise ExecutionError("`engine` must be sqlite; the server opens no other database")
    statements = list(_statements(parameters))
    # Decides the grant that is needed and the mode of the connection; the authorizer enforces it.
    reads = all(one.is_reading for one in statements)
    access: tuple[Access, ...] = ("read",) if reads else ("read", "write")
    begun = time.monotonic()
    deadline = begun + min(parameters.number("timeout", 30), job.grant.seconds, _LONGEST)
    with located(job, "path", *access) as place, _turn(place.path, job, deadline):
        about = identity(place, is_written=not reads)
        _wait_for_journal(place, job, deadline)
        with closing(_connected(place, job.grant, reads, about is None)) as connection:
            now = identity(place, is_written=not reads)
            # SQLite opens by name, so the file is compared before and after.
            if about is not None and (now is None or not os.path.samestat(about, now)):
                raise ExecutionError(f"{place} was replaced while it was opened", "refused")
            watch = _Watch(connection, job, deadline, reads)
            result = watch.executed(statements)
    return {**result, "engine": "sqlite", "path": str(place), "success": True}


def _statements(parameters: Parameters) -> Iterator[Statement]:
    if "init_sql" in parameters:
        yield from map(Statement, _split(parameters.text("init_sql")))
    if "op" in parameters or "model" in parameters:
        if "sql" in parameters:
            raise ExecutionError("only one of `sql` and `model` with `op` can be given")
        yield from statement_of(parameters)
        return
    given = parameters.value("params") if "params" in parameters else []
    if not isinstance(given, (list, dict)):
        raise ExecutionError("`params` must be a list or an object")
    found = _split(parameters.text("sql"))
    if len(found) > 1 and given:
        raise ExecutionError("`params` go with one statement, and `sql` has several")
    if not found:
        raise ExecutionError("`sql` has no statement")
    yield from (Statement(one, given) for one in found)


def _split(text: str) -> list[str]:
    """The statements of a text. SQLite itself says where one ends: a `;` may be in a text or in a trigger."""
    # The call below scans from the beginning of a statement, so the work grows with the product of both numbers.
    if len(text) > _LONGEST_TEXT or text.count(";") > _MOST_SEMICOLONS:
        raise ExecutionError(
            f"the statements have more than {_LONGEST_TEXT:,} characters or {_MOST_SEMICOLONS:,} semicolons",
            hint="Pass values in `params`.",
        )
    found: list[str] = []
    begun = 0
    for at, char in enumerate(text):
        # Asked only at a semicolon: the call scans the whole text.
        if char == ";" and sqlite3.complete_statement(text[begun : at + 1]):
            found.append(text[begun : at + 1])
            begun = at + 1
            if len(found) > 100:
                raise ExecutionError("more than 100 statements")
    found.append(text[begun:])
    return [one for one in found if one.strip(" \t\r\n;")]


# The connection.


def _connected(place: Place, grant: Grant, reads: bool, is_new: bool) -> sqlite3.Connection:
    mode = "ro" if reads else "rwc" if is_new else "rw"
    try:
        connection = sqlite3.connect(
            f"file:{quote(str(place.path))}?mode={mode}",
            uri=True,
            # No waiting inside SQLite: `_begin` waits, and notices when the run was cancelled.
            timeout=0,
            isolation_level=None,
            # No statement is reused, so that each one passes the authorizer.
            cached_statements=0,
            check_same_thread=False,
        )
    except sqlite3.Error as error:
        raise ExecutionError(f"{place} can't be opened: {error}") from None
    for limit, most in _LIMITS.items():
        connection.setlimit(limit, most)
    # A schema from elsewhere may have triggers and views that call functions; these must be harmless ones.
    try:
        for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")
    except sqlite3.Error as error:
        connection.close()
        raise ExecutionError(f"{place} can't be opened: {error}") from None
    configure = getattr(connection, "setconfig", None)
    if configure is not None:  # Python 3.12
        configure(getattr(sqlite3, "SQLITE_DBCONFIG_DEFENSIVE"), True)  # noqa: B009
    return connection


def _wait_for_journal(place: Place, job: Job, deadline: float) -> None:
    journal = place.path.with_name(f"{place.path.name}-journal")
    while journal.is_symlink() or journal.exists():
        if time.monotonic() >= deadline or job.stop.wait(0.05):
            raise ExecutionError(
                f"{journal.name} exists beside the database: a program is writing to it, or ended while writing",
                "busy",
                "If no program uses it, open the database once with the sqlite3 program, which recovers it.",
            )


class _Watch:
    """Executes statements with an eye on rights, time and size."""

    def __init__(self, connection: sqlite3.Connection, job: Job, deadline: float, reads: bool) -> None:
        self._connection, self._job, self._deadline, self._reads = connection, job, deadline, reads
        self._refused = ""
        self._is_own = False
        """Whether the statement is one of ours, which may begin and end the transaction."""
        self._measured = time.monotonic()
        self._is_too_large = False

    def executed(self, statements: list[Statement]) -> Result:
        self._connection.set_progress_handler(self._must_end, _OPERATIONS)
        self._connection.set_authorizer(self._authorize)
        try:
            self._begin()
            try:
                found: Result = {}
                for one in statements:
                    found = self._execute(one)
                self._own("COMMIT")
                return found
            except BaseException:
                if self._connection.in_transaction:
                    # Otherwise a rollback after a timeout would be interrupted, too.
                    self._connection.set_progress_handler(None, 0)
                    self._own("ROLLBACK")
                raise
        except (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError) as error:
            raise self._failure(error) from None

    def _begin(self) -> None:
        """Other programs may hold the file for a moment."""
        while True:
            try:
                # The write lock at once, so that no statement fails in the middle for lack of it.
                self._own("BEGIN" if self._reads else "BEGIN IMMEDIATE")
                size = self._own("PRAGMA page_size")[0][0]
                self._own(f"PRAGMA max_page_count={self._job.grant.database_bytes // size}")
                return
            except sqlite3.OperationalError as error:
                is_busy = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
                if not is_busy or self._is_late() or self._job.stop.wait(0.05):
                    raise

    def _own(self, statement: str) -> list[Any]:
        self._is_own = True
        try:
            return self._connection.execute(statement).fetchall()
        finally:
            self._is_own = False

    def _execute(self, one: Statement) -> Result:
        before = self._connection.total_changes
        cursor = self._connection.execute(one.text, _bound(one.values))
        columns = [about[0] for about in cursor.description or ()]
        rows: list[dict[str, Json]] = []
        size = 0
        for row in cursor:
            rows.append({name: _plain(value) for name, value in zip(columns, row, strict=True)})
            # An estimate, made while rows are read: the exact size would need all of them.
            size += sum(len(str(value)) + 8 for value in row) + sum(map(len, columns))
            if len(rows) > _MOST_ROWS or size > _MOST_BYTES:
                raise ExecutionError(
                    f"more than {_MOST_ROWS:,} rows or {_MOST_BYTES:,} bytes", "output_invalid", "Use LIMIT."
                )
        changed = self._connection.total_changes - before
        return {
            "rows": rows,
            "columns": columns,
            "row_count": len(rows) if columns else changed,
            "affected_rows": changed,
            "last_insert_id": cursor.lastrowid if changed else None,
        }

    def _is_late(self) -> bool:
        return self._job.stop.is_set() or time.monotonic() >= self._deadline

    def _must_end(self) -> bool:
        """Whether SQLite has to interrupt the statement."""
        now = time.monotonic()
        if now - self._measured >= _BETWEEN_SIZES:
            self._measured = now
            self._is_too_large = _temporary_bytes() > self._job.grant.database_bytes
        return self._is_too_large or self._is_late()

    def _authorize(
        self, action: int, first: str | None, second: str | None, base: str | None, by: str | None
    ) -> int:
        if action in _READING:
            return sqlite3.SQLITE_OK
        # Functions of SQLite itself are harmless, except those that reach files or extensions.
        if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in _NO_FUNCTIONS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and (self._is_own or (first or "").lower() in _PRAGMAS):
            return sqlite3.SQLITE_OK
        # Only the action itself may begin and end transactions.
        if action == sqlite3.SQLITE_TRANSACTION and self._is_own:
            return sqlite3.SQLITE_OK
        if action in _WRITING:
            if not self._reads:
                return sqlite3.SQLITE_OK
            self._refused = "the statement writes, and the server opened the database for reading only"
        else:
            self._refused = (
                f"the statement uses what is not allowed here ({_NAMES.get(action, 'another action')})"
            )
        return sqlite3.SQLITE_DENY

    def _failure(self, error: Exception) -> ExecutionError:
        if self._refused:
            # The authorizer's own message is only "not authorized".
            return ExecutionError(self._refused, "refused")
        if self._is_too_large:
            most = self._job.grant.database_bytes
            return ExecutionError(f"the statement needs more than {most:,} bytes of temporary files", "sql")
        if self._is_late():
            return ExecutionError("the statement took too long", "timeout")
        return ExecutionError(f"SQLite: {shortened(error, 300)}", "sql")


def _temporary_bytes() -> int:
    """The size of SQLite's temporary files of this process, which no limit of SQLite covers.

    SQLite deletes them as soon as they are open, so that only their descriptors are left. Where the system does not
    list these with their names, the time limit is the only one.
    """
    total = 0
    with suppress(OSError):
        for one in os.scandir("/proc/self/fd"):
            # A descriptor may be closed by another thread at any time.
            with suppress(OSError):
                if "/etilqs_" in os.readlink(one.path):
                    total += os.stat(one.path).st_size
    return total


_NAMES = {
    sqlite3.SQLITE_ATTACH: "ATTACH or VACUUM",
    sqlite3.SQLITE_DETACH: "DETACH",
    sqlite3.SQLITE_PRAGMA: "PRAGMA",
    sqlite3.SQLITE_TRANSACTION: "BEGIN, COMMIT or ROLLBACK: all statements are one transaction",
    sqlite3.SQLITE_SAVEPOINT: "SAVEPOINT",
    sqlite3.SQLITE_FUNCTION: "a function of an extension",
    sqlite3.SQLITE_CREATE_VTABLE: "CREATE VIRTUAL TABLE",
    sqlite3.SQLITE_DROP_VTABLE: "DROP of a virtual table",
    sqlite3.SQLITE_CREATE_TEMP_TRIGGER: "CREATE TEMP TRIGGER",
}


def _bound(values: list[Json] | dict[str, Json]) -> Any:
    if isinstance(values, dict):
        return {name: _bindable(value) for name, value in values.items()}
    return [_bindable(value) for value in values]


def _bindable(value: Json) -> Any:
    """A JSON value as SQLite stores it; lists and objects as JSON text."""
    return json.dumps(value) if isinstance(value, (list, dict)) else value


def _plain(value: Any) -> Json:
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    # SQLite can store infinity, JSON can't.
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _refusal(parameters: Parameters, grant: Grant) -> str:
    access: tuple[Access, ...] = ("read",) if is_reading(parameters) else ("read", "write")
    return file_refusal(parameters, grant, "path", *access)


SQL = Executor("sql", _sql, _refusal)
