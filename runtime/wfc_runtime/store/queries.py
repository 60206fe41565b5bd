"""Read queries. Every statement sees the last commit, whichever process made it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from wfc_runtime.contract import Json
from wfc_runtime.errors import NotFoundError, StoreError
from wfc_runtime.store.database import damaged, translated
from wfc_runtime.store.files import OpenFiles
from wfc_runtime.store.records import (
    RUN_COLUMNS,
    ClaimRow,
    GateRow,
    HistoryRow,
    ModuleRow,
    RunRow,
    checksum,
    sealed,
)
from wfc_runtime.store.writer import Writer

# The steps that runs wait in. The compiler reads them, without opening the store for writing, before a step is removed.


@dataclass(frozen=True)
class Waiting:
    """A run in progress and the steps that it waits in."""

    run: str
    workflow: str
    task: str | None
    steps: tuple[str, ...]
    is_brief: bool = False
    """Whether a named agent executes the whole task as one brief; it then waits in no step of the task."""
    is_child: bool = False
    """Whether it is a child run."""


def waiting_runs(path: Path) -> list[Waiting]:
    """The runs in progress of a store, children included. A file that is not a wfc store has none."""
    if not path.is_file():
        return []
    try:
        # A short timeout: this is called while workflows are checked, and a busy store must not delay that.
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=1)
        try:
            rows = connection.execute(
                "SELECT id, workflow, task, agent, pending, parent FROM runs WHERE status = 'running' ORDER BY key"
            ).fetchall()
        finally:
            connection.close()
    except sqlite3.Error:
        # The server reports a damaged store; a check of workflow sources must not fail because of it.
        return []
    return [
        Waiting(
            run, workflow, task, _steps(pending), agent is not None and agent != "@task", parent is not None
        )
        for run, workflow, task, agent, pending, parent in rows
    ]


def _steps(pending: str) -> tuple[str, ...]:
    """The step of each visit: `improve@2` is a visit of `improve`."""
    # Several visits of one step can be pending, such as in parallel branches; each step is named once.
    return tuple(dict.fromkeys(visit.partition("@")[0] for visit in pending.split()))


# Queries on an open store.


@dataclass(frozen=True)
class ListFilter:
    """Which runs a list shows, beside their status."""

    workflow: str | None = None
    beginning: str | None = None
    """The first characters of the id."""

    def sql(self) -> tuple[str, tuple[str, ...]]:
        """Further conditions of a query, and their values."""
        conditions, values = "", list[str]()
        if self.workflow is not None:
            conditions, values = " AND workflow = ?", [self.workflow]
        if self.beginning is not None:
            conditions += " AND id >= ? AND id < ?"
            # A range instead of LIKE: it uses the index on `id`, and ids consist of ASCII characters below
            # 0x7f.
            values += [self.beginning, f"{self.beginning}\x7f"]
        return conditions, tuple(values)


_RUN = ", ".join(RUN_COLUMNS)
_EVENT = "seq, at, kind, data, visit, actor, told, checksum"
_LAST = 64
_T, _I, _F, _NONE = str, int, (float, int), type(None)
_RUN_TYPES: tuple[Any, ...] = (
    *(_T, _T, _T, _I, _I, _I),
    *((int, _NONE), (str, _NONE), (int, _NONE), (str, _NONE), (str, _NONE)),
    *(_I, _T, (float, int, _NONE), _T, _F, _F),
)
_EVENT_TYPES: tuple[Any, ...] = (_I, _F, _T, _T, (str, _NONE), (str, _NONE), (bytes, _NONE))
_DUE = "SELECT key FROM runs WHERE root = ? AND status = 'running' AND due <= ? ORDER BY due, key"
_CLAIM = "root, run, visit, at, owner, returned"
# Whether any claim exists comes with the row: most calls then need no second query.
_BARE = f"SELECT {_RUN}, EXISTS (SELECT 1 FROM claims WHERE claims.root = runs.root) FROM runs WHERE"
_BY_ID, _BY_KEY = f"{_BARE} id = ?", f"{_BARE} key = ?"
_SEALED = f"SELECT {_RUN}, snapshot, checksum FROM runs"
_WHOLE = f"{_SEALED} WHERE key = ?"
_FIELDS = (
    f"SELECT name, value, fields.checksum, history.{_EVENT.replace(', ', ', history.')} FROM fields "
    "LEFT JOIN history ON history.run = fields.run AND history.seq = fields.seq "
    "WHERE fields.run = ? ORDER BY fields.rowid"
)


class Queries:
    """All read queries of a store.

    Rows written by an older wfc have a checksum of their content only; that checksum is accepted too.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        writer: Writer | None = None,
        files: OpenFiles | None = None,
    ) -> None:
        """`files` are checked after each query; inside a transaction the writer does that instead."""
        self._connection = connection
        self._path = path
        self._writer = writer
        self._files = files
        self._lock = Lock()

    def run(self, run_id: str) -> RunRow | None:
        """A run's row, without its snapshot."""
        return self._bare(_BY_ID, run_id)

    def require(self, run_id: str) -> RunRow:
        row = self.run(run_id)
        if row is None:
            raise NotFoundError(
                "unknown_run", f"there is no run `{run_id}`", "list_runs() shows the runs that are open."
            )
        return row

    def sound(self, run_id: str) -> RunRow:
        """A run's row with a verified checksum. Raises `NotFoundError` if there is no such run."""
        for row in self._fetch(f"{_SEALED} WHERE id = ?", run_id):
            return self._sealed(row)
        # No row: this raises the usual error.
        return self.require(run_id)

    def run_of_key(self, key: int) -> RunRow | None:
        return self._bare(_BY_KEY, key)

    def _bare(self, sql: str, value: object) -> RunRow | None:
        for *values, is_claimed in self._fetch_few(sql, value):
            row = self._row(values)
            row.may_be_served = bool(is_claimed)
            return row
        return None

    def whole(self, key: int) -> tuple[RunRow, dict[str, Json]] | None:
        """A run with its snapshot and the fields of its state, all read in one transaction."""
        rows, fields = self._fetch_all((_WHOLE, (key,)), (_FIELDS, (key,)))
        if not rows:
            return None
        row = self._sealed(rows[0])
        return row, {name: self._field(row, name, *rest) for name, *rest in fields}

    def _field(self, row: RunRow, name: str, value: str | None, written: int | None, *event: Any) -> Json:
        """The value of a field: stored in the row itself, or as the result of the event that the row refers to."""
        if value is None:
            source = self._event(event)
            kept = json.loads(source.data)
            # Rows of earlier versions have no checksum for such a reference.
            if written in (None, sealed(source.seq, name)) and name in kept.get("kept_as", ()):
                return kept["result"]
        elif isinstance(value, str):
            content = checksum(value)
            if written in (sealed(content, name), content):
                return json.loads(value)
        raise self.damaged(f"field {name} of run {row.id}")

    def due(self, root: int, now: float) -> list[int]:
        """The runs of a family whose timers are due, the longest overdue first."""
        return [key for (key,) in self._fetch(_DUE, root, now)]

    def due_families(self, now: float) -> list[int]:
        """The families with due runs, the longest overdue first."""
        # INDEXED BY makes sure that this never becomes a scan of all runs in progress: servers ask once a
        # second.
        sql = "SELECT root FROM runs INDEXED BY runs_due WHERE status = 'running' AND due <= ? ORDER BY due"
        return list(dict.fromkeys(root for (root,) in self._fetch(sql, now)))

    def next_due(self) -> float | None:
        """When the clock has something to do next, in any run."""
        sql = "SELECT min(due) FROM runs INDEXED BY runs_due WHERE status = 'running' AND due IS NOT NULL"
        return next((due for (due,) in self._fetch(sql)), None)

    def all_claims(self) -> list[ClaimRow]:
        """The claims of all runs."""
        return [ClaimRow(*row) for row in self._fetch(f"SELECT {_CLAIM} FROM claims")]

    def listed(
        self, statuses: tuple[str, ...], limit: int, before: int | None, chosen: ListFilter | None = None
    ) -> list[RunRow]:
        """Runs without a parent, newest first."""
        # Larger than any key, so that the first page needs no other statement.
        newest = before if before is not None else 2**62
        more, wanted = chosen.sql() if chosen else ("", ())
        # One index range per status: sorting all rows of a status would get slower as the store grows.
        parts = " UNION ALL ".join(
            f"SELECT * FROM ({_SEALED} WHERE parent IS NULL AND status = ? AND key < ?{more} "
            "ORDER BY key DESC LIMIT ?)"
            for _ in statuses
        )
        values = [value for status in statuses for value in (status, newest, *wanted, limit)]
        found = self._fetch(f"{parts} ORDER BY key DESC LIMIT ?", *values, limit)
        return [self._sealed(row) for row in found]

    def ids(self, beginning: str, limit: int) -> list[str]:
        """The ids with this prefix, in order."""
        sql = "SELECT id FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
        return [found for (found,) in self._fetch(sql, beginning, f"{beginning}\x7f", limit)]

    def ended_before(self, statuses: tuple[str, ...], moment: float) -> list[RunRow]:
        """Runs without a parent, with one of these statuses, last updated before a moment; oldest first."""
        marks = ", ".join("?" for _ in statuses)
        sql = f"SELECT {_RUN} FROM runs WHERE parent IS NULL AND status IN ({marks}) AND updated < ? ORDER BY key"
        return self._rows(sql, *statuses, moment)

    def children(self, key: int) -> list[RunRow]:
        return self._rows(f"SELECT {_RUN} FROM runs WHERE parent = ? ORDER BY key", key)

    def last_answers(self, key: int) -> list[tuple[str, str | None, float]]:
        """The open children of a run that have been answered since they were started or retried: their id, who answered
        last, and when."""
        sql = (
            "SELECT runs.id, history.actor, history.at FROM runs JOIN history ON history.run = runs.key "
            "AND history.seq = "
            "(SELECT MAX(seq) FROM history WHERE run = runs.key AND kind IN ('submitted', 'retried')) "
            # A child at version 1 has only been started, so nobody can have answered it.
            "WHERE runs.parent = ? AND runs.status = 'running' AND runs.version > 1 AND history.kind = 'submitted'"
        )
        return [(run, actor, at) for run, actor, at in self._fetch(sql, key)]

    def blockers_below(self, key: int) -> dict[str, str]:
        """The open blockers of a run's descendants, by issue."""
        sql = (
            "WITH RECURSIVE below(key) AS (SELECT key FROM runs WHERE parent = ? AND status = 'running' UNION ALL "
            "SELECT runs.key FROM runs JOIN below ON runs.parent = below.key WHERE runs.status = 'running') "
            "SELECT issue.key, issue.value FROM below JOIN runs ON runs.key = below.key, "
            "json_each(runs.snapshot, '$.blockers') AS issue ORDER BY below.key"
        )
        return {str(issue): str(text) for issue, text in self._fetch(sql, key)}

    def open_family(self, root: int) -> list[RunRow]:
        """The runs in progress of a family, parents first."""
        return self._rows(f"SELECT {_RUN} FROM runs WHERE root = ? AND status = 'running' ORDER BY key", root)

    def claims(self, root: int) -> list[ClaimRow]:
        """The actions that servers are executing for a family of runs."""
        sql = f"SELECT {_CLAIM} FROM claims WHERE root = ?"
        return [ClaimRow(*row) for row in self._fetch_few(sql, root)]

    def answer(self, key: int, visit: str) -> HistoryRow | None:
        """The event that answered a visit, or None."""
        sql = f"SELECT {_EVENT} FROM history WHERE run = ? AND visit = ? AND kind = 'submitted'"
        rows = self._fetch(sql, key, visit)
        return self._event(rows[0]) if rows else None

    def journal(self, key: int, first: int = 0) -> list[HistoryRow]:
        """The events of kind `journal` of a run, in order, from a number on."""
        sql = (
            f"SELECT {_EVENT} FROM history INDEXED BY history_journal "
            "WHERE run = ? AND seq >= ? AND kind = 'journal' ORDER BY seq"
        )
        return [self._event(row) for row in self._fetch(sql, key, first)]

    def event(self, key: int, seq: int) -> HistoryRow | None:
        """One event of a run by its number."""
        found = self._fetch(f"SELECT {_EVENT} FROM history WHERE run = ? AND seq = ?", key, seq)
        return self._event(found[0]) if found else None

    def was_retried(self, key: int, visit: str) -> bool:
        """Whether a run was retried from a visit; without a visit, whether it was retried at all."""
        sql = "SELECT 1 FROM history WHERE run = ? AND kind = 'retried' AND (visit = ? OR ? = '') LIMIT 1"
        return bool(self._fetch(sql, key, visit, visit))

    def history(self, key: int, after: int, limit: int) -> list[HistoryRow]:
        sql = f"SELECT {_EVENT} FROM history WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?"
        found = [self._event(row) for row in self._fetch(sql, key, after, limit)]
        first = max(after, 0) + 1
        # Numbers are consecutive by construction. A gap means that rows were deleted.
        if [event.seq for event in found] != list(range(first, first + len(found))):
            raise damaged(self._path, f"events are missing from number {first} on")
        return found

    def latest(self, key: int, before: int, limit: int) -> list[HistoryRow]:
        """The last events with a number below `before`, newest first."""
        sql = f"SELECT {_EVENT} FROM history WHERE run = ? AND seq < ? ORDER BY seq DESC LIMIT ?"
        return [self._event(row) for row in self._fetch(sql, key, before, limit)]

    # -- what the page shows ---------------------------------------------------

    def counts(self) -> list[tuple[str, str, int]]:
        """How many runs without a parent there are, by workflow and status."""
        sql = "SELECT workflow, status, count(*) FROM runs INDEXED BY runs_of_workflow WHERE parent IS NULL "
        # Grouped in the order of the index, so no run is read.
        return [(str(one), str(other), int(n)) for one, other, n in self._fetch(f"{sql} GROUP BY 1, 2")]

    def versions(self, workflow: str) -> list[tuple[str, int]]:
        """The digests that runs in progress without a parent are pinned to, the most frequent first."""
        sql = (
            "SELECT digest, count(*) FROM runs INDEXED BY runs_of_workflow "
            "WHERE parent IS NULL AND workflow = ? AND status = 'running' GROUP BY 1 ORDER BY 2 DESC, 1"
        )
        return [(str(digest), int(count)) for digest, count in self._fetch(sql, workflow)]

    def gates(self, limit: int, after: tuple[float, int, str] | None = None) -> list[GateRow]:
        """The visits that ask a person, the oldest first; only those that follow `after`."""
        # A row value comparison continues exactly after the last row of a page, even if times are equal.
        sql = "SELECT run, visit, since FROM gates WHERE (since, run, visit) > (?, ?, ?) ORDER BY 3, 1, 2 LIMIT ?"
        return [GateRow(*row) for row in self._fetch(sql, *(after or (-1.0, 0, "")), limit)]

    def count_gates(self) -> int:
        return int(self._fetch("SELECT count(*) FROM gates")[0][0])

    def child_counts(self, key: int) -> dict[str, int]:
        """The number of children of a run, by status."""
        sql = "SELECT status, count(*) FROM runs WHERE parent = ? GROUP BY status"
        return {str(status): int(count) for status, count in self._fetch(sql, key)}

    def children_from(self, key: int, after: int, limit: int, status: str | None) -> list[RunRow]:
        """A page of the children of a run, with their snapshots."""
        more, values = (" AND status = ?", (status,)) if status else ("", ())
        sql = f"{_SEALED} WHERE parent = ? AND key > ?{more} ORDER BY key LIMIT ?"
        return [self._sealed(row) for row in self._fetch(sql, key, after, *values, limit)]

    def feed(self, after: int, limit: int) -> tuple[list[tuple[int, int]], int, int, int, str]:
        """The rows that were added to the history after one: each run once with its last row, in order. Also the
        checksum of the row `after`, the last row, its checksum, and the actions that servers execute."""
        changed = (
            "SELECT run, max(rowid) FROM history WHERE rowid > ? GROUP BY run ORDER BY max(rowid) LIMIT ?",
            (after, limit),
        )
        # The checksum tells whether the row is still the one that the caller saw: a restored backup reuses
        # row ids.
        known = ("SELECT checksum FROM history WHERE rowid = ?", (after,))
        last = ("SELECT rowid, checksum FROM history ORDER BY rowid DESC LIMIT 1", ())
        claims = ("SELECT group_concat(run || ' ' || visit || ' ' || owner) FROM claims", ())
        rows, seals, newest, [(claimed,)] = self._fetch_all(changed, known, last, claims)
        rowid, seal = newest[0] if newest else (0, 0)
        return [(run, row) for run, row in rows], seals[0][0] if seals else 0, rowid, seal, claimed or ""

    def newest(self) -> float:
        """The time of the newest of the last events; 0 if there is none.

        Rowid order is time order, except for imported runs and for servers whose clocks differ.
        """
        found = 0.0
        for row in self._fetch(f"SELECT {_EVENT} FROM history ORDER BY rowid DESC LIMIT {_LAST}"):
            # An event with a wrong checksum is skipped here; reading that run reports the damage.
            with suppress(StoreError):
                found = max(found, self._event(row).at)
        return found

    def module(self, digest: str) -> ModuleRow | None:
        rows = self._fetch(f"SELECT {', '.join(ModuleRow._fields)} FROM modules WHERE digest = ?", digest)
        return ModuleRow(*rows[0]) if rows else None

    def _event(self, row: Sequence[Any]) -> HistoryRow:
        *values, written = row
        # Types first: the checksum of a row with a wrong type could not be computed.
        if not _fits(values, _EVENT_TYPES):
            raise self.damaged("an event")
        event = HistoryRow(*values)
        # The second form is that of rows written by earlier versions.
        if written not in (event.seal, checksum(event.data, event.reply)):
            raise self.damaged(f"event {event.seq}")
        return event

    def _sealed(self, values: Sequence[Any]) -> RunRow:
        """A run's row whose checksum matches."""
        *facts, snapshot, written = values
        row = self._row(facts)
        row.snapshot = snapshot
        if not isinstance(snapshot, str) or written not in (row.seal, checksum(snapshot)):
            raise self.damaged(f"run {row.id}")
        return row

    def _row(self, row: Sequence[Any]) -> RunRow:
        if not _fits(row, _RUN_TYPES):
            raise self.damaged("a run")
        return RunRow(*row)

    def damaged(self, what: str) -> StoreError:
        return damaged(self._path, f"{what} is not what was written")

    def _rows(self, sql: str, *values: object) -> list[RunRow]:
        return [self._row(row) for row in self._fetch(sql, *values)]

    def _fetch_few(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Like `_fetch`, for short queries: writers may have to wait for it."""
        # After a write, the writer's connection has the pages cached; the reader's connection has to load them again.
        idle = self._writer.borrow() if self._writer is not None else None
        # A write is in progress, and it may take as long as a flush to disk.
        if idle is None or self._writer is None:
            return self._fetch(sql, *values)
        try:
            return self._asked(idle, [(sql, values)])[0]
        finally:
            self._writer.give_back()

    def _fetch(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self._fetch_all((sql, values))[0]

    def _fetch_all(self, *questions: tuple[str, Sequence[object]]) -> list[list[tuple[Any, ...]]]:
        """The results of all queries, read from the same commit."""
        with self._lock:
            return self._asked(self._connection, questions)

    def _asked(
        self, connection: sqlite3.Connection, questions: Sequence[tuple[str, Sequence[object]]]
    ) -> list[list[tuple[Any, ...]]]:
        """Run the queries. The caller makes sure that only one thread uses the connection."""
        with translated(self._path, self._files):
            # A single statement sees one commit anyway. Several need a transaction to see the same one.
            begin = len(questions) > 1 and not connection.in_transaction
            if begin:
                connection.execute("BEGIN")
            try:
                found = [connection.execute(sql, values).fetchall() for sql, values in questions]
            finally:
                if begin:
                    connection.execute("COMMIT")
        if self._files is not None:
            # After the read: if the file was replaced meanwhile, the result may be of the old one.
            self._files.check()
        return found


def _fits(row: Sequence[Any], types: Sequence[Any]) -> bool:
    """Whether the values have the types of their columns. SQLite stores any type anywhere: a bit flip can change it."""
    return all(map(isinstance, row, types))
