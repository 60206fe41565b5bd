"""The runs that one call has in its hands, and all that it changes about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from wfc_runtime.contract import Json
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.events import Clock, Event, Interrupted, Outcome
from wfc_runtime.machine.masking import hide_known
from wfc_runtime.machine.plain import to_text
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.registry import Module, Registry
from wfc_runtime.service.children import machine_of
from wfc_runtime.service.clock import later
from wfc_runtime.service.cover import Cover
from wfc_runtime.service.history import event_data, event_kind, kept_fields
from wfc_runtime.service.owners import Owners
from wfc_runtime.service.sqlite.cache import SnapshotCache
from wfc_runtime.service.sqlite.definitions import pinned_machine, pinned_module
from wfc_runtime.store import Changes, ClaimRow, HistoryRow, Queries, RunRow

_PENDING_SHOWN = 10
_NEW = -1
"""The version read of a run that is being created."""


@dataclass(slots=True)
class Active:
    """A run in memory."""

    row: RunRow
    module: Module
    machine: AnyMachine
    snapshot: Snapshot | None
    read_version: int
    parent: Active | None = None
    written: dict[str, int | None] = field(default_factory=dict)
    """The fields of the state that have changed; with a number, they are the result of that event."""

    @property
    def now(self) -> Snapshot:
        assert self.snapshot is not None
        return self.snapshot

    @property
    def next_event_id(self) -> str:
        return f"{self.row.id}/{self.row.version + 1}"


class Ledger:
    """Reads each run once and keeps book. Nothing is written here: `finish` gives what is to be committed."""

    def __init__(
        self,
        queries: Queries,
        registry: Registry,
        cache: SnapshotCache,
        owners: Owners,
        at: float,
        actor: str | None,
        trusts: bool = False,
    ) -> None:
        self.queries = queries
        self.registry = registry
        self.cache = cache
        self.owners = owners
        self.at = at
        """The time. It is not earlier than that of the last event of any run here, whose server may be ahead."""
        self.actor = actor
        self.trusts = trusts
        """Whether runs may be other than they are taken for here: only changes that could be committed prove it."""
        self._active: dict[str, Active] = {}
        self.closed: set[str] = set()
        """Runs that were ended without their module."""
        self.outcomes: list[tuple[RunRow, Outcome]] = []
        """What came of each event, in order."""
        self._changes = Changes()
        self._claims: dict[int, list[ClaimRow]] = {}

    def known(self, run_id: str) -> Active | None:
        return self._active.get(run_id)

    def find(self, run_id: str) -> Active:
        """A stored run. Of one that this process was the last to see, the store need not be asked first."""
        row = self.cache.last_seen(run_id) if self.trusts else None
        if row is None or row.may_be_served:
            self.trusts = False
            row = self.queries.require(run_id)
        return self.load(row)

    def load(self, row: RunRow) -> Active:
        """A stored run. Raises `DefinitionError` where its module can't be had."""
        active = self._active.get(row.id)
        if active is None:
            # The row may be older than what is read here, and of another version of the module.
            row, snapshot = self._read(row)
            module = pinned_module(self.registry, self.queries, self.cache, row)
            active = Active(row, module, pinned_machine(module, row), snapshot, row.version)
            self._active[row.id] = active
        return active

    def _read(self, row: RunRow) -> tuple[RunRow, Snapshot]:
        row, snapshot = self.cache.load(self.queries, row)
        self.at = later(self.at, row.updated)
        return row, snapshot

    def create(self, row: RunRow, module: Module, parent: Active | None = None) -> Active:
        row.created = self.at
        row.parent_row = parent.row if parent else None
        row.depth = parent.row.depth + 1 if parent else 1
        active = Active(row, module, machine_of(module, row.task, row.agent), None, _NEW, parent)
        self._active[row.id] = active
        self._changes.created.append(row)
        self._changes.modules[module.digest] = (module.workflow.name, module.text, self.at)
        return active

    def record(
        self, active: Active, event: Event, outcome: Outcome, visit: str | None, more: Mapping[str, Json]
    ) -> HistoryRow:
        """An event that a run has worked through."""
        self.outcomes.append((active.row, outcome))
        cover = Cover(active.machine, active.snapshot, outcome)
        active.snapshot = outcome.snapshot
        kept = kept_fields(event, outcome, cover)
        for name in outcome.written:
            active.written[name] = active.row.version + 1 if name in kept else None
        active.written.update(dict.fromkeys(outcome.forgotten))
        kind, data = event_kind(event, outcome), event_data(event, outcome, more, cover, kept)
        actor = None if isinstance(event, (Clock, Interrupted)) else self.actor
        return self._enter(active.row, active.now, HistoryRow(0, self.at, kind, data, visit, actor))

    def note(self, active: Active, kind: str, data: dict[str, Json]) -> HistoryRow:
        """Something that has happened to a run without moving it."""
        return self._enter(
            active.row, active.now, HistoryRow(0, self.at, kind, to_text(data), None, self.actor)
        )

    # -- what servers do by themselves -----------------------------------------

    def claims(self, row: RunRow) -> list[ClaimRow]:
        """What servers are doing for a run's family. A run that is being created has no claims yet."""
        if row.root not in self._claims:
            known = row.root and row.may_be_served
            self._claims[row.root] = self.queries.claims(row.root) if known else []
        return self._claims[row.root]

    def claim_of(self, active: Active, visit: str) -> ClaimRow | None:
        key = active.row.key
        return next((one for one in self.claims(active.row) if (one.run, one.visit) == (key, visit)), None)

    def claim(self, active: Active, visit: str, owner: str) -> None:
        claim = ClaimRow(active.row.root, active.row.key, visit, self.at, owner)
        self._changes.claims.append((claim, active.read_version))

    def release(self, claim: ClaimRow) -> None:
        self._changes.released.append(claim)

    def require_free(self, active: Active, visit: str) -> None:
        """Nobody may have claimed the visit by the time that the changes are written."""
        if active.row.may_be_served:
            self._changes.free.append((active.row, visit))

    # -- endings ---------------------------------------------------------------

    def close_without_module(self, row: RunRow, reason: str) -> tuple[dict[str, Json], list[str]]:
        """Cancel a run with which nothing else can be done. Gives its error, and the ids of its children."""
        row, known = self._read(row)
        snapshot, read_version = known.copy(), row.version
        children = [child for one in snapshot.pending.values() for child in one.children if child]
        stopped = [str(child["run"]) for child in children if "run" in child]
        snapshot.pending, snapshot.configuration, snapshot.status = {}, ["cancelled"], "cancelled"
        error = snapshot.error = {"code": "cancelled", "message": snapshot.mask.message(reason)}
        forgotten = snapshot.forget_secrets(hide_known(snapshot.inputs, snapshot.secrets))
        row.fields = {name: to_text(snapshot.state[name]) for name in forgotten}
        data = to_text({"reason": error["message"], "status": "cancelled"})
        self._enter(row, snapshot, HistoryRow(0, self.at, "cancelled", data, None, self.actor))
        row.snapshot = snapshot.to_json(with_state=False)
        self._changes.updated[row.key] = (row, read_version)
        self.closed.add(row.id)
        return error, stopped

    def _enter(self, row: RunRow, snapshot: Snapshot, entry: HistoryRow) -> HistoryRow:
        row.version += 1
        row.status = snapshot.status
        row.due = snapshot.due
        row.pending = " ".join(list(snapshot.pending)[:_PENDING_SHOWN])
        row.updated = self.at
        entry.seq = row.version
        self._changes.history.append((row, entry))
        return entry

    def finish(self) -> Changes:
        for active in self._moved():
            row, snapshot = active.row, active.now
            row.snapshot = snapshot.to_json(with_state=False)
            # In the order of the state, which is that of first writing.
            for name, value in snapshot.state.items():
                if active.read_version == _NEW or name in active.written:
                    row.fields[name] = active.written.get(name) or to_text(value)
            if active.read_version != _NEW:
                self._changes.updated[row.key] = (row, active.read_version)
        return self._changes

    def remember(self) -> None:
        """All of it is on disk: the next call need not read it."""
        for active in self._moved():
            self.cache.keep(active.row, active.now)

    def _moved(self) -> list[Active]:
        return [active for active in self._active.values() if active.row.version != active.read_version]
