"""The server breaks a call off while a worker dies or a task fails: it is made again, and taken once."""

from __future__ import annotations

from typing import Any

import pytest
from temporalio.client import (
    Client,
    Interceptor,
    OutboundInterceptor,
    QueryWorkflowInput,
    StartWorkflowUpdateInput,
    WorkflowUpdateHandle,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.service import RPCError, RPCStatusCode

from tests.runtime.support import OK, TWO, TemporalBox, step_ids
from wfc_runtime.errors import StoreError
from wfc_runtime.service.temporal.rpc import Rpc

CANCELLED = RPCError("context canceled", RPCStatusCode.CANCELLED, b"")
TASK_FAILED = RPCError(
    "Unable to perform workflow execution update due to unexpected workflow task failure.",
    RPCStatusCode.FAILED_PRECONDITION,
    b"",
)
NO_POLLER = RPCError(
    "no poller seen for task queue recently, worker may be down", RPCStatusCode.FAILED_PRECONDITION, b""
)
CLOSING = RPCError("workflow update was aborted by closing workflow", RPCStatusCode.NOT_FOUND, b"")
OTHER = RPCError("a search attribute is bad", RPCStatusCode.INVALID_ARGUMENT, b"")


class Breaking(Interceptor):
    """Breaks off the first update or the first query, before the server has it or after."""

    def __init__(self, kind: str, error: Exception, is_taken: bool = False) -> None:
        self.kind = kind
        self.error = error
        self.is_taken = is_taken
        self.is_done = False

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        return _Broken(next, self)

    def strikes(self, kind: str) -> bool:
        strikes = kind == self.kind and not self.is_done
        self.is_done |= strikes
        return strikes


class _Broken(OutboundInterceptor):
    def __init__(self, next: OutboundInterceptor, plan: Breaking) -> None:
        super().__init__(next)
        self._plan = plan

    async def query_workflow(self, input: QueryWorkflowInput) -> Any:
        if self._plan.strikes("query"):
            raise self._plan.error
        return await super().query_workflow(input)

    async def start_workflow_update(self, input: StartWorkflowUpdateInput) -> WorkflowUpdateHandle[Any]:
        strikes = self._plan.strikes("update")
        if strikes and not self._plan.is_taken:
            raise self._plan.error
        taken = await super().start_workflow_update(input)
        if strikes:
            raise self._plan.error
        return taken


def broken(box: TemporalBox, plan: Breaking) -> Any:
    """The service, whose calls are broken off by a plan from here on."""
    service: Any = box.service
    config = service.client.config()
    config["interceptors"] = [plan]
    service._calls.rpc = Rpc(Client(**config), service.settings)
    return service


def given_up(error: RPCError) -> WorkflowUpdateRPCTimeoutOrCancelledError:
    """As the library hands on what the server has cancelled."""
    made = WorkflowUpdateRPCTimeoutOrCancelledError()
    made.__cause__ = error
    return made


@pytest.mark.parametrize(
    "plan",
    [
        Breaking("update", TASK_FAILED),
        Breaking("update", CLOSING),
        Breaking("update", given_up(CANCELLED)),
        Breaking("update", given_up(CANCELLED), is_taken=True),
    ],
    ids=["task failed", "execution closed", "cancelled", "cancelled when it was taken"],
)
def test_a_submit_that_the_server_broke_off_is_taken_once(temporal_box: TemporalBox, plan: Breaking) -> None:
    temporal_box.compile(TWO)
    run = temporal_box.service.start("w")["workflow_id"]
    service = broken(temporal_box, plan)
    assert step_ids(service.submit(run, "build", OK)) == ["test"]
    assert plan.is_done
    assert [event["event"] for event in service.history(run)["events"]] == ["started", "submitted"]


@pytest.mark.parametrize("error", [CANCELLED, NO_POLLER], ids=["cancelled", "no poller seen"])
def test_a_question_whose_worker_was_lost_is_asked_again(temporal_box: TemporalBox, error: RPCError) -> None:
    temporal_box.compile(TWO)
    run = temporal_box.service.start("w")["workflow_id"]
    service = broken(temporal_box, Breaking("query", error))
    assert step_ids(service.status(run)) == ["build"]


def test_what_will_not_pass_is_told_at_once(temporal_box: TemporalBox) -> None:
    temporal_box.compile(TWO)
    run = temporal_box.service.start("w")["workflow_id"]
    with pytest.raises(StoreError, match=r"error from the Temporal server at .*: a search attribute is bad"):
        broken(temporal_box, Breaking("update", OTHER)).submit(run, "build", OK)
