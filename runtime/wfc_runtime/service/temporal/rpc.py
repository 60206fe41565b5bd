"""Calls to runs through the Temporal server. Each returns a reply or, within seconds, the reason why there is none."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Coroutine, Sequence
from datetime import timedelta
from math import inf
from typing import Any, TypeVar
from uuid import uuid4

from temporalio.api.enums.v1 import EventType
from temporalio.api.errordetails.v1 import QueryFailedFailure
from temporalio.api.failure.v1 import Failure
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryReverseRequest
from temporalio.client import (
    Client,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from wfc_runtime.errors import DefinitionError, NotFoundError, StoreError, WfcError
from wfc_runtime.service.temporal.codec import AGAIN, failure_text, from_error
from wfc_runtime.service.temporal.connection import pollers, translated
from wfc_runtime.service.temporal.encryption import UnreadableError
from wfc_runtime.service.temporal.settings import TemporalSettings

# Why a run does not answer.

RPC_TIMEOUT = timedelta(seconds=60)
GONE_AFTER = 90.0
"""Seconds without a poll after which a worker counts as gone; workers poll at least once a minute."""
_FORGIVEN = 2
"""Attempts at a task that may fail only because of a timeout; a third attempt means another cause."""
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
            f"no worker polls task queue `{queue}` on {self._settings.address}: {seen}",
            "Start one with `wfc worker`, or use `wfc serve --with-worker`. A submitted result may have been stored: "
            "ask for the status once a worker is running.",
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
        f"the worker can't decrypt the data of the run, which is waiting: {failure.message[:500]}",
        "All workers and clients of a task queue need the same keys.",
    )


def lacking_module(said: str) -> DefinitionError | None:
    """The error for a worker's message, if the worker lacks a version of a workflow."""
    missing = _MISSING.search(said)
    if missing is None:
        return None
    return DefinitionError(
        "definition_missing",
        f"no worker that was asked has version {missing[1]} of `{missing[2]}`; the run waits for one",
        "Start a worker with that module in its generated folder or in a folder named with --modules, or cancel "
        "the run.",
    )


# The calls.

T = TypeVar("T")
_LOOK_AFTER = 2.0
"""Seconds without an answer between searches for the reason."""
_PATIENCE = 45.0
"""Seconds in total: less than the usual client timeout of a minute."""
_PAUSE = 0.05
_FAILED = "in failed state"
# Fragments of the server's messages. There is no status code that distinguishes these temporary states.
_EARLY = ("not scheduled", _FAILED, "unexpected workflow task failure", "no poller seen")


class SentAgainError(Exception):
    """A submit that was accepted before."""


class ClosedError(Exception):
    """A call to a run that has ended."""


