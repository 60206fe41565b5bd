"""Saying what the server is doing while a client waits for its reply."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio

from wfc_runtime.server.actor import Context
from wfc_runtime.server.threads import in_thread

T = TypeVar("T")
_EVERY = 2.0


async def in_thread_with_progress(ctx: Context, at_work: Callable[[], list[str]], work: Callable[[], T]) -> T:
    """Work in a thread, with a notification every now and then, for clients that asked for them."""
    failed: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(_report, ctx, at_work)
        try:
            found = await in_thread(work)
        except Exception as error:
            # Raised in here it would come out wrapped up in a group.
            failed = error
        group.cancel_scope.cancel()
    if failed is not None:
        raise failed
    return found


async def _report(ctx: Context, at_work: Callable[[], list[str]]) -> None:
    begun = anyio.current_time()
    while True:
        await anyio.sleep(_EVERY)
        doing = at_work()
        if doing:
            await ctx.session.report_progress(anyio.current_time() - begun, None, ", ".join(doing))
