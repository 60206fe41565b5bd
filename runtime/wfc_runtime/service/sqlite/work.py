"""One call's work on a family of runs: read, step by step through all that follows, and collected as `Changes`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from wfc_runtime.contract import Json
from wfc_runtime.errors import DefinitionError, RefusedError, StepError, WfcError
from wfc_runtime.machine.chart import Machine
from wfc_runtime.machine.events import Cancel, Child, ChildEnded, Clock, Event, Outcome, Start
from wfc_runtime.machine.limits import Limits
from wfc_runtime.machine.plain import to_text
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.step import NO_REASON, step
from wfc_runtime.registry import Module, Registry
from wfc_runtime.service.children import begin_child, machine_of
from wfc_runtime.service.history import event_data, event_kind
from wfc_runtime.service.sqlite.definitions import pinned_machine, pinned_module
from wfc_runtime.store import Changes, HistoryRow, Queries, RunRow

NOTHING: Mapping[str, Json] = MappingProxyType({})
_PENDING_SHOWN = 200


@dataclass(slots=True)
class Active:
    """A run in memory."""

    row: RunRow
    module: Module
    machine: type[Machine[Any, Any]]
    snapshot: Snapshot | None
    parent: Active | None
    read_version: int

    @property
    def now(self) -> Snapshot:
        assert self.snapshot is not None
        return self.snapshot


class Work:
    """Nothing is written here: the changes are committed together when all of it is done."""

    def __init__(
        self, queries: Queries, registry: Registry, limits: Limits, at: float, actor: str | None
    ) -> None:
        self.queries = queries
        self.at = at
        self._registry = registry
        self._limits = limits
        self._actor = actor
        self._active: dict[str, Active] = {}
        self._todo: deque[Callable[[], None]] = deque()
        self.changes = Changes()
        self.root = 0
        self.caught_up = False
        """Whether time alone has changed something."""
        self.refusal: RefusedError | None = None
        """A result that did not fit: to be said after what it changed is committed."""

    # -- runs ------------------------------------------------------------------

    def load(self, row: RunRow) -> Active:
        """A stored run. Raises `DefinitionError` where its module can't be had."""
        known = self._active.get(row.id)
        if known is not None:
            return known
        module = pinned_module(self._registry, self.queries, row)
        snapshot = Snapshot.from_json(row.snapshot)
        active = Active(row, module, pinned_machine(module, row), snapshot, None, row.version)
        self._active[row.id] = active
        return active

    def create(self, row: RunRow, module: Module, parent: Active | None = None) -> Active:
        row.created = self.at
        row.parent_row = parent.row if parent else None
        row.depth = parent.row.depth + 1 if parent else 1
        active = Active(row, module, machine_of(module, row.task, row.agent), None, parent, -1)
        self._active[row.id] = active
        self.changes.created.append(row)
        self.changes.modules[module.digest] = (module.workflow.name, module.text)
        return active

    def catch_up(self, root: int) -> None:
        """Work through what is due in a family: waits that are over, deadlines that have passed."""
        self.root = root
        for key in self.queries.due(root, self.at):
            row = self.queries.run_of_key(key)
            if row is None:
                continue
            try:
                active = self.load(row)
            except DefinitionError:
                # Whoever asks for that run is told why it can't go on. Its family can.
                continue
            due = active.now.due
            if due is not None and due <= self.at:
                self.apply(active, Clock(at=self.at, id=self.event_id(active)))
                self.caught_up = True

    # -- events ----------------------------------------------------------------

    def event_id(self, active: Active) -> str:
        return f"{active.row.id}/{active.row.version + 1}"

    def apply(
        self, active: Active, event: Event, visit: str | None = None, more: Mapping[str, Json] = NOTHING
    ) -> HistoryRow:
        """One event, and everything that follows from it in the family."""
        entry = self._step(active, event, visit, more)
        self.settle()
        return entry

    def settle(self) -> None:
        while self._todo:
            self._todo.popleft()()

    def _step(
        self, active: Active, event: Event, visit: str | None = None, more: Mapping[str, Json] = NOTHING
    ) -> HistoryRow:
        outcome = step(active.machine, active.snapshot, event, self._limits)
        self.refusal = outcome.refusal
        entry = self._record(active, event, outcome, visit, more)
        self._todo += [partial(self.stop, child_id, "its parent went on") for child_id in outcome.stopped]
        self._todo += [partial(self._start, active, child) for child in outcome.started]
        if active.now.status != "running":
            self._todo.append(partial(self._tell_parent, active))
        return entry

    def _record(
        self, active: Active, event: Event, outcome: Outcome, visit: str | None, more: Mapping[str, Json]
    ) -> HistoryRow:
        active.snapshot = outcome.snapshot
        kind, data = event_kind(event, outcome), event_data(event, outcome, more)
        actor = None if isinstance(event, Clock) else self._actor
        return self._enter(active.row, outcome.snapshot, HistoryRow(0, self.at, kind, data, visit, actor))

    def _enter(self, row: RunRow, snapshot: Snapshot, entry: HistoryRow) -> HistoryRow:
        row.version += 1
        row.status = snapshot.status
        row.due = snapshot.due
        row.pending = " ".join(snapshot.pending)[:_PENDING_SHOWN]
        row.updated = self.at
        entry.seq = row.version
        self.changes.history.append((row, entry))
        return entry

    # -- families --------------------------------------------------------------

    def _start(self, parent: Active, child: Child) -> None:
        if not _is_child_of(parent, child.visit, child.index, child.id):
            return
        try:
            module = parent.module if child.workflow is None else self._registry.find(child.workflow)
            if parent.row.depth >= self._limits.depth:
                raise StepError("depth", f"runs would be nested more than {self._limits.depth} deep")
            beginning = begin_child(module, child, self._limits)
        except (StepError, WfcError) as error:
            record = StepError(error.code, error.message, error.hint).record(child.visit)
            self._end_child(parent, child.visit, child.index, {"error": record})
            return
        row = RunRow(
            id=child.id,
            workflow=module.workflow.name,
            digest=module.digest,
            visit=child.visit,
            position=child.index,
            task=child.task,
            agent=child.agent,
        )
        active = self.create(row, module, parent)
        start = Start(at=self.at, id=self.event_id(active), inputs=beginning.inputs, scope=child.scope)
        self._step(active, start)

    def stop(self, run_id: str, reason: str) -> None:
        """Cancel a run. Of a child, its parent hears only if it still waits for it."""
        active = self._active.get(run_id)
        if active is None:
            row = self.queries.run(run_id)
            if row is None or row.ended:
                return
            try:
                active = self.load(row)
            except DefinitionError:
                self._stop_without_module(row, reason)
                return
        if active.now.status == "running":
            self._step(active, Cancel(at=self.at, id=self.event_id(active), reason=reason))

    def _stop_without_module(self, row: RunRow, reason: str) -> None:
        """A run can be ended even if nothing else can be done with it."""
        snapshot, read_version = Snapshot.from_json(row.snapshot), row.version
        children = [
            child["run"]
            for one in snapshot.pending.values()
            for child in one.children
            if child and "run" in child
        ]
        snapshot.pending, snapshot.configuration = {}, ["cancelled"]
        snapshot.status = "cancelled"
        snapshot.error = {"code": "cancelled", "message": reason or NO_REASON}
        data = to_text({"reason": reason, "children": children})
        self._enter(row, snapshot, HistoryRow(0, self.at, "cancelled", data, None, self._actor))
        row.snapshot = snapshot.to_json()
        self.changes.updated[row.key] = (row, read_version)
        self._todo += [partial(self.stop, str(child), "its parent was cancelled") for child in children]

    def _tell_parent(self, active: Active) -> None:
        row, snapshot = active.row, active.now
        if row.visit is None or row.position is None:
            return
        parent = active.parent
        if parent is None:
            assert row.parent is not None
            parent_row = self.queries.run_of_key(row.parent)
            if parent_row is None:
                return
            parent = self.load(parent_row)
        if _is_child_of(parent, row.visit, row.position, row.id):
            ended = snapshot.status == "completed"
            result = {"value": snapshot.result} if ended else {"error": snapshot.error}
            self._end_child(parent, row.visit, row.position, result)

    def _end_child(self, parent: Active, visit: str, index: int, result: dict[str, Json]) -> None:
        event = ChildEnded(at=self.at, id=self.event_id(parent), visit=visit, index=index, result=result)
        self._step(parent, event, visit)

    # -- the end ---------------------------------------------------------------

    def now(self, run_id: str) -> Snapshot | None:
        """A run as this work has left it, if it has touched it."""
        active = self._active.get(run_id)
        return active.snapshot if active else None

    def finish(self) -> Changes:
        """What there is to commit."""
        for active in self._active.values():
            row = active.row
            if row.version == active.read_version or active.snapshot is None:
                continue
            row.snapshot = active.snapshot.to_json()
            if active.read_version >= 0:
                self.changes.updated[row.key] = (row, active.read_version)
        return self.changes


def _is_child_of(parent: Active, visit: str, index: int, child_id: str) -> bool:
    """Whether the parent still waits for this very run."""
    pending = parent.now.pending.get(visit)
    return (
        pending is not None and index < len(pending.children) and pending.children[index] == {"run": child_id}
    )
