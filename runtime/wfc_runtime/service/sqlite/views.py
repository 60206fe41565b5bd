"""The calls of the service on SQLite that only read: lists, the inbox, the feed of changes, and views of one run."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from zlib import crc32

from wfc_runtime.contract import ENDED, Json
from wfc_runtime.errors import NotFoundError, RequestError, WfcError
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.interpreter import structure_of
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.values import Limits
from wfc_runtime.registry import Module, Registry
from wfc_runtime.service.history import shown_event, timestamp
from wfc_runtime.service.ids import check_name, check_run_id, check_step_id
from wfc_runtime.service.interface import Reply, actions_of
from wfc_runtime.service.journal import (
    Book,
    whole_book,
)
from wfc_runtime.service.journal_reports import (
    Subject,
)
from wfc_runtime.service.path import Path
from wfc_runtime.service.previews import migration_reply, preview_reply
from wfc_runtime.service.replay import replayed
from wfc_runtime.service.replies import history_reply, listed_run, state_reply, statuses_of
from wfc_runtime.service.server_liveness import LiveServers
from wfc_runtime.service.sqlite.unit_of_work import SnapshotCache, pinned_machine, pinned_module
from wfc_runtime.service.views import (
    MOST_LISTED,
    checked_kinds,
    child_row,
    counts_reply,
    folded_state,
    is_wanted,
    newest_first,
    path_reply,
    relative,
    starter_of,
    state_reply_at,
    visits_of,
)
from wfc_runtime.store import HistoryRow, Queries, RunRow, Store
from wfc_runtime.store.database import damaged
from wfc_runtime.store.queries import ListFilter

_MOST_EVENTS = 2**62
"""More than any run has, and within SQLite's integers."""
_BURST = 500
"""The maximum number of changed runs in one answer of the feed. After more, a page reloads everything."""
_PATHS = 64


