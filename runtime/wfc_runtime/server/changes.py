"""Tells clients that a list has changed: workflows were compiled or removed, a run was started or has ended.

The older protocol has notifications for the session that made the call; in the newer one a client subscribes, and every
subscriber is told.
"""

from __future__ import annotations

import os
from pathlib import Path

from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ServerEvent,
    ToolsListChanged,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from wfc_runtime.contract import ENDED
from wfc_runtime.server.context import Options
from wfc_runtime.server.tools import Hints, RequestContext
from wfc_runtime.service import Reply


class Changes:
    """What has changed since clients were last told."""

    def __init__(self, options: Options) -> None:
        self._generated = options.generated
        self._typed_tools = options.typed_tools
        self._bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self._bus)
        self._seen = _stamp(self._generated)

    async def notify(self, ctx: RequestContext, hints: Hints, reply: Reply) -> None:
        """After a call of a tool with these hints."""
        events: list[ServerEvent] = []
        if hints.keyed or (reply.get("status") in ENDED and not hints.reads):
            events.append(ResourcesListChanged())
        # The folder's own time changes with each file that is written by renaming, as `wfc compile` does. Looking at
        # every file would be felt in each step.
        now = _stamp(self._generated)
        if now != self._seen:
            self._seen = now
            events += [PromptsListChanged(), *([ToolsListChanged()] if self._typed_tools else [])]
        for event in events:
            await self._send(ctx, event)

    async def _send(self, ctx: RequestContext, event: ServerEvent) -> None:
        await self._bus.publish(event)
        # Over HTTP a session of the older protocol may have no stream that this could go to.
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS and ctx.request is None:
            match event:
                case ResourcesListChanged():
                    await ctx.session.send_resource_list_changed()
                case PromptsListChanged():
                    await ctx.session.send_prompt_list_changed()
                case ToolsListChanged():
                    await ctx.session.send_tool_list_changed()


def _stamp(folder: Path) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0
