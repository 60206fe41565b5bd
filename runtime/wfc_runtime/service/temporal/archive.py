"""Whole runs on Temporal: exported in the same form as from the file, and deleted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from temporalio.api.common.v1 import WorkflowExecution as Execution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from wfc_runtime.contract import ENDED, Json
from wfc_runtime.errors import NotFoundError, RefusedError, RequestError, StoreError
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.service.ids import check_run_id
from wfc_runtime.service.interface import Reply
from wfc_runtime.service.temporal.connection import translated
from wfc_runtime.service.temporal.listing import DETAILS, feed_query, listed, listing_query
from wfc_runtime.service.temporal.messages import Seed
from wfc_runtime.service.temporal.rpc import RPC_TIMEOUT
from wfc_runtime.service.temporal.views import TemporalViews
from wfc_runtime.version import __version__

_PAGE = 500
_FORMAT, _KIND = 1, "wfc run"
_DELETION = 60.0
"""Seconds that the server gets to delete an execution."""
_PAUSE = 0.1


class TemporalArchive(TemporalViews):
    """Export and deletion. Temporal's own retention deletes ended runs as well."""

    def ended_before(self, moment: float, statuses: Sequence[str] = ENDED) -> Reply:
        """Runs that ended before a moment, oldest first. Children are not listed."""
        return {"runs": self._run(self._ended_before(moment, tuple(dict.fromkeys(statuses))))}

    async def _ended_before(self, moment: float, statuses: tuple[str, ...]) -> list[dict[str, Json]]:
        before = datetime.fromtimestamp(moment, UTC).isoformat()
        query = f"{listing_query(self.settings.task_queue, statuses)} AND CloseTime < '{before}'"
        found = []
        async for execution in self._executions(query):
            row = await listed(execution)
            # A retry continues a failed run in a new execution under the same id, so only the latest one counts.
            if row["status"] != "failed" or await self._is_latest(execution):
                found.append({name: value for name, value in row.items() if name != DETAILS})
        return sorted(found, key=lambda row: str(row["updated"]))

    def erase(self, run: str) -> int:
        """Delete a run that has ended, with its children and all their executions."""
        return self._run(self._erase(check_run_id(run)))

    async def _erase(self, run: str) -> int:
        seed, _ = await self._calls.whole(run)
        if seed.parent is not None:
            raise RefusedError("child_run", f"run {run} is a child run", "Delete its parent instead.")
        found = await self._calls.rpc.describe(run)
        if found.status == WorkflowExecutionStatus.RUNNING:
            raise RefusedError("open_run", f"run {run} is in progress", "Cancel it first.")
        family = await self._family_of(run, what_is_left=True)
        # The run itself last: a deletion that was interrupted can be repeated.
        for member in reversed(family):
            await self._delete(member)
        return len(family)

    async def _family_of(self, run: str, *, what_is_left: bool = False) -> list[str]:
        """A run and its descendants, parents first; on request, without those that were deleted: by Temporal's
        retention, or by a deletion that was interrupted."""
        family: list[str] = []
        found = [run]
        for member in found:
            try:
                events = await self._all_events(member, 0)
            except NotFoundError:
                if what_is_left and member != run:
                    continue
                raise
            family.append(member)
            found += [child for event in events for child in event.get("children", ())]
        return family

    async def _executions_of(self, run: str) -> list[str]:
        """The executions of a run, the latest one last. Each knows the one before it; the server's index, which lags
        behind, adds those that lie before a gap."""
        latest = (await self._calls.rpc.describe(run)).run_id
        found: dict[str, None] = {}
        execution: str | None = latest
        # Temporal may have deleted an earlier one.
        with suppress(NotFoundError):
            while execution is not None:
                found[execution] = None
                part = await self._calls.rpc.query(run, "entries", [0, 0], dict[str, Any], execution)
                execution = part["previous"]
        query = f"{feed_query(self.settings.task_queue)} AND WorkflowId = '{run}'"
        found |= {one.run_id: None async for one in self._executions(query)}
        return list(reversed(found))

    async def _delete(self, run: str) -> None:
        for one in await self._executions_of(run):
            await self._delete_execution(run, one)

    async def _delete_execution(self, run: str, execution: str) -> None:
        request = DeleteWorkflowExecutionRequest(
            namespace=self.client.namespace,
            workflow_execution=Execution(workflow_id=run, run_id=execution),
        )
        try:
            await self.client.workflow_service.delete_workflow_execution(
                request, retry=True, timeout=RPC_TIMEOUT
            )
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise translated(error, self.settings) from error

    def discard(self, runs: Sequence[str]) -> None:
        """Delete runs that should not have been started, whatever they are doing. No worker is needed."""
        self._run(self._discard(runs))

    async def _discard(self, runs: Sequence[str]) -> None:
        for run in runs:
            await self._delete_execution(run, (await self._calls.rpc.describe(run)).run_id)
        # The server deletes in the background; until then, a start of a run with such an id finds the old one.
        for run in runs:
            for _ in range(round(_DELETION / _PAUSE)):
                try:
                    await self._calls.rpc.describe(run)
                except NotFoundError:
                    break
                await asyncio.sleep(_PAUSE)
            else:
                raise StoreError(
                    "temporal_slow", f"Temporal has not deleted run {run} yet", "Try again later."
                )

    def export(self, run: str, *, secrets: bool = False) -> Json:
        """A whole run as one JSON value, in the form that the file exports and imports."""
        return self._run(self._export(check_run_id(run), secrets))

    async def _export(self, run: str, secrets: bool) -> Json:
        seed, _ = await self._calls.whole(run)
        if seed.parent is not None:
            raise RequestError("child_run", f"run {run} is a child run", "Export its parent instead.")
        runs = [await self._exported(member) for member in await self._family_of(run)]
        if not secrets and any(one["snapshot"].get("secrets") for one in runs):
            raise RefusedError(
                "secrets",
                f"run {run} contains secrets, which would be readable in the export",
                "`wfc runs export --with-secrets` includes them; a run that has ended no longer contains its secrets.",
            )
        modules = {one["digest"]: self.modules.of_digest(one["digest"], one["workflow"]) for one in runs}
        return {
            "format": _FORMAT,
            "kind": _KIND,
            "wfc": __version__,
            "runs": runs,
            "modules": {digest: module.text for digest, module in modules.items()},
            "line_maps": {digest: module.line_map for digest, module in modules.items() if module.line_map},
        }

    async def _exported(self, run: str) -> dict[str, Any]:
        seed, _ = await self._calls.whole(run)
        history = await self._entries(run)
        if [event["seq"] for event in history] != list(range(1, seed.version + 1)):
            raise RefusedError(
                "history_incomplete",
                f"the history of run {run} is not complete: Temporal has deleted an earlier execution, or a part of it "
                "stayed in the file that the run came from",
            )
        return {**_facts(run, seed), "history": history}

    async def _entries(self, run: str) -> list[dict[str, Any]]:
        parts: list[list[dict[str, Any]]] = []
        execution: str | None = (await self._calls.rpc.describe(run)).run_id
        while execution is not None:
            found: list[dict[str, Any]] = []
            while True:
                after = found[-1]["seq"] if found else 0
                part = await self._calls.rpc.query(run, "entries", [after, _PAGE], dict[str, Any], execution)
                found += part["entries"]
                if len(part["entries"]) < _PAGE:
                    break
            parts.append(found)
            execution = part["previous"]
        return [one for found in reversed(parts) for one in found]


def _facts(run: str, seed: Seed) -> dict[str, Any]:
    if seed.snapshot is None:
        raise StoreError("temporal", f"run {run} has not started")
    snapshot = Snapshot.from_json(seed.snapshot)
    return {
        "id": run,
        "workflow": seed.workflow,
        "digest": seed.digest,
        "visit": seed.visit,
        "position": seed.position,
        "task": seed.task,
        "agent": seed.agent,
        "version": seed.version,
        "status": snapshot.status,
        "due": snapshot.due,
        "pending": " ".join(list(snapshot.pending)[:10]),
        "created": seed.created,
        "updated": seed.updated,
        "parent": seed.parent,
        "snapshot": json.loads(snapshot.to_json(with_state=False)),
        "state": snapshot.state,
    }
