"""Calls to runs over the server: each ends with an answer or, within seconds, with the reason why there is none."""

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
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryReverseRequest
from temporalio.client import (
    Client,
    WorkflowExecutionDescription,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from wfc_runtime.errors import DefinitionError, NotFoundError, StoreError, WfcError
from wfc_runtime.service.temporal.connection import pollers, translated
from wfc_runtime.service.temporal.settings import TemporalSettings
from wfc_runtime.service.temporal.wire import AGAIN, from_error

T = TypeVar("T")
_RPC = timedelta(seconds=60)
_LOOK_AFTER = 2.0
"""Seconds without an answer after which we look for the reason."""
_PATIENCE = 43.0
"""Seconds after that. With the first, less than the minute after which clients give up."""
_PAUSE = 0.05
_GONE_AFTER = 90.0
"""A worker asks again at the latest after a minute."""
_EARLY = ("not scheduled", "in failed state", "unexpected workflow task failure")
_MISSING = re.compile(r"the worker has no version (\w+) of `([^`]+)`")


class SentAgainError(Exception):
    """A submit that was taken before."""


class ClosedError(Exception):
    """A call to a run that has ended."""


class Line:
    """A client, and patience."""

    def __init__(self, client: Client, settings: TemporalSettings) -> None:
        self.client = client
        self.settings = settings
        self._checked = -inf
        """When a worker was last known to be there."""

    async def update(self, run: str, name: str, arg: Any, kind: type[T]) -> T:
        """Raises what the validator said, `SentAgainError` or `ClosedError`."""
        handle = self.client.get_workflow_handle(run)
        try:
            return await self._patiently(run, self._update(handle, name, arg, kind))
        except WorkflowUpdateFailedError as error:
            raise _of_update(error) from None

    async def _update(self, handle: WorkflowHandle[Any, Any], name: str, arg: Any, kind: Any) -> Any:
        # By its id the server knows what it has taken before.
        update = uuid4().hex
        while True:
            try:
                return await handle.execute_update(name, arg, id=update, result_type=kind, rpc_timeout=_RPC)
            except RPCError as error:
                if not _may_yet_answer(error):
                    raise
            except WorkflowUpdateRPCTimeoutOrCancelledError as error:
                if not isinstance(error.__cause__, RPCError):
                    # It is we who have given up.
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
                return await handle.query(name, args=args, result_type=kind, rpc_timeout=_RPC)
            except RPCError as error:
                if not _may_yet_answer(error):
                    raise
                await asyncio.sleep(_PAUSE)

    async def describe(self, run: str) -> WorkflowExecutionDescription:
        return await self._patiently(run, self.client.get_workflow_handle(run).describe(rpc_timeout=_RPC))

    async def check_worker(self) -> None:
        """Raises where nobody would take up what is about to be started."""
        end = time.monotonic() + _LOOK_AFTER
        while time.monotonic() > self._checked + _GONE_AFTER / 2:
            missing = await self._no_worker()
            if missing is None:
                self._checked = time.monotonic()
            elif time.monotonic() > end:
                raise missing
            else:
                # One that has just been started may not have asked yet.
                await asyncio.sleep(_PAUSE)

    # -- waiting, and why it takes so long -------------------------------------

    async def _patiently(self, run: str, call: Coroutine[Any, Any, T]) -> T:
        task = asyncio.ensure_future(call)
        try:
            for seconds in (_LOOK_AFTER, _PATIENCE):
                done, _ = await asyncio.wait([task], timeout=seconds)
                if done:
                    return task.result()
                why = await self.diagnose(run)
                if why is not None:
                    raise why
            raise StoreError(
                "temporal_slow",
                f"run {run} gave no answer within {_LOOK_AFTER + _PATIENCE:.0f} s",
                "It may still come: ask again. Sending the same result again is safe.",
            )
        except (RPCError, WorkflowQueryFailedError) as error:
            raise await self._explained(run, error) from error
        except WorkflowUpdateRPCTimeoutOrCancelledError as error:
            raise StoreError("temporal_slow", f"run {run} gave no answer in time", "Ask again.") from error
        finally:
            if not task.done():
                # Nobody is left to hear how it ends.
                task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
                task.cancel()

    async def _explained(self, run: str, error: RPCError | WorkflowQueryFailedError) -> Exception:
        said = str(error)
        missing = _MISSING.search(said)
        if missing:
            return _lacking(missing.group(1), missing.group(2))
        if isinstance(error, WorkflowQueryFailedError):
            if "expected but not found" in said or "unknown query" in said.lower():
                return unknown_run(run)
            return await self.diagnose(run) or StoreError(
                "temporal", f"run {run} can't be asked: {said[:300]}"
            )
        if error.status == RPCStatusCode.NOT_FOUND and "namespace" not in said.lower():
            return ClosedError() if "already completed" in said else unknown_run(run)
        if error.status == RPCStatusCode.FAILED_PRECONDITION:
            return await self.diagnose(run) or translated(error, self.settings)
        return translated(error, self.settings)

    async def diagnose(self, run: str) -> WfcError | None:
        """Why a run does not answer. None: it should."""
        try:
            return await self._no_worker() or await self._failing(run)
        except RPCError as error:
            return None if error.status == RPCStatusCode.NOT_FOUND else translated(error, self.settings)

    async def _no_worker(self) -> StoreError | None:
        queue = self.settings.task_queue
        found = await pollers(self.client, self.settings)
        latest = max((at for _, at in found), default=None)
        if latest is not None and time.time() - latest < _GONE_AFTER:
            return None
        seen = (
            "none has been seen" if latest is None else f"the last was seen {time.time() - latest:.0f} s ago"
        )
        return StoreError(
            "no_worker",
            f"no worker serves task queue `{queue}` on {self.settings.address}: {seen}",
            "Start one with `wfc worker`, or serve with `wfc serve --with-worker`. What was submitted may have "
            "been kept: ask for the status once a worker is there.",
        )

    async def _failing(self, run: str) -> WfcError | None:
        handle = self.client.get_workflow_handle(run)
        raw = (await handle.describe(rpc_timeout=_RPC)).raw_description
        if raw.pending_workflow_task.attempt < 2:
            return None
        page = await self.client.workflow_service.get_workflow_execution_history_reverse(
            GetWorkflowExecutionHistoryReverseRequest(
                namespace=self.client.namespace,
                execution=raw.workflow_execution_info.execution,
                maximum_page_size=10,
            ),
            timeout=_RPC,
        )
        for event in page.history.events:
            if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
                said = event.workflow_task_failed_event_attributes.failure.message
                missing = _MISSING.search(said)
                if missing:
                    return _lacking(missing.group(1), missing.group(2))
                if said:
                    return StoreError("run_stuck", f"run {run} can't go on: {said[:300]}")
        return None


def _may_yet_answer(error: RPCError) -> bool:
    """Whether it is only the moment: a run's first task is still to come, its workers are busy or one of them was
    lost, a task that failed is tried again, or the run goes on in another execution."""
    match error.status:
        case RPCStatusCode.DEADLINE_EXCEEDED | RPCStatusCode.CANCELLED:
            return True
        case RPCStatusCode.FAILED_PRECONDITION:
            return any(words in error.message for words in _EARLY)
    return error.status == RPCStatusCode.NOT_FOUND and "aborted by closing" in error.message


def _lacking(digest: str, workflow: str) -> DefinitionError:
    return DefinitionError(
        "definition_missing",
        f"no worker that was asked has version {digest} of `{workflow}`; the run waits until one has",
        "Start a worker with that module in its generated folder, or in a folder named with --modules; or cancel "
        "the run.",
    )


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