class SqliteViews:
    """Everything here sees the last commit, whichever process made it, and changes nothing."""

    store: Store
    registry: Registry
    limits: Limits
    owners: LiveServers
    _cache: SnapshotCache
    _clock: Callable[[], float]

    def __init__(self) -> None:
        self._paths: OrderedDict[str, Path] = OrderedDict()
        self._paths_lock = Lock()

    def status(self, run: str, *, masked: bool = False) -> Reply:
        raise NotImplementedError

    @property
    def _queries(self) -> Queries:
        return self.store.queries

    # -- lists -----------------------------------------------------------------

    def runs(
        self,
        status: str | None = None,
        *,
        limit: int = 50,
        before: str | None = None,
        workflow: str | None = None,
        beginning: str | None = None,
    ) -> Reply:
        statuses = statuses_of(status)
        # One row more than asked for tells whether there is a further page.
        count = _count(limit)
        earlier = None if before is None else self._queries.require(check_run_id(before)).key
        chosen = ListFilter(workflow and check_name(workflow), beginning and check_run_id(beginning))
        rows = self._queries.listed(statuses, count + 1, earlier, chosen)
        executed = self._executed() if any(row.pending for row in rows) else {}
        found = [listed_run(row, self._clock(), executed.get(row.key, ())) for row in rows[:count]]
        reply: Reply = {"runs": found}
        if len(rows) > count:
            reply["next"] = f'list_runs(status="{status or "open"}", before="{rows[count - 1].id}")'
        return reply

    def _executed(self) -> dict[int, set[str]]:
        """The visits that servers are executing, by run. A claim of a server that has died does not count."""
        found: dict[int, set[str]] = {}
        alive: dict[str, bool] = {}
        for claim in self._queries.all_claims():
            if claim.owner not in alive:
                alive[claim.owner] = self.owners.is_alive(claim.owner)
            if alive[claim.owner]:
                found.setdefault(claim.run, set()).add(claim.visit)
        return found

    def ids(self, beginning: str, limit: int) -> list[str]:
        return self._queries.ids(check_run_id(beginning), limit)

    def counts(self) -> Reply:
        return counts_reply(self._queries.counts(), self._queries.count_gates())

    def waiting(self, *, limit: int = 50, after: str | None = None) -> Reply:
        count = _count(limit)
        gates = self._queries.gates(count + 1, _gate_cursor(after))
        found = []
        for gate in gates[:count]:
            row = self._queries.run_of_key(gate.run)
            if row is not None:
                found += self._gate(row, gate.visit, gate.since)
        reply: Reply = {"waiting": found, "total": self._queries.count_gates()}
        if len(gates) > count:
            last = gates[count - 1]
            # `repr` keeps all digits of the time, so that the cursor finds exactly this row again.
            reply["after"] = f"{last.since!r} {last.run} {last.visit}"
        return reply

    def _gate(self, row: RunRow, visit: str, since: float) -> list[Reply]:
        """An entry of the inbox; none if the visit has just been answered, or its run can't be loaded."""
        try:
            status = self.status(row.id, masked=True)
        except WfcError:
            # Its own page says why. It must not hide the others.
            return []
        actions = [one for one in actions_of(status) if one["step_id"] == visit]
        root = row if row.root == row.key else self._queries.run_of_key(row.root)
        # The inbox lists children as well, and a person knows the root run.
        entry = {**relative(row), "since": timestamp(since)}
        if root is not None and root is not row:
            entry["root"] = relative(root)
        return [{**entry, "action": one} for one in actions]

    # -- the feed --------------------------------------------------------------

    def changes(self, after: str | None = None, *, watching: Sequence[str] = ()) -> Reply:
        row, seal, claims = _feed_cursor(after)
        changed, known, last, last_seal, claimed = self._queries.feed(row, _BURST + 1)
        # A claim changes no row of the history, so the feed has its own mark for it.
        mark = crc32(claimed.encode("utf-8", "surrogatepass"))
        reply: Reply = {"cursor": f"{last}-{last_seal}-{mark}", "changes": []}
        if after is None:
            return reply
        # Runs that were deleted take their rows with them, and new rows get the same numbers again.
        if last < row or known != seal or len(changed) > _BURST:
            return {**reply, "resync": True}
        for key, _ in changed:
            found = self._queries.run_of_key(key)
            if found is not None:
                reply["changes"].append(self._change(found))
        return reply if mark == claims else {**reply, "claims": True}

    def _change(self, row: RunRow) -> dict[str, Json]:
        root = row if row.root == row.key else self._queries.run_of_key(row.root)
        shown = {"run": row.id, "root": root.id if root else row.id, "seq": row.version}
        status = "pending_action" if row.status == "running" else row.status
        return {**shown, "status": status, "workflow": row.workflow, "pending": row.pending.split()}

    # -- one run ---------------------------------------------------------------

    def state(self, run: str, fields: Sequence[str] | None = None) -> Reply:
        row = self._queries.require(check_run_id(run))
        return state_reply(*self._cache.load(self._queries, row), fields)

    def preview(self, run: str, step_id: str) -> Reply:
        _, machine, snapshot = self.definition(run)
        return preview_reply(run, machine, snapshot, check_step_id(step_id), self._clock(), self.limits)

    def migration(self, run: str) -> Reply:
        row, module, _, snapshot = self._whole(run)
        return migration_reply(row, snapshot, module, self.registry.find(row.workflow))

    def versions(self, workflow: str) -> Reply:
        found = self._queries.versions(check_name(workflow))
        return {
            "workflow": workflow,
            "versions": [{"digest": digest, "runs": runs} for digest, runs in found],
        }

    def definition(self, run: str) -> tuple[Module, AnyMachine, Snapshot]:
        _, module, machine, snapshot = self._whole(run)
        return module, machine, snapshot

    def _whole(self, run: str) -> tuple[RunRow, Module, AnyMachine, Snapshot]:
        row, snapshot = self._cache.load(self._queries, self._queries.require(check_run_id(run)))
        module = pinned_module(self.registry, self._queries, self._cache, row)
        return row, module, pinned_machine(module, row), snapshot

    def history(
        self,
        run: str,
        *,
        after: int = 0,
        limit: int = 200,
        before: int | None = None,
        kinds: Sequence[str] | None = None,
    ) -> Reply:
        row = self._queries.sound(check_run_id(run))
        count = _count(limit)
        wanted = checked_kinds(kinds)
        if before is not None:
            return self._latest(row, _event_number(before), count, wanted)
        if wanted is not None:
            raise RequestError("invalid_kind", "`kinds` requires `before`")
        after = min(max(int(after), 0), _MOST_EVENTS)
        events = self._queries.history(row.key, after, count)
        last = events[-1].seq if events else after
        if len(events) < count and last < row.version:
            # The row has a checksum, so its version is right and the event must exist.
            raise damaged(self.store.path, f"event {last + 1} of run {run} is missing")
        return history_reply(row, events, after)

    def _latest(self, row: RunRow, before: int, count: int, kinds: frozenset[str] | None) -> Reply:
        found: list[Reply] = []
        portion = count
        # Most events may be unwanted kinds, so pages are read until enough were found.
        while len(found) <= count:
            rows = self._queries.latest(row.key, before, portion + 1)
            found += [event for event in map(shown_event, rows) if is_wanted(event, kinds)]
            if len(rows) <= portion:
                break
            before, portion = rows[-1].seq, MOST_LISTED
        return newest_first(row.id, row.workflow, found[:count], more=len(found) > count)

    def journal(self, run: str) -> Book:
        row, _, machine, snapshot = self._whole(run)
        subject = Subject(row.id, machine, snapshot, row.agent, timestamp(self._clock()))
        return whole_book(subject, [shown_event(one) for one in self._all_events(row, 0)])

    def visits(self, run: str, *, before: int = 0, limit: int = 200) -> Reply:
        row, _, machine, snapshot = self._whole(run)
        end = _event_number(before)
        # As many events as asked for, but none after the last one.
        first = max(min(end - 1, row.version) - _count(limit), 0)
        events = [shown_event(one) for one in self._all_events(row, first)]
        bars = visits_of(structure_of(machine), events, snapshot.visits, snapshot.pending)
        reply: Reply = {"workflow_id": row.id, "visits": [bar for bar in bars if bar["from"] < end]}
        return {**reply, "before": first + 1} if first else reply

    def path(self, run: str, *, at: int | None = None) -> Reply:
        row, _, machine, _ = self._whole(run)
        last = row.version if at is None else min(_event_number(at), row.version)
        with self._paths_lock:
            path = self._paths.pop(row.id, None)
            # A run that has moved to another version has other states.
            # Going back in time, or to other states, means starting over.
            if path is None or path.seq > last or path.structure is not structure_of(machine):
                path = Path(structure_of(machine))
            # Only the new events are followed: a page asks again after every change.
            path.follow(shown_event(one) for one in self._all_events(row, path.seq, last))
            self._paths[row.id] = path
            while len(self._paths) > _PATHS:
                self._paths.popitem(last=False)
            return path_reply(row.id, path)

    def family(
        self, run: str, *, status: str | None = None, after: str | None = None, limit: int = 100
    ) -> Reply:
        row, snapshot = self._cache.load(self._queries, self._queries.require(check_run_id(run)))
        reply: Reply = {**relative(row), "digest": row.digest}
        reply |= starter_of([shown_event(one) for one in self._queries.history(row.key, 0, 1)])
        if row.parent is not None:
            own = child_row(row, snapshot, self._clock())
            reply |= {name: own[name] for name in ("step_id", "position", "item") if name in own}
            for name, key in (("parent", row.parent), ("root", row.root)):
                found = self._queries.run_of_key(key)
                reply |= {name: relative(found)} if found is not None else {}
        wanted = None if status is None else _one_status(status)
        since = 0 if after is None else self._queries.require(check_run_id(after)).key
        count = _count(limit)
        rows = self._queries.children_from(row.key, since, count + 1, wanted)
        reply["counts"] = {_shown(name): n for name, n in self._queries.child_counts(row.key).items()}
        reply["children"] = [
            child_row(one, Snapshot.from_json(one.snapshot, {}), self._clock()) for one in rows[:count]
        ]
        return {**reply, "after": rows[count - 1].id} if len(rows) > count else reply

    def state_at(self, run: str, seq: int) -> Reply:
        row, _, machine, snapshot = self._whole(run)
        if not 1 <= int(seq) <= row.version:
            raise NotFoundError(
                "unknown_event", f"run {run} has no event {int(seq)}", f"It has {row.version}."
            )
        events = [shown_event(one) for one in self._all_events(row, 0)]
        state, unknown, wrote = folded_state(machine.initial, events, seq, snapshot.shown_state)
        # Values that the history does not have are computed by a replay, which is slow.
        if unknown:
            then = replayed(machine, row.id, events, seq, self.limits, self._child_result)
            shown = then.shown_state if then is not None else {}
            state |= {name: shown[name] for name in unknown if name in shown}
            unknown = [name for name in unknown if name not in shown]
        return state_reply_at(row, seq, state, wrote, unknown)

    def _child_result(self, run: str) -> dict[str, Json] | None:
        row = self._queries.run(run)
        whole = self._queries.whole(row.key) if row is not None else None
        if whole is None or whole[0].status not in ("completed", "failed"):
            return None
        return Snapshot.from_json(whole[0].snapshot, whole[1]).outcome

    def picture(self, run: str) -> Reply:
        from wfc_runtime.service.pictures import picture_reply  # servers without a page draw nothing

        row, module, machine, _ = self._whole(run)
        return picture_reply(module, row.task, machine)

    def _all_events(self, row: RunRow, after: int, last: int = _MOST_EVENTS) -> list[HistoryRow]:
        found: list[HistoryRow] = []
        while after < min(last, row.version):
            events = self._queries.history(row.key, after, min(MOST_LISTED, last - after))
            if not events:
                raise damaged(self.store.path, f"event {after + 1} of run {row.id} is missing")
            found += events
            after = events[-1].seq
        return found


