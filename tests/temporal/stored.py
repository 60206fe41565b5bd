"""What the Temporal server has of runs, in bytes, and whether a text stands in them in any usual encoding."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable
from typing import Any

from temporalio.api.common.v1 import Payload, WorkflowExecution
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import (
    DescribeWorkflowExecutionRequest,
    GetWorkflowExecutionHistoryRequest,
)
from temporalio.client import Client

from tests.runtime.support import TemporalBox


def forms(text: str) -> set[bytes]:
    """A text as it is, in UTF-16, in hexadecimal, and as a part of longer data in base64."""
    data = text.encode()
    found = {data, data[::-1], data.hex().encode(), data.hex().upper().encode(), text.encode("utf-16-le")}
    for offset in range(3):
        for encoded in (b64encode, urlsafe_b64encode):
            # The first and the last characters depend on what stands around it.
            found.add(encoded(b"\0" * offset + data)[offset and 4 : -4])
    return found


def appears(text: str, data: bytes) -> bool:
    return any(form in data for form in forms(text))


def events_of(box: TemporalBox, run: str) -> list[HistoryEvent]:
    """Of every execution of a run, as the server stores them."""
    return box.service._run(_events(box.service.client, run))


async def _events(client: Client, run: str) -> list[HistoryEvent]:
    found: list[HistoryEvent] = []
    execution = WorkflowExecution(workflow_id=run)
    while True:
        request = GetWorkflowExecutionHistoryRequest(namespace=client.namespace, execution=execution)
        part: list[HistoryEvent] = []
        while True:
            page = await client.workflow_service.get_workflow_execution_history(request)
            part += page.history.events
            if not page.next_page_token:
                break
            request.next_page_token = page.next_page_token
        found = part + found
        earlier = part[0].workflow_execution_started_event_attributes.continued_execution_run_id
        if not earlier:
            return found
        execution = WorkflowExecution(workflow_id=run, run_id=earlier)


def stored(box: TemporalBox, runs: Iterable[str]) -> bytes:
    """History, description, memo and search attributes of runs."""
    client: Client = box.service.client
    found = b""
    for run in runs:
        request = DescribeWorkflowExecutionRequest(
            namespace=client.namespace, execution=WorkflowExecution(workflow_id=run)
        )
        described = box.service._run(client.workflow_service.describe_workflow_execution(request))
        found += described.SerializeToString()
        found += b"".join(event.SerializeToString() for event in events_of(box, run))
    return found


def payloads_in(message: Any) -> list[Payload]:
    """Every payload inside a message, but not the search attributes, which the server has to read."""
    if isinstance(message, Payload):
        return [message]
    found: list[Payload] = []
    for field, value in message.ListFields():
        if field.name in ("search_attributes", "indexed_fields"):
            continue
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            inner = field.message_type.fields_by_name["value"]
            values = list(value.values()) if inner.message_type is not None else []
        else:
            values = list(value) if field.is_repeated else [value]
        for one in values:
            found += payloads_in(one)
    return found
