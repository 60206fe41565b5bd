"""The connection to the Temporal server: its event loop thread, and explanations of failures to connect."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Coroutine
from datetime import timedelta
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from temporalio.api.enums.v1 import IndexedValueType, TaskQueueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.runtime import LogForwardingConfig, LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter
from temporalio.service import RPCError, RPCStatusCode, TLSConfig

from wfc_runtime.errors import StoreError
from wfc_runtime.service.temporal.codec import converter_of
from wfc_runtime.service.temporal.encryption import read_keyring
from wfc_runtime.service.temporal.search_attributes import KEYS
from wfc_runtime.service.temporal.settings import TemporalSettings

# An event loop in its own thread, for the service, which is called from other threads.

T = TypeVar("T")


class LoopThread:
    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="wfc-temporal", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and wait for its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


# Connecting.

_CONNECT = timedelta(seconds=5)
_RPC = timedelta(seconds=10)
_TYPE_NAMES = {
    IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD: "Keyword",
    IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST: "KeywordList",
    IndexedValueType.INDEXED_VALUE_TYPE_BOOL: "Bool",
}


async def connect(settings: TemporalSettings) -> Client:
    """A client whose server is reachable, and whose namespace exists and has our search attributes."""
    converter = converter_of(read_keyring(settings), settings.encrypted_only)
    try:
        client = await Client.connect(
            settings.address,
            namespace=settings.namespace,
            api_key=settings.api_key,
            tls=_tls(settings),
            data_converter=converter,
            connect_timeout=_CONNECT,
            runtime=_runtime(),
        )
        await _check_namespace(client)
        await _register(client, settings)
    except RPCError as error:
        raise translated(error, settings) from error
    except (RuntimeError, ValueError, OSError) as error:
        raise _unreachable(settings, str(error)) from error
    return client


@cache
def _runtime() -> Runtime:
    """A runtime that logs through Python: by default the library writes to standard output, which MCP clients read."""
    forwarding = LogForwardingConfig(logger=logging.getLogger("temporalio.core"))
    levels = TelemetryFilter(core_level="WARN", other_level="ERROR")
    return Runtime(telemetry=TelemetryConfig(logging=LoggingConfig(filter=levels, forwarding=forwarding)))


def _tls(settings: TemporalSettings) -> TLSConfig | bool:
    if not settings.uses_tls:
        return False
    return TLSConfig(
        server_root_ca_cert=_read(settings.tls_ca),
        client_cert=_read(settings.tls_cert),
        client_private_key=_read(settings.tls_key),
        domain=settings.tls_server_name,
    )


def _read(path: str | None) -> bytes | None:
    if path is None:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise StoreError(
            "temporal_settings", f"the TLS file {path} can't be read: {error.strerror}"
        ) from error


async def _check_namespace(client: Client) -> None:
    request = DescribeNamespaceRequest(namespace=client.namespace)
    await client.workflow_service.describe_namespace(request, timeout=_RPC)


async def _register(client: Client, settings: TemporalSettings) -> None:
    known = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=client.namespace), timeout=_RPC
    )
    missing = {
        key.name: IndexedValueType.ValueType(key.indexed_value_type)
        for key in KEYS
        if key.name not in known.custom_attributes
    }
    if not missing:
        return
    try:
        request = AddSearchAttributesRequest(namespace=client.namespace, search_attributes=missing)
        await client.operator_service.add_search_attributes(request, timeout=_RPC)
    except RPCError as error:
        # Another process may have added them at the same time.
        if error.status != RPCStatusCode.ALREADY_EXISTS:
            flags = " ".join(f"--name {name} --type {_TYPE_NAMES[kind]}" for name, kind in missing.items())
            raise StoreError(
                "search_attributes",
                f"namespace `{settings.namespace}` lacks search attributes, and they can't be added: "
                f"{error.message}",
                f"Run: temporal operator search-attribute create --namespace {settings.namespace} {flags}",
            ) from error


def translated(error: RPCError, settings: TemporalSettings) -> StoreError:
    """The `StoreError` for an error of the server or the connection."""
    said = error.message.splitlines()[0][:300] if error.message else str(error.status)
    match error.status:
        case RPCStatusCode.UNAVAILABLE | RPCStatusCode.DEADLINE_EXCEEDED:
            return _unreachable(settings, said)
        case RPCStatusCode.NOT_FOUND if "namespace" in said.lower():
            return StoreError(
                "namespace_missing",
                f"the Temporal server at {settings.address} has no namespace `{settings.namespace}`",
                f"Run: temporal operator namespace create --namespace {settings.namespace}; or set "
                "WFC_TEMPORAL_NAMESPACE.",
            )
        case RPCStatusCode.UNAUTHENTICATED | RPCStatusCode.PERMISSION_DENIED:
            return StoreError(
                "temporal_denied",
                f"the Temporal server at {settings.address} denied access: {said}",
                "Check WFC_TEMPORAL_API_KEY, the TLS settings and the namespace.",
            )
    return StoreError("temporal", f"error from the Temporal server at {settings.address}: {said}")


def _unreachable(settings: TemporalSettings, why: str) -> StoreError:
    if "InvalidContentType" in why:
        return StoreError(
            "temporal_unreachable",
            f"the server at {settings.address} does not use TLS, but the settings require it",
            "Unset WFC_TEMPORAL_TLS and the other TLS settings; an API key also requires TLS.",
        )
    # The library wraps the one useful sentence in its internals.
    plain = re.search(r'message: "([^"]+)"', why)
    said = plain.group(1) if plain else why.splitlines()[0][:300]
    return StoreError(
        "temporal_unreachable",
        f"there is no Temporal server at {settings.address}: {said}",
        "Start one (temporal server start-dev), or set WFC_TEMPORAL_ADDRESS.",
    )


async def pollers(client: Client, settings: TemporalSettings) -> list[tuple[str, float]]:
    """The workers that poll the task queue: identity, and time of the last poll."""
    found = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=client.namespace,
            task_queue=TaskQueue(name=settings.task_queue),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
        ),
        timeout=_RPC,
    )
    return [(one.identity, one.last_access_time.ToMilliseconds() / 1000) for one in found.pollers]
