"""MCP over stdin and stdout: one client, as long as it keeps the pipe open."""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import stat
import sys
from contextlib import suppress
from typing import cast

import anyio
import pydantic_core
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.stdio import stdio_server

from wfc_runtime.contract import Json
from wfc_runtime.interrupt import leave_on_interrupt
from wfc_runtime.server.app import build_server
from wfc_runtime.server.changes import Changes
from wfc_runtime.server.context import Options, ServerContext
from wfc_runtime.server.front_messages import SOURCES
from wfc_runtime.server.tools import in_thread

# stdin and stdout without a thread per line, which makes a step over stdio about a fifth faster. The SDK reads, writes
# and flushes in threads. The event loop itself can wait for a pipe or a socket (Node gives its children sockets), and
# a short line can be written immediately if there is space. Files and terminals are left to the SDK.

Lines = anyio.AsyncFile[str]
_LONGEST_LINE = 64 * 1024 * 1024
_NO_MESSAGE = (
    "Not a JSON-RPC 2.0 message: expected one object with a method, its params as an object, and an id."
)


class _Input:
    """Incoming lines. Invalid messages are answered with an error; the SDK would drop them silently."""

    def __init__(self, reader: asyncio.StreamReader, output: _Output) -> None:
        self._reader = reader
        self._output = output

    def __aiter__(self) -> _Input:
        return self

    async def __anext__(self) -> str:
        while True:
            try:
                line = await self._reader.readline()
            except ConnectionError:
                line = b""
            except ValueError:
                # asyncio has discarded its buffer; the rest of the line is not a valid message either.
                await self._output.write(_refusal(b"", f"is longer than {_LONGEST_LINE:,} bytes"))
                continue
            if not line:
                raise StopAsyncIteration
            try:
                # pydantic's parser, because the SDK uses it too: what it refuses here would be dropped there.
                found = pydantic_core.from_json(line)
            except ValueError as error:
                if line.strip():
                    await self._output.write(_refusal(line, f"can't be read as JSON: {error}"))
                continue
            if _is_message(found):
                # A byte that is not UTF-8 inside a valid message does not make it invalid.
                return line.decode("utf-8", "replace")
            number = found.get("id") if isinstance(found, dict) else None
            await self._output.write(_answer(number if _is_id(number) else None, -32600, _NO_MESSAGE))


def _is_message(value: Json) -> bool:
    """Whether it is a request, a notification or an answer. An invalid answer counts too: it must not be answered."""
    if not isinstance(value, dict):
        return False
    if "method" not in value and ("result" in value or "error" in value):
        return True
    number, method, params = (value.get(name) for name in ("id", "method", "params"))
    # An `id` of null counts as absent.
    fits = isinstance(method, str) and isinstance(params, dict | None) and (number is None or _is_id(number))
    return fits and value.get("jsonrpc") == "2.0"


def _is_id(value: Json) -> bool:
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _refusal(line: bytes, why: str) -> str:
    """The answer to an unreadable message. Its id is looked for near both ends, beside the protocol version."""
    # Only near the ends: the middle may have megabytes, and an `id` in it may belong to a value.
    found = _ID.search(line, 0, _END) or _ID.search(line, max(0, len(line) - _END))
    number = json.loads(found[1] or found[2]) if found else None
    return _answer(number, -32700, f"The message {why}. Values may be nested 100 levels deep.")


def _answer(number: int | str | None, code: int, message: str) -> str:
    error = {"code": code, "message": message}
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": error}) + "\n"


_END = 1000
_NUMBER = rb'(-?(?:0|[1-9]\d{0,14})(?![\d.eE])|"[\w.:-]{1,200}")'
_ID = re.compile(
    rb'"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*%b|"id"\s*:\s*%b\s*,\s*"jsonrpc"' % (_NUMBER, _NUMBER)
)


class _Output:
    """Outgoing lines, one at a time."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._room = select.poll()
        self._room.register(descriptor, select.POLLOUT)
        # Lines of different tasks must not be mixed.
        self._turn = asyncio.Lock()

    async def write(self, text: str) -> None:
        data = text.encode()
        async with self._turn:
            # POSIX: a writable pipe accepts PIPE_BUF bytes without blocking.
            if len(data) <= select.PIPE_BUF and self._room.poll(0):
                # A short write is possible on sockets.
                data = data[os.write(self._descriptor, data) :]
            if data:
                await in_thread(lambda: self._write_all(data))

    def _write_all(self, data: bytes) -> None:
        while data:
            self._room.poll()
            # With a socket for both directions, the descriptor is non-blocking because the reader made it so.
            with suppress(BlockingIOError):
                data = data[os.write(self._descriptor, data) :]

    async def flush(self) -> None:
        """Nothing is buffered."""


async def open_pipes() -> tuple[Lines | None, Lines | None]:
    """stdin and stdout as the SDK expects them; None for both: the SDK opens them itself."""
    if sys.platform == "win32" or not all(map(_can_be_waited_for, (0, 1))):
        return None, None
    # Copies, since the numbers 0 and 1 are redirected next.
    incoming, outgoing = os.dup(0), os.dup(1)
    _divert()
    reader = asyncio.StreamReader(limit=_LONGEST_LINE)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(incoming, "rb", 0))
    output = _Output(outgoing)
    return cast(Lines, _Input(reader, output)), cast(Lines, output)


def _can_be_waited_for(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _divert() -> None:
    """Redirect descriptors 0 and 1: other readers get nothing, and stray prints go to stderr, not between messages."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)


# Serving.

_NOTIFICATIONS = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)


def serve_stdio(options: Options) -> None:
    # Acknowledged answers are on disk, so Ctrl-C may end the process immediately: a thread that waits for a line can't
    # be interrupted.
    leave_on_interrupt()
    context = ServerContext(options)
    context.start_working()
    try:
        anyio.run(_serve, context, options)
    finally:
        context.close()


async def _serve(context: ServerContext, options: Options) -> None:
    changes = Changes(options)
    server = build_server(context, options, changes)
    pipes = await open_pipes()
    if options.sources is not None and pipes[1] is not None:
        # Sent before any of them is read: a later change is then detected as a change.
        paths = [str(path.absolute()) for path in options.sources]
        said = {"jsonrpc": "2.0", "method": SOURCES, "params": {"paths": paths}}
        await pipes[1].write(json.dumps(said) + "\n")
    async with stdio_server(*pipes) as (incoming, outgoing), anyio.create_task_group() as group:
        group.start_soon(changes.watch)
        await server.run(incoming, outgoing, server.create_initialization_options(_NOTIFICATIONS))
        group.cancel_scope.cancel()
