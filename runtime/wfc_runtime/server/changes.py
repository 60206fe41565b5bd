"""Tells clients that a list has changed: workflows were compiled or removed, a run was started or has ended.

A client learns of workflows without calling a tool, since a person may want to use their prompts next.

The older protocol has notifications for the session that made the call; in the newer one, a client subscribes, and
every subscriber is notified.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
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

if TYPE_CHECKING:
    from mcp.server.session import ServerSession

_LOOK_EVERY = 1.0


class Changes:
    """The changes since clients were last notified."""

    def __init__(self, options: Options) -> None:
        self._generated = options.generated
        self._typed_tools = options.typed_tools
        self._bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self._bus)
        # The state at the start is not a change.
        self._seen = _stamp(self._generated)
        self._session: ServerSession | None = None

    def meet(self, ctx: RequestContext) -> None:
        """Remember the client of an older protocol, to which notifications can be sent at any time."""
        # Over HTTP such a session may have no stream that they could go to.
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS and ctx.request is None:
            self._session = ctx.session

    async def watch(self) -> None:
        """Poll for new and removed workflows until the server ends."""
        while True:
            await anyio.sleep(_LOOK_EVERY)
            for event in self._compiled():
                await self._send(event)

    async def notify(self, ctx: RequestContext, hints: Hints, reply: Reply) -> None:
        """After a call of a tool with these hints."""
        self.meet(ctx)
        events: list[ServerEvent] = []
        # A keyed call that moves a run has started it, and a call that is not read-only may have ended one.
        if (hints.keyed and hints.moves) or (reply.get("status") in ENDED and not hints.reads):
            events.append(ResourcesListChanged())
        for event in (*events, *self._compiled()):
            await self._send(event)

    def _compiled(self) -> list[ServerEvent]:
        """The lists that have changed because the compiled workflows have."""
        # The folder's own time changes with each file that is written by renaming, as `wfc compile` does. Looking at
        # every file would be felt in each step.
        now = _stamp(self._generated)
        if now == self._seen:
            return []
        # Recorded before clients are notified, so that a change in between leads to another notification.
        self._seen = now
        return [PromptsListChanged(), *([ToolsListChanged()] if self._typed_tools else [])]

    async def _send(self, event: ServerEvent) -> None:
        await self._bus.publish(event)
        if self._session is None:
            return
        match event:
            case ResourcesListChanged():
                await self._session.send_resource_list_changed()
            case PromptsListChanged():
                await self._session.send_prompt_list_changed()
            case ToolsListChanged():
                await self._session.send_tool_list_changed()


def _stamp(folder: Path) -> int:
    # A folder that does not exist yet has the stamp 0, and creating it is a change.
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0
