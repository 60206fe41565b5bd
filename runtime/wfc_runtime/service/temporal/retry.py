"""Retrying failed runs. A closed execution can't be reopened: a new one with the same id continues from its snapshot.

The client starts the new execution of the outermost run. That one has its failed children continued by an activity, so
that a client that is killed leaves either nothing or a family that continues.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import uuid4

from temporalio.api.enums.v1 import WorkflowIdConflictPolicy, WorkflowIdReusePolicy
from temporalio.api.workflowservice.v1 import StartWorkflowExecutionRequest
from temporalio.client import WorkflowExecutionStatus
from temporalio.converter import WorkflowSerializationContext, encode_search_attributes
from temporalio.service import RPCError, RPCStatusCode

from wfc_runtime.errors import NotFoundError, RefusedError, StoreError
from wfc_runtime.machine.reopening import started_over
from wfc_runtime.machine.snapshot import Pending, Snapshot
from wfc_runtime.service.answers import as_repeated, with_next_call
from wfc_runtime.service.interface import Reply
from wfc_runtime.service.retrying import (
    Retrying,
    awaited_again,
    check_child,
    chosen_visit,
    is_failed_visit,
    no_longer_awaited,
    only,
    whole,
)
from wfc_runtime.service.temporal import search_attributes
from wfc_runtime.service.temporal.calls import Calls
from wfc_runtime.service.temporal.children import NAME, TASK_TIMEOUT, memo_of
from wfc_runtime.service.temporal.connection import translated
from wfc_runtime.service.temporal.listing import ORIGIN
from wfc_runtime.service.temporal.messages import Note, Reopening, RetriedChild, Seed
from wfc_runtime.service.temporal.rpc import RPC_TIMEOUT, ClosedError, SentAgainError, unknown_run

_TOKEN = "retry"
"""The entry of the memo that names the retry that started an execution."""
_ENDING = 30.0
"""Seconds that a child gets to end after it was cancelled with its parent."""
_PAUSE = 0.05


@dataclass(frozen=True)
class Execution:
    """The latest execution of a run."""

    run: str
    id: str
    seed: Seed
    version: str
    token: str | None
    origin: str
    """The execution that ended the run: this one, unless it only added to the journal."""

    @property
    def snapshot(self) -> Snapshot:
        return Snapshot.from_json(self.seed.snapshot or "")


class Retrier:
    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def retry(self, run: str, step_id: str, actor: str | None) -> Reply:
        latest = await self.latest(run)
        is_failed = is_failed_visit(latest.snapshot, step_id)
        if not is_failed and await self._was_retried(run, step_id):
            return as_repeated(await self._calls.look(run))
        try:
            is_first, family = await self._continue(latest, step_id, actor)
        except RefusedError as refused:
            raise with_next_call(run, latest.snapshot, refused, await self._calls.look(run)) from None
        for member in family:
            await self._calls.settle(member)
        reply = await self._calls.look(run)
        return reply if is_first else as_repeated(reply)

    async def latest(self, run: str) -> Execution:
        found = await self._calls.rpc.describe(run)
        if found.workflow_type != NAME:
            raise unknown_run(run)
        if found.status == WorkflowExecutionStatus.TERMINATED:
            raise RefusedError("not_failed", "the run is cancelled: only a failed run can be retried")
        data = await self._calls.rpc.query(run, "whole", [], dict[str, Any], found.run_id)
        version = found.typed_search_attributes.get(search_attributes.VERSION) or ""
        memo = await found.memo()
        origin = memo.get(ORIGIN) or found.run_id
        return Execution(run, found.run_id, Seed(**data["seed"]), version, memo.get(_TOKEN), origin)

    async def _was_retried(self, run: str, step_id: str) -> bool:
        execution: str | None = None
        while True:
            try:
                found = await self._calls.rpc.query(run, "was_retried", [step_id], dict[str, Any], execution)
            except NotFoundError:
                # The retention of the namespace has deleted it.
                return False
            if found["was"] or found["previous"] is None:
                return bool(found["was"])
            execution = found["previous"]

    async def _continue(self, latest: Execution, step_id: str, actor: str | None) -> tuple[bool, list[str]]:
        """Continue a run, and the parents that failed because of it. Returns whether this call has done that, and the
        runs to wait for, the outermost first."""
        visit = chosen_visit(latest.snapshot, step_id, latest.seed.parent)
        plan = {latest.run: await self._whole(latest.snapshot, visit)}
        family, parent = [latest.run], await self._parent(latest)
        while parent is not None and parent.snapshot.status == "failed":
            plan[parent.run] = only(parent.snapshot, parent.run, latest.run)
            latest, parent = parent, await self._parent(parent)
            family.insert(0, latest.run)
        given = {run: _plain(one) for run, one in plan.items()}
        at = self._calls.simulated_time()
        if parent is None:
            token = uuid4().hex
            await self._start(latest, given, actor, at, token)
            return (await self.latest(latest.run)).token == token, family
        if parent.snapshot.status != "running":
            raise no_longer_awaited(parent.run)
        if parent.snapshot.place_of(latest.run) is not None:
            return False, family
        awaited_again(parent.snapshot, parent.run, latest.run)
        try:
            asked = RetriedChild(latest.run, given, actor, at)
            await self._calls.rpc.update(parent.run, "retry_child", asked, type(None))
        except SentAgainError:
            return False, family
        except ClosedError:
            raise RefusedError(
                "run_busy", f"its parent {parent.run} ended at the same time", "Try again."
            ) from None
        return True, [parent.run, *family]

    async def _parent(self, execution: Execution) -> Execution | None:
        parent = execution.seed.parent
        return None if parent is None else await self.latest(parent)

    async def _whole(self, snapshot: Snapshot, visit: str) -> Retrying:
        """Start over a visit, or all failed ones. Raises `RefusedError` if a descendant can't continue."""
        pending = [one.children for one in started_over(snapshot, visit) if one.children is not None]
        failed = [child["was"] for child in _children(pending) if "was" in child]
        known = dict(zip(failed, await asyncio.gather(*map(self._known, failed)), strict=True))
        found = whole(snapshot, visit, known.get)
        kept = snapshot.kept.pending.values() if snapshot.kept is not None else ()
        stopped = [child["run"] for child in _children([*pending, *kept]) if "run" in child]
        for run in (*found.reopen, *stopped):
            child = known.get(run) or await self._known(run)
            if child is not None and child.status in ("failed", "cancelled"):
                check_child(run, child)
                await self._whole(child, "")
        return found

    async def _known(self, run: str) -> Snapshot | None:
        """The snapshot of a child. A child that needed nobody has no execution."""
        try:
            return (await self.latest(run)).snapshot
        except (NotFoundError, RefusedError):
            return None

    # -- the activity ----------------------------------------------------------

    async def reopen(self, asked: Reopening) -> dict[str, Any]:
        """Continue a child that has ended. Returns its result if it has completed, or why it can't continue."""
        try:
            child = await self._ended(asked)
            if child is None:
                return {}
            now = child.snapshot
            if now.status == "completed":
                return {"result": now.outcome, "secrets": child.seed.secrets}
            check_child(asked.child, now)
            plan = dict(asked.plan)
            if asked.child not in plan:
                plan[asked.child] = _plain(await self._whole(now, ""))
            await self._start(child, plan, asked.actor, asked.at, asked.token)
        except (RefusedError, NotFoundError) as error:
            return {"result": {"error": {"code": error.code, "message": error.message}}}
        return {}

    async def _ended(self, asked: Reopening) -> Execution | None:
        """The execution of a child, once it has ended; None if an earlier attempt has continued it."""
        for _ in range(int(_ENDING / _PAUSE)):
            found = await self.latest(asked.child)
            if found.token == asked.token:
                return None
            if found.snapshot.status != "running":
                described = await self._calls.rpc.describe(asked.child)
                if described.status != WorkflowExecutionStatus.RUNNING:
                    return found
            await asyncio.sleep(_PAUSE)
        raise StoreError("temporal_slow", f"child run {asked.child} has not ended")

    # -- the new execution -----------------------------------------------------

    async def _start(
        self,
        closed: Execution,
        plan: Mapping[str, dict[str, Any]],
        actor: str | None,
        at: float | None,
        token: str,
    ) -> None:
        # Its parent does not start it as a child workflow, so Temporal does not report its end.
        tells = closed.seed.parent is not None
        seed = replace(closed.seed, actor=actor, tells=tells, retry={"plan": dict(plan)})
        await self._succeed(closed, seed, at, token)

    async def note(self, closed: Execution, note: Note) -> bool:
        """Add to the journal of a run that has ended. Returns whether this call has done that: of several, one does."""
        token, at = uuid4().hex, self._calls.simulated_time()
        # The parent has heard of the end.
        seed = replace(closed.seed, tells=False, note=asdict(note))
        await self._succeed(closed, seed, at, token)
        return (await self.latest(closed.run)).token == token

    async def _succeed(self, closed: Execution, seed: Seed, at: float | None, token: str) -> None:
        """Start an execution after a closed one."""
        rpc, run, is_note = self._calls.rpc, closed.run, seed.note is not None
        client = rpc.client
        seed = replace(seed, at=at if seed.simulated else None, previous=closed.id)
        reuse = WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
        if is_note:
            reuse = WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
        context = WorkflowSerializationContext(namespace=client.namespace, workflow_id=run)
        converter = client.data_converter.with_context(context)
        request = StartWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_id=run,
            identity=client.identity,
            # The server starts one execution per request id: of several successors, one wins.
            request_id=f"retry-{closed.id}",
            workflow_id_reuse_policy=reuse,
            workflow_id_conflict_policy=WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
        )
        request.workflow_type.name = NAME
        request.task_queue.name = rpc.settings.task_queue
        request.workflow_task_timeout.FromTimedelta(TASK_TIMEOUT)
        request.input.payloads.extend(await converter.encode([seed]))
        memo = {**memo_of(seed), _TOKEN: token, **({ORIGIN: closed.origin} if is_note else {})}
        for name, value in memo.items():
            [payload] = await converter.encode([value])
            request.memo.fields[name].CopyFrom(payload)
        attributes = search_attributes.of_note if is_note else search_attributes.at_first
        known = attributes(seed.workflow, closed.version, seed.visit is not None)
        encode_search_attributes(known, request.search_attributes)
        try:
            await client.workflow_service.start_workflow_execution(request, retry=True, timeout=RPC_TIMEOUT)
        except RPCError as error:
            if error.status != RPCStatusCode.ALREADY_EXISTS:
                raise translated(error, rpc.settings) from error


def _children(pending: list[Pending]) -> list[dict[str, Any]]:
    return [child for one in pending for child in one.children if child is not None]


def _plain(retrying: Retrying) -> dict[str, Any]:
    return {**asdict(retrying), "reopen": sorted(retrying.reopen)}
