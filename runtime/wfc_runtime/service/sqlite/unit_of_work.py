"""The runs that one call has loaded, its changes to them, and the snapshot cache."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock

from wfc_runtime.contract import Json
from wfc_runtime.errors import DefinitionError, StoreError, WfcError
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.events import Clock, Event, Interrupted, Outcome, Spent
from wfc_runtime.machine.redaction import hide_known
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.values import size_of, to_text
from wfc_runtime.registry import Module, Registry
from wfc_runtime.service.answers import asks_person
from wfc_runtime.service.children import machine_of, missing_steps
from wfc_runtime.service.clock import later
from wfc_runtime.service.history import EventRedaction, event_data, event_kind, kept_fields
from wfc_runtime.service.server_liveness import LiveServers
from wfc_runtime.store import Changes, ClaimRow, HistoryRow, ModuleRow, Queries, RunRow

# A cache of snapshots, so that the next call on a run does not have to read all of its fields again.

# Bounded in both ways: runs are usually small, but one may be as large as the state limit.
_MOST_RUNS = 256
_MOST_BYTES = 8 * 1024 * 1024


class SnapshotCache:
    """Snapshots by run and version: if the store has another version, the snapshot is read again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[RunRow, Snapshot]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def last_seen(self, run_id: str) -> RunRow | None:
        """A run's row as last seen. Another process may have changed the run since."""
        with self._lock:
            kept = self._kept.get(run_id)
            # A copy, since the caller changes the row before the commit, which may fail.
            return kept[0].bare() if kept is not None else None

    def load(self, queries: Queries, row: RunRow) -> tuple[RunRow, Snapshot]:
        """A run's snapshot with the row that belongs to it, which may be newer than the given one."""
        with self._lock:
            kept = self._kept.get(row.id)
            # The key too: a run that was erased and imported again may have the same id and version.
            if kept is not None and (kept[0].key, kept[0].version) == (row.key, row.version):
                self._kept.move_to_end(row.id)
                return row, kept[1]
        whole = queries.whole(row.key)
        if whole is None:
            raise StoreError("store_damaged", f"run {row.id} has disappeared from the store")
        current, state = whole
        # Rows have checksums, but a row that was overwritten by another valid one has a right one.
        if current.id != row.id:
            raise queries.damaged(f"the place of run {row.id}")
        snapshot = Snapshot.from_json(current.snapshot, state)
        if size_of(state) != snapshot.size:
            # The size detects a missing field, which has no checksum that could be wrong.
            raise queries.damaged(f"the state of run {row.id}")
        self.keep(current, snapshot)
        return current, snapshot

    def keep(self, row: RunRow, snapshot: Snapshot) -> None:
        """Cache a run as it is on disk. Ended runs are not cached: they are rarely read again."""
        with self._lock:
            # First, so that a run which has ended or grown too large does not stay in the cache in its old form.
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


# The machine of a stored run. A run continues with the version that it started with.


def pinned_module(registry: Registry, queries: Queries, cache: SnapshotCache, row: RunRow) -> Module:
    """The version that a run is pinned to. Raises `DefinitionError`, which names the remedy, if it can't be loaded."""
    # The folder before the store: most runs use the current version, which is loaded already.
    known = registry.of_digest(row.digest) or _current(registry, row)
    if known is not None:
        return known
    kept = queries.module(row.digest)
    if kept is None:
        # The snapshot is needed for the hint: whether the current version has the steps that it waits in.
        raise _stranded(registry, cache.load(queries, row)[1], row, "it is not in the store")
    try:
        return registry.pin(row.digest, kept.text, kept.line_map)
    except DefinitionError as error:
        raise _stranded(registry, cache.load(queries, row)[1], row, error.message) from error


def module_row(module: Module, at: float) -> ModuleRow:
    """A version as the store keeps it, for the runs pinned to it."""
    return ModuleRow(module.workflow.name, module.text, module.line_map, at)


def _current(registry: Registry, row: RunRow) -> Module | None:
    """The version in the folder, if it is still the one that the run is pinned to."""
    try:
        module = registry.find(row.workflow)
    except WfcError:
        return None
    return module if module.digest == row.digest else None


def pinned_machine(module: Module, row: RunRow) -> AnyMachine:
    return machine_of(module, row.task, row.agent)


def _stranded(registry: Registry, snapshot: Snapshot, row: RunRow, why: str) -> DefinitionError:
    move = f"`wfc runs migrate {row.id}` moves it to the current version"
    end = f'cancel_workflow(workflow_id="{row.id}") ends it'
    try:
        gone = missing_steps(registry.find(row.workflow), row, snapshot)
        hint = f"{move}; {end}."
        if gone:
            names = ", ".join(f"`{name}`" for name in gone)
            hint = f"It can't move to the current version, which has no step {names}; {end}."
    except WfcError as error:
        hint = f"The current version can't be used either: {error.message}; {end}."
    return DefinitionError(
        "definition_missing",
        f"the version of `{row.workflow}` that run {row.id} started with ({row.digest[:12]}) "
        f"can't be used: {why}",
        hint,
    )


