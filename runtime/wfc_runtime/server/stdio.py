"""MCP over stdin and stdout: one client, for as long as it keeps the pipe open."""

from __future__ import annotations

import anyio
from mcp.server.stdio import stdio_server

from wfc_runtime.interrupt import leave_on_interrupt
from wfc_runtime.server.app import build_server
from wfc_runtime.server.desk import Desk
from wfc_runtime.server.options import Options
from wfc_runtime.server.pipes import open_pipes


def serve_stdio(options: Options) -> None:
    # What was answered is on disk, so Ctrl-C may end the process at once: a thread that waits for a line
    # can't be asked to stop.
    leave_on_interrupt()
    desk = Desk(options)
    desk.start_working()
    try:
        anyio.run(_serve, desk, options)
    finally:
        desk.close()


async def _serve(desk: Desk, options: Options) -> None:
    server = build_server(desk, options)
    async with stdio_server(*await open_pipes()) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
