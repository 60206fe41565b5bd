"""Runs as they were last seen, so that the next call does not have to read all of them again."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from wfc_runtime.errors import StoreError
from wfc_runtime.machine.plain import size_of
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.store import Queries, RunRow

_MOST_RUNS = 256
_MOST_BYTES = 8 * 1024 * 1024


class SnapshotCache:
    """By run and version: a row that says another version than the one kept here is read from the store."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[RunRow, Snapshot]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def last_seen(self, run_id: str) -> RunRow | None:
        """A run's row as it was when last seen. Somebody else may have moved the run since then."""
        with self._lock:
            kept = self._kept.get(run_id)
            return kept[0].bare() if kept is not None else None

    def load(self, queries: Queries, row: RunRow) -> tuple[RunRow, Snapshot]:
        """A run's snapshot, with the row that it belongs to: the run may have moved since that was read."""
        with self._lock:
            kept = self._kept.get(row.id)
            if kept is not None and (kept[0].key, kept[0].version) == (row.key, row.version):
                self._kept.move_to_end(row.id)
                return row, kept[1]
        whole = queries.whole(row.key)
        if whole is None:
            raise StoreError("store_damaged", f"run {row.id} has vanished from the store")
        current, state = whole
        if current.id != row.id:
            raise queries.damaged(f"the place of run {row.id}")
        snapshot = Snapshot.from_json(current.snapshot, state)
        if size_of(state) != snapshot.size:
            # Of a field that is not found there is no checksum to be wrong.
            raise queries.damaged(f"the state of run {row.id}")
        self.keep(current, snapshot)
        return current, snapshot

    def keep(self, row: RunRow, snapshot: Snapshot) -> None:
        """Remember a run as it is on disk."""
        with self._lock:
            self._drop(row.id)
            if snapshot.status == "running" and snapshot.size < _MOST_BYTES:
                self._kept[row.id] = (row.bare(), snapshot)
                self._bytes += snapshot.size
            while len(self._kept) > _MOST_RUNS or self._bytes > _MOST_BYTES:
                self._drop(next(iter(self._kept)))

    def _drop(self, run_id: str) -> None:
        known = self._kept.pop(run_id, None)
        if known is not None:
            self._bytes -= known[1].size
