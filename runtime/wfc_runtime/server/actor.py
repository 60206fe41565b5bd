"""Who called, as far as the client says."""

from __future__ import annotations

import secrets
from typing import Any

from mcp.server.context import ServerRequestContext

Context = ServerRequestContext[Any, Any]
_TOOL_USE = "claudecode/toolUseId"
_PROCESS = secrets.token_hex(4)
"""On stdio a process is a session."""


def actor_of(ctx: Context) -> str:
    """The tool use where the client names it, else the session, else the client and this process."""
    meta: dict[str, Any] = {**(ctx.meta or {})}
    tool_use = meta.get(_TOOL_USE)
    if isinstance(tool_use, str) and tool_use:
        return tool_use
    headers = getattr(ctx.request, "headers", {})
    session = headers.get("mcp-session-id")
    if session:
        return f"session:{session}"
    client = ctx.session.client_params
    return f"{client.client_info.name if client else 'client'}:{_PROCESS}"
