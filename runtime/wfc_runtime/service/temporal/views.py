"""The calls of the service on Temporal that only read: lists, the inbox, the feed of changes, and views of one run."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from temporalio.client import Client, WorkflowExecution
from temporalio.service import RPCError

from wfc_runtime.contract import HUMAN_KINDS, Json
from wfc_runtime.errors import NotFoundError, RequestError, WfcError
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.interpreter import structure_of
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.values import Limits
from wfc_runtime.registry import Module
from wfc_runtime.service.children import machine_of
from wfc_runtime.service.history import timestamp
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
from wfc_runtime.service.replies import shown_item, statuses_of
from wfc_runtime.service.temporal.calls import Calls
from wfc_runtime.service.temporal.connection import translated
from wfc_runtime.service.temporal.feed import Feed
from wfc_runtime.service.temporal.host import WAITS_FOR
from wfc_runtime.service.temporal.listing import (
    DETAILS,
    ORIGIN,
    Recent,
    beginning_query,
    counting_query,
    executions_query,
    feed_query,
    listed,
    listing_query,
    stored_status,
    with_details,
)
from wfc_runtime.service.temporal.messages import Seed
from wfc_runtime.service.temporal.modules import Modules
from wfc_runtime.service.temporal.settings import TemporalSettings
from wfc_runtime.service.views import (
    MOST_LISTED,
    checked_kinds,
    counts_reply,
    folded_state,
    is_wanted,
    newest_first,
    path_reply,
    starter_of,
    state_reply_at,
    visits_of,
)
from wfc_runtime.store import RunRow

T = TypeVar("T")
_AT_ONCE = 16
"""Queries to runs in progress at the same time."""
_MOST_OPEN = 1_000
"""Runs in progress that the inbox and the feed look at."""
_CLOSED_SECONDS = 60
_IDS_PER_QUERY = 100


class TemporalViews:
    """Everything here asks the Temporal server and its workers, and changes nothing."""

    client: Client
    settings: TemporalSettings
    modules: Modules
    limits: Limits
    _calls: Calls
    _recent: Recent
    _clock: Callable[[], float] | None

    def __init__(self) -> None:
        self._feed = Feed()
        self._gates: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        """The visits that ask a person, by run and pending visits. A visit never changes its kind."""

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        raise NotImplementedError

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
        count = _count(limit)
        earlier = None if before is None else check_run_id(before)
        chosen = (workflow and check_name(workflow), beginning and check_run_id(beginning))
        rows = self._run(self._listed(statuses, count + 1, earlier, *chosen))
        at = self._clock() if self._clock else time.time()
        reply: Reply = {"runs": [with_details(row, at) for row in rows[:count]]}
        if len(rows) > count:
            reply["next"] = (
                f'list_runs(status="{status or "open"}", before="{rows[count - 1]["workflow_id"]}")'
            )
        return reply

    async def _listed(
        self,
        statuses: tuple[str, ...],
        count: int,
        before: str | None,
        workflow: str | None,
        beginning: str | None,
    ) -> list[dict[str, Any]]:
        if before is not None:
            # Raises if there is no such run.
            await self._calls.rpc.describe(before)
        query = listing_query(self.settings.task_queue, statuses, workflow, beginning)
        found: list[dict[str, Any]] = []
        try:
            async for execution in self.client.list_workflows(query):
                row = await listed(execution)
                # The execution of a run that was retried stays failed.
                if row["status"] == "failed" and not await self._is_latest(execution):
                    continue
                found.append(row)
                # A page continues after the last run of the page before: an id stays valid between calls and servers.
                passed = 0 if before is None else _place(found, before)
                if len(found) - passed >= count:
                    break
        except RPCError as error:
            raise translated(error, self.settings) from error
        merged = [
            row
            for row in self._recent.merged(found, statuses)
            if workflow in (None, row["workflow"]) and row["workflow_id"].startswith(beginning or "")
        ]
        return merged[0 if before is None else _place(merged, before) :][:count]

    async def _is_latest(self, execution: WorkflowExecution) -> bool:
        try:
            latest = await self._calls.rpc.describe(execution.id)
            return execution.run_id in (latest.run_id, (await latest.memo()).get(ORIGIN))
        except NotFoundError:
            # Deleted. The server's index, which lists come from, is a little behind.
            return False

    def ids(self, beginning: str, limit: int) -> list[str]:
        return self._run(self._ids(check_run_id(beginning), limit))

    async def _ids(self, beginning: str, limit: int) -> list[str]:
        query = beginning_query(self.settings.task_queue, beginning)
        try:
            found = {execution.id async for execution in self.client.list_workflows(query, limit=limit)}
        except RPCError as error:
            raise translated(error, self.settings) from error
        return sorted(found)

    def counts(self) -> Reply:
        names = [module.workflow.name for module in self.modules.registry.modules()]
        counts = self._run(self._each(names, self._count_of))
        gates = self._run(self._open_gates())
        found = [(name, *one) for name, many in zip(names, counts, strict=True) for one in many]
        return counts_reply(found, len(gates))

    async def _count_of(self, workflow: str) -> list[tuple[str, int]]:
        query = counting_query(self.settings.task_queue, workflow)
        try:
            found = await self.client.count_workflows(query)
        except RPCError as error:
            raise translated(error, self.settings) from error
        total: Counter[str] = Counter()
        for group in found.groups:
            total[stored_status(str(group.group_values[0]))] += group.count
        # Counting retried runs takes further queries, which most workflows never need.
        if total["failed"]:
            total["failed"] -= await self._retried(workflow)
        return [(status, number) for status, number in total.items() if number > 0]

    async def _retried(self, workflow: str) -> int:
        """The number of failed executions that a later execution of the same run continues. They stay failed, but a
        run counts once."""
        queue = self.settings.task_queue
        failed = [one async for one in self._executions(listing_query(queue, ("failed",), workflow))]
        runs = sorted({one.id for one in failed})
        latest: dict[str, WorkflowExecution] = {}
        for start in range(0, len(runs), _IDS_PER_QUERY):
            query = executions_query(queue, runs[start : start + _IDS_PER_QUERY])
            async for one in self._executions(query):
                if one.id not in latest or one.start_time > latest[one.id].start_time:
                    latest[one.id] = one
        return sum(one.id in latest and latest[one.id].run_id != one.run_id for one in failed)

    # -- the inbox -------------------------------------------------------------

    def waiting(self, *, limit: int = 50, after: str | None = None) -> Reply:
        gates = self._run(self._open_gates())
        entries = [one for many in self._run(self._each(gates, self._entry)) for one in many]
        entries.sort(key=lambda one: (one["since"], one["workflow_id"], one["action"]["step_id"]))
        if after is not None:
            entries = [one for one in entries if _cursor(one) > after]
        count = _count(limit)
        reply: Reply = {"waiting": entries[:count], "total": len(gates)}
        return {**reply, "after": _cursor(entries[count - 1])} if len(entries) > count else reply

    async def _open_gates(self) -> list[tuple[str, str]]:
        """The runs and visits that ask a person."""
        query = f"{feed_query(self.settings.task_queue)} AND ExecutionStatus = 'Running'"
        waiting: dict[str, tuple[str, ...]] = {}
        async for execution in self._executions(query):
            row = await listed(execution)
            if row.get("pending"):
                waiting[row["workflow_id"]] = tuple(row["pending"])
        # Runs that this process has just changed: the server's index may not show that yet.
        for row in self._recent.merged([], ("running",)):
            waiting[row["workflow_id"]] = tuple(row.get("pending", ()))
        unknown = [key for key in waiting.items() if key not in self._gates]
        for key, visits in zip(unknown, await self._each(unknown, self._asked), strict=True):
            self._gates[key] = visits
        # Forget those that wait no more.
        self._gates = {key: self._gates[key] for key in waiting.items() if key in self._gates}
        return [(run, visit) for (run, _), visits in self._gates.items() for visit in visits]

    def awaiting_agents(self) -> dict[str, tuple[str, ...]]:
        """The runs and children that wait for an agent, oldest first, with the names of what is pending."""

        async def read() -> dict[str, tuple[str, ...]]:
            query = f"{feed_query(self.settings.task_queue)} AND ExecutionStatus = 'Running'"
            rows = [await listed(execution) async for execution in self._executions(query)]
            found = {row["workflow_id"]: row for row in reversed(rows) if row.get("pending")}
            # Executions of earlier versions do not say whom they wait for.
            return {
                run: tuple(row["pending"])
                for run, row in found.items()
                if "agent" in (row[DETAILS].get(WAITS_FOR) or ("agent",))
            }

        return self._run(read())

    async def _asked(self, key: tuple[str, tuple[str, ...]]) -> list[str]:
        """The visits that ask a person, from the run itself, which may be ahead of the list."""
        try:
            said = await self._calls.said(key[0], masked=True)
        except WfcError:
            # Its own page says why it can't be read. It must not hide the others.
            return []
        return [one["step_id"] for one in actions_of(said.reply) if one["type"] in HUMAN_KINDS]

    async def _entry(self, gate: tuple[str, str]) -> list[Reply]:
        run, visit = gate
        try:
            said = await self._calls.said(run, progress=True, masked=True)
            actions = [one for one in actions_of(said.reply) if one["step_id"] == visit]
            if not actions:
                return []
            entry = _named(said.reply)
            # The start of the visit may be in an earlier execution, whose history is not read here.
            since = await self._since(run, visit) or said.reply["progress"]["updated"]
            root = await self._root_of((await self._calls.whole(run))[0])
        except WfcError:
            return []
        more = {"root": root} if root else {}
        return [{**entry, "since": since, **more, "action": one} for one in actions]

    async def _since(self, run: str, visit: str) -> str | None:
        part = await self._calls.rpc.query(run, "history", [0, 1], dict[str, Any])
        bars = await self._bars(run, max(part["version"] - 50, 0))
        return next((bar["began"] for bar in reversed(bars) if bar["step_id"] == visit), None)

    # -- the feed --------------------------------------------------------------

    def changes(self, after: str | None = None, *, watching: Sequence[str] = ()) -> Reply:
        feed = self._feed
        with feed.lock:
            if feed.list_is_due():
                feed.compare(self._run(self._latest_executions()))
            if watching and feed.watch_is_due():
                runs = [check_run_id(run) for run in watching]
                found = self._run(self._each(runs[:_AT_ONCE], self._watched_run))
                feed.compare(one for many in found for one in many)
            return feed.since(after)

    async def _latest_executions(self) -> list[dict[str, Any]]:
        recently = (datetime.now(UTC) - timedelta(seconds=_CLOSED_SECONDS)).isoformat()
        query = f"{feed_query(self.settings.task_queue)} AND (ExecutionStatus = 'Running' OR CloseTime > '{recently}')"
        found: dict[str, dict[str, Any]] = {}
        async for execution in self._executions(query):
            # Newest first: a retried run has several executions, and only the last one counts.
            if execution.id not in found:
                row = await listed(execution)
                root = getattr(execution, "root_id", None) or execution.id
                found[execution.id] = _change(row, root, 0)
        return list(found.values())

    async def _watched_run(self, run: str) -> list[dict[str, Any]]:
        try:
            said = await self._calls.said(run, progress=True, masked=True)
        except WfcError:
            return []
        pending = [one["step_id"] for one in actions_of(said.reply)]
        return [_change({"pending": pending, **said.reply}, run, said.version)]

    async def _executions(self, query: str) -> Any:
        try:
            async for execution in self.client.list_workflows(query, limit=_MOST_OPEN):
                one: WorkflowExecution = execution
                yield one
        except RPCError as error:
            raise translated(error, self.settings) from error

    # -- one run ---------------------------------------------------------------

    def state(self, run: str, fields: Sequence[str] | None = None) -> Reply:
        return self._run(self._calls.state(check_run_id(run), fields))

    def preview(self, run: str, step_id: str) -> Reply:
        _, machine, snapshot = self.definition(run)
        at = self._clock() if self._clock else time.time()
        return preview_reply(run, machine, snapshot, check_step_id(step_id), at, self.limits)

    def migration(self, run: str) -> Reply:
        seed, _ = self._run(self._calls.whole(check_run_id(run)))
        module, _, snapshot = self.definition_of(seed)
        row = RunRow(run, seed.workflow, seed.digest, task=seed.task, agent=seed.agent)
        return migration_reply(row, snapshot, module, self.modules.find(seed.workflow))

    def versions(self, workflow: str) -> Reply:
        counts = self._run(self._digests(check_name(workflow)))
        return {
            "workflow": workflow,
            "versions": [{"digest": digest, "runs": runs} for digest, runs in counts.most_common()],
        }

    async def _digests(self, workflow: str) -> Counter[str]:
        query = listing_query(self.settings.task_queue, ("running",), workflow)
        return Counter([(await one.memo()).get("digest", "") async for one in self._executions(query)])

    def definition(self, run: str) -> tuple[Module, AnyMachine, Snapshot]:
        seed, _ = self._run(self._calls.whole(check_run_id(run)))
        return self.definition_of(seed)

    def whole(self, run: str) -> tuple[Seed, list[str]]:
        """A run as its next execution would get it, and the ids of the children that it waits for."""
        return self._run(self._calls.whole(check_run_id(run)))

    def definition_of(self, seed: Seed) -> tuple[Module, AnyMachine, Snapshot]:
        module = self.modules.of_digest(seed.digest, seed.workflow)
        assert seed.snapshot is not None
        return module, machine_of(module, seed.task, seed.agent), Snapshot.from_json(seed.snapshot)

    def history(
        self,
        run: str,
        *,
        after: int = 0,
        limit: int = 200,
        before: int | None = None,
        kinds: Sequence[str] | None = None,
    ) -> Reply:
        run, count, wanted = check_run_id(run), _count(limit), checked_kinds(kinds)
        if before is not None:
            return self._run(self._latest(run, max(int(before), 0), count, wanted))
        if wanted is not None:
            raise RequestError("invalid_kind", "`kinds` requires `before`")
        return self._run(self._calls.history(run, int(after), count))

    async def _latest(self, run: str, before: int, count: int, kinds: frozenset[str] | None) -> Reply:
        part = await self._calls.rpc.query(run, "history", [0, 1], dict[str, Any])
        end = min(before or part["version"] + 1, part["version"] + 1)
        found: list[dict[str, Any]] = []
        while len(found) <= count and end > 1:
            first = max(end - 1 - MOST_LISTED, 0) if kinds else max(end - 2 - count, 0)
            events = (await self._calls.history(run, first, end - 1 - first))["events"]
            if not events:
                break
            found += [event for event in reversed(events) if is_wanted(event, kinds)]
            end = events[0]["seq"]
        return newest_first(run, part["workflow"], found[:count], more=len(found) > count)

    def journal(self, run: str) -> Book:
        run = check_run_id(run)
        seed, _ = self._run(self._calls.whole(run))
        _, machine, snapshot = self.definition_of(seed)
        # Only up to the snapshot: the run may have moved on between the two queries.
        events = [one for one in self._run(self._all_events(run, 0)) if one["seq"] <= seed.version]
        book = whole_book(Subject(run, machine, snapshot, seed.agent, timestamp(self._calls.time())), events)
        # Temporal may have deleted executions with earlier entries.
        book.count = seed.noted
        return book

    def visits(self, run: str, *, before: int = 0, limit: int = 200) -> Reply:
        run = check_run_id(run)
        part = self._run(self._calls.rpc.query(run, "history", [0, 1], dict[str, Any]))
        end = int(before) if int(before) > 0 else part["version"] + 1
        first = max(min(end - 1, part["version"]) - _count(limit), 0)
        bars = [bar for bar in self._run(self._bars(run, first)) if bar["from"] < end]
        reply: Reply = {"workflow_id": run, "visits": bars}
        return {**reply, "before": first + 1} if first else reply

    async def _bars(self, run: str, first: int) -> list[dict[str, Json]]:
        _, machine, snapshot = self.definition_of((await self._calls.whole(run))[0])
        events = await self._all_events(run, first)
        return visits_of(structure_of(machine), events, snapshot.visits, snapshot.pending)

    def path(self, run: str, *, at: int | None = None) -> Reply:
        _, machine, _ = self.definition(run)
        path = Path(structure_of(machine))
        events = self._run(self._all_events(run, 0))
        path.follow(event for event in events if not at or event["seq"] <= at)
        return path_reply(run, path)

    async def _all_events(self, run: str, after: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while True:
            reply = await self._calls.history(run, after, MOST_LISTED)
            found += reply["events"]
            if "next" not in reply or not reply["events"]:
                return found
            after = reply["events"][-1]["seq"]

    def family(
        self, run: str, *, status: str | None = None, after: str | None = None, limit: int = 100
    ) -> Reply:
        wanted = None if status is None else statuses_of(status)
        return self._run(self._family(check_run_id(run), wanted, after, _count(limit)))

    async def _family(
        self, run: str, statuses: tuple[str, ...] | None, after: str | None, count: int
    ) -> Reply:
        seed, _ = await self._calls.whole(run)
        reply: Reply = {"workflow_id": run, "workflow": seed.workflow, "digest": seed.digest}
        if seed.task:
            reply["task"] = seed.task
        if seed.parent is not None:
            reply |= {"step_id": seed.visit, "position": seed.position, **_item(seed)}
            parent = await self._relative(seed.parent)
            reply |= {"parent": parent, "root": await self._root_of(seed) or parent}
        events = await self._all_events(run, 0)
        reply |= starter_of(events)
        ids = list(dict.fromkeys(child for event in events for child in event.get("children", ())))
        rows = [row for many in await self._each(ids[:MOST_LISTED], self._child) for row in many]
        reply["counts"] = dict(Counter(row["status"] for row in rows))
        if statuses is not None:
            wanted = ["pending_action" if one == "running" else one for one in statuses]
            rows = [row for row in rows if row["status"] in wanted]
        rows = rows[0 if after is None else _place(rows, after) :]
        reply["children"] = rows[:count]
        return {**reply, "after": rows[count - 1]["workflow_id"]} if len(rows) > count else reply

    async def _child(self, run: str) -> list[dict[str, Any]]:
        try:
            said = await self._calls.said(run, progress=True, masked=True)
            seed, _ = await self._calls.whole(run)
        except WfcError:
            return []
        reply = said.reply
        row = _named(reply)
        row["status"] = "pending_action" if reply["status"] == "running" else reply["status"]
        row |= {key: reply["progress"][key] for key in ("started", "updated")}
        pending = [one["step_id"] for one in actions_of(reply)]
        row |= {"pending": pending} if pending else {}
        return [{**row, "step_id": seed.visit, "position": seed.position, **_item(seed)}]

    async def _relative(self, run: str) -> dict[str, Json]:
        seed, _ = await self._calls.whole(run)
        return {"workflow_id": run, "workflow": seed.workflow, **({"task": seed.task} if seed.task else {})}

    async def _root_of(self, seed: Seed) -> dict[str, Json] | None:
        """The outermost ancestor, if there is one."""
        root = None
        while seed.parent is not None:
            root = seed.parent
            seed, _ = await self._calls.whole(root)
        return None if root is None else await self._relative(root)

    def state_at(self, run: str, seq: int) -> Reply:
        seed, _ = self._run(self._calls.whole(check_run_id(run)))
        _, machine, snapshot = self.definition_of(seed)
        if not 1 <= int(seq) <= seed.version:
            raise NotFoundError(
                "unknown_event", f"run {run} has no event {int(seq)}", f"It has {seed.version}."
            )
        events = self._run(self._all_events(run, 0))
        state, unknown, wrote = folded_state(machine.initial, events, seq, snapshot.shown_state)
        if unknown:
            then = replayed(machine, run, events, seq, self.limits, self._child_result)
            shown = then.shown_state if then is not None else {}
            state |= {name: shown[name] for name in unknown if name in shown}
            unknown = [name for name in unknown if name not in shown]
        return state_reply_at(RunRow(run, seed.workflow, seed.digest), seq, state, wrote, unknown)

    def _child_result(self, run: str) -> dict[str, Json] | None:
        with suppress(WfcError):
            reply = self._run(self._calls.look(run))
            if reply["status"] == "completed":
                return {"value": reply["result"]}
        return None

    def picture(self, run: str) -> Reply:
        seed, _ = self._run(self._calls.whole(check_run_id(run)))
        module, machine, _ = self.definition_of(seed)
        from wfc_runtime.service.pictures import picture_reply  # servers without a page draw nothing

        return picture_reply(module, seed.task, machine)

    async def _each(self, many: Sequence[Any], ask: Callable[[Any], Coroutine[Any, Any, T]]) -> list[T]:
        """Ask several runs at the same time, but not all of them."""
        room = asyncio.Semaphore(_AT_ONCE)

        async def one(about: Any) -> T:
            async with room:
                return await ask(about)

        return list(await asyncio.gather(*map(one, many)))


def _count(limit: int) -> int:
    return min(max(int(limit), 1), MOST_LISTED)


def _place(rows: list[dict[str, Any]], run: str) -> int:
    """The number of rows up to and including a run."""
    return next((index + 1 for index, row in enumerate(rows) if row["workflow_id"] == run), len(rows))


def _named(reply: Reply) -> dict[str, Json]:
    names: tuple[str, ...] = ("workflow_id", "workflow", "task")
    return {key: reply[key] for key in names if key in reply}


def _cursor(entry: Reply) -> str:
    return f"{entry['since']} {entry['workflow_id']} {entry['action']['step_id']}"


def _change(row: dict[str, Any], root: str, seq: int) -> dict[str, Any]:
    status = "pending_action" if row["status"] == "running" else row["status"]
    shown = {"run": row["workflow_id"], "root": root, "seq": seq, "status": status}
    return {**shown, "workflow": row["workflow"], "pending": list(row.get("pending", ()))}


def _item(seed: Seed) -> dict[str, Json]:
    snapshot = Snapshot.from_json(seed.snapshot or "")
    found = snapshot.scope.get("item")
    return {} if found is None else {"item": shown_item(snapshot.mask.value(found))}
