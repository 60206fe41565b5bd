"""The service waits for the disk and, now and then, for another process: never on the event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread

T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work)
