"""stdin and stdout without a thread per line: a step over stdio is a fifth quicker for it.

The SDK reads, writes and flushes in threads. The event loop can wait for a pipe or a socket itself (Node gives its
children sockets), and a short line can be written at once when there is room. Files and terminals are left to the
SDK.
"""

from __future__ import annotations

import asyncio
import os
import select
import stat
import sys
from contextlib import suppress
from typing import cast

import anyio

from wfc_runtime.server.threads import in_thread

Lines = anyio.AsyncFile[str]
_LONGEST_LINE = 64 * 1024 * 1024


class _Input:
    """The lines that come in."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def __aiter__(self) -> _Input:
        return self

    async def __anext__(self) -> str:
        try:
            line = await self._reader.readline()
        except ConnectionError:
            line = b""
        if not line:
            raise StopAsyncIteration
        return line.decode("utf-8", "replace")


class _Output:
    """The lines that go out, one after the other."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._room = select.poll()
        self._room.register(descriptor, select.POLLOUT)

    async def write(self, text: str) -> None:
        data = text.encode()
        # What has room at all has it for this much.
        if len(data) <= select.PIPE_BUF and self._room.poll(0):
            data = data[os.write(self._descriptor, data) :]
        if data:
            await in_thread(lambda: self._write_all(data))

    def _write_all(self, data: bytes) -> None:
        while data:
            self._room.poll()
            # One socket for both directions does not block for either.
            with suppress(BlockingIOError):
                data = data[os.write(self._descriptor, data) :]

    async def flush(self) -> None:
        """Nothing is held back."""


async def open_pipes() -> tuple[Lines | None, Lines | None]:
    """stdin and stdout as the SDK takes them. None for both: open them yourself."""
    if sys.platform == "win32" or not all(map(_can_be_waited_for, (0, 1))):
        return None, None
    incoming, outgoing = os.dup(0), os.dup(1)
    _divert()
    reader = asyncio.StreamReader(limit=_LONGEST_LINE)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(incoming, "rb", 0))
    return cast(Lines, _Input(reader)), cast(Lines, _Output(outgoing))


def _can_be_waited_for(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _divert() -> None:
    """Whatever else reads finds nothing, and whatever else prints goes to stderr and not between the messages."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