class Rpc:
    """A client that retries, and explains failures."""

    def __init__(self, client: Client, settings: TemporalSettings) -> None:
        self.client = client
        self.settings = settings
        self.diagnosis = Diagnosis(client, settings)
        self._checked = -inf
        """When a worker was last seen."""

    async def update(self, run: str, name: str, arg: Any, kind: type[T]) -> T:
        """Send an update. Raises the validator's error, `SentAgainError` or `ClosedError`."""
        handle = self.client.get_workflow_handle(run)
        try:
            return await self._patiently(run, self._update(handle, name, arg, kind))
        except WorkflowUpdateFailedError as error:
            raise _of_update(error) from None

    async def _update(self, handle: WorkflowHandle[Any, Any], name: str, arg: Any, kind: Any) -> Any:
        # The server deduplicates updates by id, so repeating the call is safe.
        update = uuid4().hex
        while True:
            try:
                return await handle.execute_update(
                    name, arg, id=update, result_type=kind, rpc_timeout=RPC_TIMEOUT
                )
            except RPCError as error:
                if not _may_yet_answer(error):
                    raise
            except WorkflowUpdateRPCTimeoutOrCancelledError as error:
                if not isinstance(error.__cause__, RPCError):
                    # Cancelled by us, not by the server.
                    raise
            await asyncio.sleep(_PAUSE)

    async def query(
        self, run: str, name: str, args: Sequence[Any], kind: type[T], execution: str | None = None
    ) -> T:
        handle = self.client.get_workflow_handle(run, run_id=execution)
        return await self._patiently(run, self._query(handle, name, args, kind))

    async def _query(
        self, handle: WorkflowHandle[Any, Any], name: str, args: Sequence[Any], kind: Any
    ) -> Any:
        while True:
            try:
                return await handle.query(name, args=args, result_type=kind, rpc_timeout=RPC_TIMEOUT)
            except RPCError as error:
                if not _may_yet_answer(error) or (_FAILED in error.message and await _is_over(handle)):
                    raise
                await asyncio.sleep(_PAUSE)

    async def describe(self, run: str) -> WorkflowExecutionDescription:
        return await self._patiently(
            run, self.client.get_workflow_handle(run).describe(rpc_timeout=RPC_TIMEOUT)
        )

    async def check_worker(self) -> None:
        """Raise an error if no worker polls the task queue."""
        end = time.monotonic() + _LOOK_AFTER
        while time.monotonic() > self._checked + GONE_AFTER / 2:
            missing = await self.diagnosis.no_worker()
            if missing is None:
                self._checked = time.monotonic()
            elif time.monotonic() > end:
                raise missing
            else:
                # A worker that has just been started may not have polled yet.
                await asyncio.sleep(_PAUSE)

    async def _patiently(self, run: str, call: Coroutine[Any, Any, T]) -> T:
        # The call continues while the reason for its delay is determined: it may still succeed.
        task = asyncio.ensure_future(call)
        try:
            end = time.monotonic() + _PATIENCE
            while time.monotonic() < end:
                done, _ = await asyncio.wait([task], timeout=_LOOK_AFTER)
                if done:
                    return task.result()
                why = await self.diagnosis.why_silent(run)
                if why is not None:
                    raise why
            raise StoreError(
                "temporal_slow",
                f"run {run} did not answer within {_PATIENCE:.0f} s",
                "It may still do so: ask again. Sending the same result again is safe.",
            )
        except (RPCError, WorkflowQueryFailedError) as error:
            raise await self._explained(run, error) from error
        finally:
            if not task.done():
                # Retrieve the exception, or asyncio logs that it was never retrieved.
                task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
                task.cancel()

    async def _explained(self, run: str, error: RPCError | WorkflowQueryFailedError) -> Exception:
        failure = _failure_in(error)
        said = str(error) if failure is None else await failure_text(self.client, run, failure)
        known = lacking_module(said) or (unable_worker(failure) if failure is not None else None)
        if known is not None:
            return known
        if isinstance(error, WorkflowQueryFailedError):
            if "expected but not found" in said or "unknown query" in said.lower():
                return unknown_run(run)
            return await self.diagnosis.why_silent(run) or StoreError(
                "temporal", f"run {run} can't be queried: {said[:300]}"
            )
        if error.status == RPCStatusCode.NOT_FOUND and "namespace" not in said.lower():
            return ClosedError() if "already completed" in said else unknown_run(run)
        if error.status == RPCStatusCode.FAILED_PRECONDITION:
            return await self.diagnosis.why_silent(run) or translated(error, self.settings)
        return translated(error, self.settings)


def _failure_in(error: RPCError | WorkflowQueryFailedError) -> Failure | None:
    """The worker's failure for a query. With encryption, the server's own message does not contain its text."""
    cause = error.__context__ if isinstance(error, WorkflowQueryFailedError) else error
    if isinstance(cause, RPCError):
        found = QueryFailedFailure()
        for detail in cause.grpc_status.details:
            if detail.Unpack(found) and found.HasField("failure"):
                return found.failure
    return None


def _may_yet_answer(error: RPCError) -> bool:
    """Whether the error is temporary: the run's first task is not done, workers are busy or one was lost, a failed
    task is being retried, the run is continuing in another execution, or the server has not noticed the polls of a busy
    worker (if there really is none, the diagnosis of the silence says so)."""
    match error.status:
        case RPCStatusCode.DEADLINE_EXCEEDED | RPCStatusCode.CANCELLED:
            return True
        case RPCStatusCode.FAILED_PRECONDITION:
            return any(words in error.message for words in _EARLY)
    return error.status == RPCStatusCode.NOT_FOUND and "aborted by closing" in error.message


async def _is_over(handle: WorkflowHandle[Any, Any]) -> bool:
    """Whether a run has ended, so that none of its tasks is retried."""
    return (await handle.describe(rpc_timeout=RPC_TIMEOUT)).status != WorkflowExecutionStatus.RUNNING


def unknown_run(run: str) -> NotFoundError:
    return NotFoundError(
        "unknown_run", f"there is no run `{run}`", "list_runs() shows the runs that are open."
    )


def _of_update(error: WorkflowUpdateFailedError) -> Exception:
    cause = error.cause
    if isinstance(cause, ApplicationError):
        if cause.type == AGAIN:
            return SentAgainError()
        if cause.type == "wfc" and cause.details:
            return from_error(cause.details[0])
        if cause.type == "AcceptedUpdateCompletedWorkflow":
            return ClosedError()
    return StoreError("temporal", f"the submit failed: {cause}")