def gates_of(machine: AnyMachine, snapshot: Snapshot) -> frozenset[str]:
    """The visits of a run that ask a person."""
    return frozenset(visit for visit, one in snapshot.pending.items() if asks_person(machine, one))


# The unit of work.

_PENDING_SHOWN = 10
_NEW = -1
"""The read version of a run that is being created."""


@dataclass(slots=True)
class LoadedRun:
    """A run in memory."""

    row: RunRow
    module: Module
    machine: AnyMachine
    snapshot: Snapshot | None
    read_version: int
    parent: LoadedRun | None = None
    written: dict[str, int | None] = field(default_factory=dict)
    """The changed state fields; a number means that the field is the result of that event."""
    gates: frozenset[str] = frozenset()
    """The visits that asked a person when it was read."""

    @property
    def now(self) -> Snapshot:
        assert self.snapshot is not None
        return self.snapshot

    @property
    def next_event_id(self) -> str:
        return f"{self.row.id}/{self.row.version + 1}"


class UnitOfWork:
    """Reads each run once and records changes. It writes nothing: `finish` returns what to commit."""

    def __init__(
        self,
        queries: Queries,
        registry: Registry,
        cache: SnapshotCache,
        owners: LiveServers,
        at: float,
        actor: str | None,
        trusts: bool = False,
    ) -> None:
        self.queries = queries
        self.registry = registry
        self.cache = cache
        self.owners = owners
        self.at = at
        """The time. Never earlier than the last event of any loaded run, whose server's clock may be ahead."""
        self.actor = actor
        self.trusts = trusts
        """Whether runs come from the cache unchecked: only a successful commit proves that they are current."""
        self._loaded: dict[str, LoadedRun] = {}
        self.closed: set[str] = set()
        """Runs that were cancelled without their module."""
        self.outcomes: list[tuple[RunRow, Outcome]] = []
        """The outcome of each event, in order."""
        self._changes = Changes()
        self._claims: dict[int, list[ClaimRow]] = {}

    def known(self, run_id: str) -> LoadedRun | None:
        return self._loaded.get(run_id)

    def find(self, run_id: str) -> LoadedRun:
        """A stored run. If this process was the last to change it, the store is not asked first."""
        row = self.cache.last_seen(run_id) if self.trusts else None
        # Another process may have claimed an action of such a run without changing its version.
        # Whether a family has claims was known when the row was read, and may have changed.
        if row is None or row.may_be_served:
            self.trusts = False
            row = self.queries.require(run_id)
        return self.load(row)

    def load(self, row: RunRow) -> LoadedRun:
        """A stored run. Raises `DefinitionError` if its module can't be loaded."""
        loaded = self._loaded.get(row.id)
        if loaded is None:
            # The given row may be older than the snapshot, and pinned to another version.
            row, snapshot = self._read(row)
            module = pinned_module(self.registry, self.queries, self.cache, row)
            machine = pinned_machine(module, row)
            loaded = LoadedRun(row, module, machine, snapshot, row.version, gates=gates_of(machine, snapshot))
            self._loaded[row.id] = loaded
        return loaded

    def _read(self, row: RunRow) -> tuple[RunRow, Snapshot]:
        row, snapshot = self.cache.load(self.queries, row)
        self.at = later(self.at, row.updated)
        return row, snapshot

    def create(self, row: RunRow, module: Module, parent: LoadedRun | None = None) -> LoadedRun:
        row.created = self.at
        row.parent_row = parent.row if parent else None
        row.depth = parent.row.depth + 1 if parent else 1
        loaded = LoadedRun(row, module, machine_of(module, row.task, row.agent), None, _NEW, parent)
        self._loaded[row.id] = loaded
        self._changes.created.append(row)
        self._changes.modules[module.digest] = module_row(module, self.at)
        return loaded

    def record(
        self, loaded: LoadedRun, event: Event, outcome: Outcome, visit: str | None, more: Mapping[str, Json]
    ) -> HistoryRow:
        """Record an event that a run has processed."""
        self.outcomes.append((loaded.row, outcome))
        # Made before the snapshot is replaced: it must know the secrets from before and after the event.
        redaction = EventRedaction(loaded.machine, loaded.snapshot, outcome)
        loaded.snapshot = outcome.snapshot
        kept = kept_fields(event, outcome, redaction)
        for name in outcome.written:
            # A field that equals the result of an event is stored as a reference to it, not as a second copy.
            loaded.written[name] = loaded.row.version + 1 if name in kept else None
        # Fields that were redacted at the end of the run have to be written again.
        loaded.written.update(dict.fromkeys(outcome.forgotten))
        kind, data = event_kind(event, outcome), event_data(event, outcome, more, redaction, kept)
        # Time and dead servers have no actor, even if a call triggered the event.
        actor = None if isinstance(event, (Clock, Interrupted, Spent)) else self.actor
        return self._enter(loaded.row, loaded.now, HistoryRow(0, self.at, kind, data, visit, actor))

    def note(
        self, loaded: LoadedRun, kind: str, data: dict[str, Json], visit: str | None = None
    ) -> HistoryRow:
        """Record something that happened to a run without an event of its machine."""
        return self._enter(
            loaded.row, loaded.now, HistoryRow(0, self.at, kind, to_text(data), visit, self.actor)
        )

    # -- claims ----------------------------------------------------------------

    def claims(self, row: RunRow) -> list[ClaimRow]:
        """The claims of a run's family. A run that is being created has none."""
        if row.root not in self._claims:
            # A run that is being created has no key yet.
            known = row.root and row.may_be_served
            self._claims[row.root] = self.queries.claims(row.root) if known else []
        return self._claims[row.root]

    def claim_of(self, loaded: LoadedRun, visit: str) -> ClaimRow | None:
        key = loaded.row.key
        return next((one for one in self.claims(loaded.row) if (one.run, one.visit) == (key, visit)), None)

    def claim(self, loaded: LoadedRun, visit: str, owner: str, returned: bool = False) -> None:
        claim = ClaimRow(loaded.row.root, loaded.row.key, visit, self.at, owner, returned)
        # With the version that was read: the commit refuses the claim if the run has moved since.
        self._changes.claims.append((claim, loaded.read_version))

    def release(self, claim: ClaimRow) -> None:
        self._changes.released.append(claim)

    def require_free(self, loaded: LoadedRun, visit: str) -> None:
        """Make the commit fail if the visit has been claimed by then."""
        # A family without claims is checked by the update itself, see `_UNSERVED`.
        if loaded.row.may_be_served:
            self._changes.free.append((loaded.row, visit))

    # -- endings ---------------------------------------------------------------

    def close_without_module(self, row: RunRow, reason: str) -> tuple[dict[str, Json], list[str]]:
        """Cancel a run whose module can't be loaded. Returns its error, and the ids of its children."""
        row, known = self._read(row)
        snapshot, read_version = known.copy(), row.version
        children = [child for one in snapshot.pending.values() for child in one.children if child]
        stopped = [str(child["run"]) for child in children if "run" in child]
        snapshot.pending, snapshot.configuration, snapshot.status = {}, ["cancelled"], "cancelled"
        error = snapshot.error = {"code": "cancelled", "message": snapshot.mask.message(reason)}
        # Without the module it is unknown which inputs are secret, so they are found by value.
        forgotten = snapshot.forget_secrets(hide_known(snapshot.inputs, snapshot.secrets))
        row.fields = {name: to_text(snapshot.state[name]) for name in forgotten}
        data = to_text({"reason": error["message"], "status": "cancelled"})
        self._enter(row, snapshot, HistoryRow(0, self.at, "cancelled", data, None, self.actor))
        row.snapshot = snapshot.to_json(with_state=False)
        # Put into the changes directly: the run is not among the loaded ones, since it has no machine.
        self._changes.updated[row.key] = (row, read_version)
        self._changes.closed_gates += [(row, visit) for visit in known.pending]
        self.closed.add(row.id)
        return error, stopped

    def _enter(self, row: RunRow, snapshot: Snapshot, entry: HistoryRow) -> HistoryRow:
        # One version per history entry: the version is the number of the last event.
        row.version += 1
        row.turned = row.turned or row.status != snapshot.status
        row.status = snapshot.status
        row.due = snapshot.due
        # Lists show the first few; the snapshot has all of them.
        row.pending = " ".join(list(snapshot.pending)[:_PENDING_SHOWN])
        row.updated = self.at
        entry.seq = row.version
        self._changes.history.append((row, entry))
        return entry

    def finish(self) -> Changes:
        for loaded in self._moved():
            row, snapshot = loaded.row, loaded.now
            row.snapshot = snapshot.to_json(with_state=False)
            # In the order of the state, which is the order in which fields were first written.
            for name, value in snapshot.state.items():
                if loaded.read_version == _NEW or name in loaded.written:
                    # A number refers to an event with that result; its text is not stored twice.
                    row.fields[name] = loaded.written.get(name) or to_text(value)
            if loaded.read_version != _NEW:
                self._changes.updated[row.key] = (row, loaded.read_version)
            gates = gates_of(loaded.machine, snapshot)
            self._changes.gates += [(row, visit, self.at) for visit in sorted(gates - loaded.gates)]
            self._changes.closed_gates += [(row, visit) for visit in sorted(loaded.gates - gates)]
        return self._changes

    def remember(self) -> None:
        """Cache the changed runs, after the commit."""
        for loaded in self._moved():
            self.cache.keep(loaded.row, loaded.now)

    def _moved(self) -> list[LoadedRun]:
        return [loaded for loaded in self._loaded.values() if loaded.row.version != loaded.read_version]