def _count(limit: int) -> int:
    return min(max(int(limit), 1), MOST_LISTED)


def _event_number(given: int) -> int:
    """The number of an event; 0 means after the last one."""
    return min(max(int(given), 0), _MOST_EVENTS) or _MOST_EVENTS


def _shown(status: str) -> str:
    return "pending_action" if status == "running" else status


def _one_status(status: str) -> str:
    if status in ENDED:
        return status
    if status in ("open", "running", "pending_action"):
        return "running"
    raise RequestError(
        "invalid_status", f"unknown status {str(status)[:40]!r}", f"Use open, {', '.join(ENDED)}."
    )


def _gate_cursor(after: str | None) -> tuple[float, int, str] | None:
    if after is None:
        return None
    try:
        since, run, visit = after.split(" ")
        return float(since), int(run), visit
    except ValueError:
        raise _bad_cursor() from None


def _feed_cursor(after: str | None) -> tuple[int, int, int]:
    try:
        row, seal, claims = map(int, (after or "0-0-0").split("-"))
    except ValueError:
        raise _bad_cursor() from None
    return min(row, _MOST_EVENTS), seal, claims


def _bad_cursor() -> RequestError:
    return RequestError(
        "invalid_cursor", "`after` is not a cursor of this call", "Use the one of its last reply."
    )
