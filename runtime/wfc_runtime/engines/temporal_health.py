"""Checks of the Temporal engine for `wfc doctor`."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from wfc_runtime.engines import require_temporal
from wfc_runtime.errors import WfcError
from wfc_runtime.service.temporal.encryption import IN_CLEAR, SET_A_KEY, read_keyring
from wfc_runtime.service.temporal.settings import TemporalSettings


@dataclass(frozen=True)
class Finding:
    """The result of one check. `hint` is the remedy for a problem, or a suggestion."""

    what: str
    is_well: bool
    detail: str
    hint: str = ""


def check_connection(settings: TemporalSettings) -> list[Finding]:
    """Check the package, the encryption keys, the server with its namespace, and the workers."""
    try:
        require_temporal()
    except WfcError as error:
        return [Finding("package", False, error.message, error.hint)]
    package = Finding("package", True, "temporalio is installed")
    return [package, _encryption(settings), *asyncio.run(_server_and_workers(settings))]


def _encryption(settings: TemporalSettings) -> Finding:
    try:
        ids = read_keyring(settings).ids
    except WfcError as error:
        return Finding("encryption", False, error.message, error.hint)
    if not ids:
        return Finding("encryption", True, IN_CLEAR, SET_A_KEY)
    more = f"; {len(ids) - 1} more to decrypt" if len(ids) > 1 else ""
    only = "; unencrypted payloads are refused" if settings.encrypted_only else ""
    return Finding("encryption", True, f"payloads are encrypted with key `{ids[0]}`{more}{only}")


async def _server_and_workers(settings: TemporalSettings) -> list[Finding]:
    from wfc_runtime.service.temporal.connection import connect, pollers

    try:
        client = await connect(settings)
        workers = await pollers(client, settings)
    except WfcError as error:
        return [Finding("server", False, error.message, error.hint)]
    server = Finding("server", True, str(settings))
    if not workers:
        detail = f"no worker polls task queue `{settings.task_queue}`"
        return [server, Finding("workers", False, detail, "Start one with `wfc worker`.")]
    latest = max(at for _, at in workers)
    detail = f"{len(workers)} seen, the last {max(0.0, time.time() - latest):.0f} s ago"
    return [server, Finding("workers", True, detail)]
