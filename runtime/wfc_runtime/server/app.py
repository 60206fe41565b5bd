"""The server, put together. Up to its first answer nothing is imported but the SDK and these few modules."""

from __future__ import annotations

from typing import Any

from mcp.server.lowlevel.server import Server

from wfc_runtime.server.desk import Desk
from wfc_runtime.server.handlers import ToolHandlers
from wfc_runtime.server.options import Options
from wfc_runtime.server.prompts import PromptHandlers
from wfc_runtime.server.resources import ResourceHandlers
from wfc_runtime.server.words import INSTRUCTIONS
from wfc_runtime.version import __version__

_KEPT_SECONDS = 30 * 24 * 3600.0
"""How long a person may take over a form."""


def build_server(desk: Desk, options: Options) -> Server[Any]:
    tools, prompts, resources = ToolHandlers(desk, options), PromptHandlers(desk), ResourceHandlers(desk)
    server: Server[Any] = Server(
        "wfc",
        version=__version__,
        title="wfc workflows",
        description="Durable agent workflows, one action at a time.",
        instructions=INSTRUCTIONS,
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,
        on_list_prompts=prompts.list_prompts,
        on_get_prompt=prompts.get_prompt,
        on_list_resources=resources.list_resources,
        on_list_resource_templates=resources.list_templates,
        on_read_resource=resources.read_resource,
    )
    if options.elicit:
        _seal_questions(server, options)
    return server


def _seal_questions(server: Server[Any], options: Options) -> None:
    """What comes back with an answer must be what was sent out, also after a restart."""
    from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

    from wfc_runtime.server.secret_files import load_secret

    key = load_secret(options.state, "key")
    security = RequestStateSecurity(keys=[key], ttl=_KEPT_SECONDS)
    server.middleware.append(RequestStateBoundary(security, default_audience=server.name))
