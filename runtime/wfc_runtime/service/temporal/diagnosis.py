"""Explains why a run on Temporal does not answer."""

from __future__ import annotations

import re
import time
from datetime import timedelta

from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import Failure
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryReverseRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from wfc_runtime.errors import DefinitionError, StoreError, WfcError
from wfc_runtime.service.temporal.codec import failure_text
from wfc_runtime.service.temporal.connection import pollers, translated
from wfc_runtime.service.temporal.encryption import UnreadableError
from wfc_runtime.service.temporal.settings import TemporalSettings

RPC_TIMEOUT = timedelta(seconds=60)
GONE_AFTER = 90.0
"""Seconds without a poll after which a worker counts as gone; workers poll at least once a minute."""
_FORGIVEN = 2
"""Attempts at a task that may fail by a timeout alone; a third attempt has another cause."""
_MISSING = re.compile(r"the worker has no version (\w+) of `([^`]+)`")


class WorkerUnableError(StoreError):
    """The workers can't decrypt the run."""


class Diagnosis:
    def __init__(self, client: Client, settings: TemporalSettings) -> None:
        self._client = client
        self._settings = settings

    async def why_silent(self, run: str) -> WfcError | None:
        """Why a run does not answer; None if there is no known reason."""
        try:
            return await self.no_worker() or await self._failing(run)
        except RPCError as error:
            return None if error.status == RPCStatusCode.NOT_FOUND else translated(error, self._settings)

    async def no_worker(self) -> StoreError | None:
        queue = self._settings.task_queue
        found = await pollers(self._client, self._settings)
        latest = max((at for _, at in found), default=None)
        if latest is not None and time.time() - latest < GONE_AFTER:
            return None
        seen = (
            "none has been seen" if latest is None else f"the last was seen {time.time() - latest:.0f} s ago"
        )
        return StoreError(
            "no_worker",
            f"no worker serves task queue `{queue}` on {self._settings.address}: {seen}",
            "Start one with `wfc worker`, or serve with `wfc serve --with-worker`. What was submitted may have "
            "been kept: ask for the status once a worker is there.",
        )

    async def _failing(self, run: str) -> WfcError | None:
        handle = self._client.get_workflow_handle(run)
        raw = (await handle.describe(rpc_timeout=RPC_TIMEOUT)).raw_description
        if raw.pending_workflow_task.attempt <= _FORGIVEN:
            return None
        page = await self._client.workflow_service.get_workflow_execution_history_reverse(
            GetWorkflowExecutionHistoryReverseRequest(
                namespace=self._client.namespace,
                execution=raw.workflow_execution_info.execution,
                maximum_page_size=10,
            ),
            timeout=RPC_TIMEOUT,
        )
        for event in page.history.events:
            if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
                failure = event.workflow_task_failed_event_attributes.failure
                said = await failure_text(self._client, run, failure)
                known = lacking_module(said) or unable_worker(failure)
                if known is not None:
                    return known
                if said:
                    return StoreError("run_stuck", f"run {run} can't continue: {said[:300]}")
        return None


def unable_worker(failure: Failure) -> WorkerUnableError | None:
    """The error for a worker's failure, if the worker could not decrypt a payload."""
    if failure.application_failure_info.type != UnreadableError.__name__:
        return None
    return WorkerUnableError(
        "temporal_worker_key",
        f"the worker can't read what it was sent, and the run waits: {failure.message[:500]}",
        "All workers and clients of a task queue need the same keys.",
    )


def lacking_module(said: str) -> DefinitionError | None:
    """The error for a worker's message, if the worker lacks a version of a workflow."""
    missing = _MISSING.search(said)
    if missing is None:
        return None
    return DefinitionError(
        "definition_missing",
        f"no worker that was asked has version {missing[1]} of `{missing[2]}`; the run waits until one has",
        "Start a worker with that module in its generated folder, or in a folder named with --modules; or cancel "
        "the run.",
    )
