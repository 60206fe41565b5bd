"""One call's work on a family of runs: an event, and all that follows from it, step by step."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType

from wfc_runtime.contract import Json
from wfc_runtime.errors import DefinitionError, RefusedError, StepError, WfcError
from wfc_runtime.machine.events import Cancel, Child, ChildEnded, Clock, Event, Interrupted, Start
from wfc_runtime.machine.limits import Limits
from wfc_runtime.machine.step import NO_REASON, step
from wfc_runtime.registry import Module
from wfc_runtime.service.children import begin_child, why_unborn
from wfc_runtime.service.sqlite.ledger import Active, Ledger
from wfc_runtime.service.texts import STOPPED
from wfc_runtime.store import HistoryRow, RunRow

_NOTHING: Mapping[str, Json] = MappingProxyType({})


Served = Callable[[Active], Iterable[str]]
"""The pending visits of a run that the server itself is about to do."""


def nothing_served(active: Active) -> Iterable[str]:
    return ()


INTERRUPTED: dict[str, Json] = {
    "error": {
        "code": "interrupted",
        "message": "the server that was doing it ended before it was done",
        "hint": "It may be done in part: look before you do it again.",
    }
}


class Work:
    """Drives machines in memory. What is done is in the ledger, to be committed as a whole."""

    def __init__(
        self, ledger: Ledger, limits: Limits, served: Served = nothing_served, ahead: float = 0.0
    ) -> None:
        """`ahead`: how far the time of the runs is ahead of the clock."""
        self.ledger = ledger
        self.served = served
        self.queries = ledger.queries
        self.ahead = ahead
        self._limits = limits
        self._todo: deque[Callable[[], None]] = deque()
        self._asked = ""
        self.caught_up = False
        """Whether time alone has changed something."""
        self.refusal: RefusedError | None = None
        """A result that did not fit: to be said after what it changed is committed."""

    @property
    def at(self) -> float:
        """The time of the runs."""
        return self.ledger.at + self.ahead

    # -- events ----------------------------------------------------------------

    def start(self, row: RunRow, module: Module, inputs: dict[str, Json]) -> Active:
        active = self.ledger.create(row, module)
        about = {"version": module.workflow.version, "module": module.digest}
        self.apply(active, Start(at=self.at, id=active.next_event_id, inputs=inputs), more=about)
        return active

    def apply(
        self, active: Active, event: Event, visit: str | None = None, more: Mapping[str, Json] = _NOTHING
    ) -> HistoryRow:
        """One event, and everything that follows from it in the family."""
        entry = self._step(active, event, visit, more)
        self._settle()
        return entry

    def cancel(self, run_id: str, reason: str) -> None:
        self._stop(run_id, reason)
        self._settle()

    def _settle(self) -> None:
        while self._todo:
            self._todo.popleft()()

    def _step(
        self, active: Active, event: Event, visit: str | None = None, more: Mapping[str, Json] = _NOTHING
    ) -> HistoryRow:
        outcome = step(active.machine, active.snapshot, event, self._limits)
        self.refusal = outcome.refusal
        if outcome.snapshot.status != "running":
            more = {**more, **self._broken_off(active, visit)}
        entry = self.ledger.record(active, event, outcome, visit, more)
        why = STOPPED[active.now.status]
        self._todo += [partial(self._stop, child_id, why) for child_id in outcome.stopped]
        self._todo += [partial(self._start_child, active, child) for child in outcome.started]
        if active.now.status != "running":
            ended = (
                {"value": active.now.result}
                if active.now.status == "completed"
                else {"error": active.now.error}
            )
            served = active.now.room > 0
            tell = partial(self._tell_parent, active.row, active.parent, ended, outcome.secrets, served)
            self._todo.append(tell)
        return entry

    def _broken_off(self, active: Active, visit: str | None) -> dict[str, Json]:
        """What servers were doing for a run that ends: it is stopped, and may be done in part."""
        pending = active.snapshot.pending if active.snapshot is not None else ()
        found = [one for one in pending if one != visit and self.ledger.claim_of(active, one)]
        return {"broken_off": list[Json](found)} if found else {}

    # -- time ------------------------------------------------------------------

    def catch_up(self, asked: Active) -> None:
        """Work through what is due in a run's family: waits that are over, deadlines that have passed."""
        self._asked = asked.row.id
        self._bury(asked)
        for active in [asked] if _is_alone(asked) else self._due_in_family(asked.row):
            due = active.now.due
            if due is not None and due <= self.at:
                self.apply(active, Clock(at=self.at, id=active.next_event_id))
                self.caught_up = True

    def _bury(self, asked: Active) -> None:
        """Claims of servers that have died: what they were doing is over, and never done again unasked."""
        for claim in self.ledger.claims(asked.row):
            if self.ledger.owners.is_alive(claim.owner):
                continue
            row = self.queries.run_of_key(claim.run)
            if row is not None and not row.ended:
                try:
                    active = self.ledger.load(row)
                except DefinitionError:
                    continue
                if claim.visit in active.now.pending:
                    event = Interrupted(
                        at=self.at, id=active.next_event_id, visit=claim.visit, result=INTERRUPTED
                    )
                    self.apply(active, event, claim.visit)
                    self.caught_up = True
            self.ledger.release(claim)

    def _due_in_family(self, row: RunRow) -> Iterator[Active]:
        for key in self.queries.due(row.root, self.at):
            found = self.queries.run_of_key(key)
            try:
                if found is not None:
                    yield self.ledger.load(found)
            except DefinitionError:
                # Whoever asks for that run is told why it can't go on. The others can.
                continue

    def only_catch_up(self) -> Work:
        """The same work with nothing in it but what time alone has changed."""
        ledger = self.ledger
        anew = Ledger(ledger.queries, ledger.registry, ledger.cache, ledger.owners, ledger.at, None)
        fresh = Work(anew, self._limits, self.served, self.ahead)
        row = self.queries.run(self._asked)
        if row is not None:
            fresh.catch_up(fresh.ledger.load(row))
        return fresh

    # -- families --------------------------------------------------------------

    def _start_child(self, parent: Active, child: Child) -> None:
        if not _waits_for(parent, child.visit, child.index, child.id):
            return
        try:
            module = parent.module if child.workflow is None else self.ledger.registry.find(child.workflow)
            beginning = begin_child(module, child, parent.row.depth, self._limits)
        except (StepError, WfcError) as error:
            self._end_child(parent, child.visit, child.index, why_unborn(error, child, parent.now.mask))
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
        active = self.ledger.create(row, module, parent)
        start = Start(
            at=self.at,
            id=active.next_event_id,
            inputs=beginning.inputs,
            scope=child.scope,
            secrets=(*parent.now.secrets, *beginning.secrets),
        )
        self._step(active, start)

    def _stop(self, run_id: str, reason: str) -> None:
        """Cancel a run. Of a child, its parent hears only if it still waits for it."""
        active = self.ledger.known(run_id)
        if active is None:
            row = self.queries.run(run_id)
            if row is None or row.ended:
                return
            try:
                active = self.ledger.load(row)
            except DefinitionError:
                self._stop_without_module(row, reason)
                return
        if active.now.status == "running":
            self._step(active, Cancel(at=self.at, id=active.next_event_id, reason=reason))

    def _stop_without_module(self, row: RunRow, reason: str) -> None:
        error, children = self.ledger.close_without_module(row, reason or NO_REASON)
        self._todo += [partial(self._stop, child, STOPPED["cancelled"]) for child in children]
        self._todo.append(partial(self._tell_parent, row, None, {"error": error}))

    def _tell_parent(
        self,
        row: RunRow,
        parent: Active | None,
        result: dict[str, Json],
        secrets: tuple[str, ...] = (),
        served: bool = False,
    ) -> None:
        if row.visit is None or row.position is None:
            return
        if parent is None:
            assert row.parent is not None
            found = self.queries.run_of_key(row.parent)
            if found is None or found.ended or found.id in self.ledger.closed:
                return
            parent = self.ledger.load(found)
        if _waits_for(parent, row.visit, row.position, row.id):
            self._end_child(parent, row.visit, row.position, result, secrets, served)

    def _end_child(
        self,
        parent: Active,
        visit: str,
        index: int,
        result: dict[str, Json],
        secrets: tuple[str, ...] = (),
        served: bool = False,
    ) -> None:
        event = ChildEnded(
            at=self.at,
            id=parent.next_event_id,
            visit=visit,
            index=index,
            result=result,
            secrets=secrets,
            served=served,
        )
        self._step(parent, event, visit)


def _is_alone(active: Active) -> bool:
    """Whether there is nobody in the family whose time could have come but the run itself."""
    return active.row.parent is None and not any(one.children for one in active.now.pending.values())


def _waits_for(parent: Active, visit: str, index: int, child_id: str) -> bool:
    """Whether the parent still waits for this very run."""
    pending = parent.now.pending.get(visit)
    return pending is not None and pending.children[index : index + 1] == [{"run": child_id}]
