"""Cancels runs, and terminates those that no worker can cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.service import RPCError

from wfc_runtime.errors import DefinitionError, RefusedError, StoreError
from wfc_runtime.service.interface import Reply
from wfc_runtime.service.replies import Subject, cancelled_reply
from wfc_runtime.service.temporal.calls import Calls
from wfc_runtime.service.temporal.codec import keyring_of
from wfc_runtime.service.temporal.connection import translated
from wfc_runtime.service.temporal.diagnosis import WorkerUnableError
from wfc_runtime.service.temporal.family import NAME
from wfc_runtime.service.temporal.line import unknown_run
from wfc_runtime.service.temporal.reasons import cancel_reason

_CANCEL = (3.0, 4.0, 8.0)
"""Seconds to wait for the end of a run; after each of them the cause of the delay is looked for."""


class Ending:
    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def cancel(self, run: str, reason: str, actor: str | None) -> Reply:
        found = await self._calls.line.describe(run)
        if found.workflow_type != NAME:
            raise unknown_run(run)
        if found.status != WorkflowExecutionStatus.RUNNING:
            return await self._cancelled_already(run)
        await self._calls.line.check_worker()
        said = cancel_reason(reason, actor, run=run, keyring=keyring_of(self._calls.line.client))
        try:
            await self._calls.line.client.get_workflow_handle(run).cancel(reason=said)
            await self._ended(run)
        except (DefinitionError, WorkerUnableError):
            # No worker has the module or the key that could end it: Temporal itself has to.
            await self._terminate(run, said)
            return cancelled_reply(Subject(run), reason)
        except RPCError as error:
            raise translated(error, self._calls.line.settings) from error
        ended = await self._calls.said(run)
        await self._calls.follow(run, ended)
        return await self._calls.reply(run, ended)

    async def _ended(self, run: str) -> None:
        """Wait for the end of a run and of its children."""
        end = asyncio.ensure_future(self._calls.line.client.get_workflow_handle(run).result())
        try:
            for seconds in _CANCEL:
                done, _ = await asyncio.wait([end], timeout=seconds)
                if done:
                    break
                why = await self._calls.line.diagnosis.why_silent(run)
                if why is not None:
                    raise why
            else:
                raise StoreError(
                    "temporal_slow",
                    f"run {run} has not ended within {sum(_CANCEL):.0f} s",
                    "It will: ask for its status.",
                )
            with suppress(WorkflowFailureError):
                await end
        finally:
            end.cancel()

    async def _cancelled_already(self, run: str) -> Reply:
        reply = await self._calls.look(run)
        if reply["status"] in ("completed", "failed"):
            raise RefusedError("finished", f"the run is {reply['status']} already: nothing is left to cancel")
        return reply

    async def terminate(self, runs: Sequence[str], reason: str) -> None:
        for run in runs:
            await self._calls.line.client.get_workflow_handle(run).terminate(reason=reason)

    async def _terminate(self, run: str, reason: str) -> None:
        found = await self._calls.line.describe(run)
        children = [one.workflow_id for one in found.raw_description.pending_children]
        await self._calls.line.client.get_workflow_handle(run).terminate(reason=reason)
        await asyncio.gather(*(self._terminate(child, reason) for child in children))
