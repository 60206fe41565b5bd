"""Whether the way to Temporal is clear: for `wfc doctor` and the like."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from wfc_runtime.errors import WfcError
from wfc_runtime.service.engines import require_temporal
from wfc_runtime.service.temporal.settings import TemporalSettings


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `hint` says what to do where it is not well."""

    what: str
    is_well: bool
    detail: str
    hint: str = ""


def check_connection(settings: TemporalSettings) -> list[Finding]:
    """The package, the server with its namespace, and the workers, as far as each can be looked at."""
    try:
        require_temporal()
    except WfcError as error:
        return [Finding("package", False, error.message, error.hint)]
    return [Finding("package", True, "temporalio is installed"), *asyncio.run(_look(settings))]


async def _look(settings: TemporalSettings) -> list[Finding]:
    from wfc_runtime.service.temporal.connection import connect, pollers

    try:
        client = await connect(settings)
        workers = await pollers(client, settings)
    except WfcError as error:
        return [Finding("server", False, error.message, error.hint)]
    server = Finding("server", True, str(settings))
    if not workers:
        detail = f"none serves task queue `{settings.task_queue}`"
        return [server, Finding("workers", False, detail, "Start one with `wfc worker`.")]
    latest = max(at for _, at in workers)
    detail = f"{len(workers)} seen, the last {max(0.0, time.time() - latest):.0f} s ago"
    return [server, Finding("workers", True, detail)]
