"""Assembles the MCP server. Until the first request only the SDK and a few modules are imported, for a fast start."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

from mcp.server.lowlevel.server import Server

from wfc_runtime.errors import StoreError
from wfc_runtime.server.changes import Changes
from wfc_runtime.server.context import Options, ServerContext
from wfc_runtime.server.guide import PromptHandlers, instructions
from wfc_runtime.server.handlers import ToolHandlers
from wfc_runtime.server.resources import ResourceHandlers
from wfc_runtime.version import __version__

# Secrets next to the store: created once, readable by their owner only, shared by all servers of that store.

_SHORTEST = 32


def load_secret(state: Path, kind: str) -> str:
    """The secret of that kind; created if there is none. Raises `StoreError`."""
    # Imported here: nothing needs the store before the first call.
    from wfc_runtime.store.database import prepare_file

    path = state.with_name(f"{state.name}.{kind}")
    try:
        # Also checks and creates the folder with the right mode: the secret must not be the first file in it.
        prepare_file(state)
        if not path.exists():
            _create(path)
        found = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(
            "secret_unusable", f"{path} can't be used: {error}", "Delete it; a new one will be created."
        ) from None
    # An empty or truncated file would be a guessable secret.
    if len(found) < _SHORTEST:
        raise StoreError(
            "secret_unusable", f"{path} does not contain a secret", "Delete it; a new one will be created."
        )
    return found


def _create(path: Path) -> None:
    """Create the file atomically. If two processes do this at the same time, one wins and both use its secret."""
    # Written under another name first: a file that exists under the final name always has its whole content.
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(f"{secrets.token_urlsafe(32)}\n")
        # `link` fails if the name exists, whereas `rename` would replace the secret that another process
        # already uses.
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(fresh)


# The server.

_KEPT_SECONDS = 30 * 24 * 3600.0
"""How long a user may take to answer a form."""


def build_server(context: ServerContext, options: Options, changes: Changes) -> Server[Any]:
    tools, prompts, resources = (
        ToolHandlers(context, options, changes),
        PromptHandlers(context),
        ResourceHandlers(context),
    )
    server: Server[Any] = Server(
        "wfc",
        version=__version__,
        title="wfc workflows",
        description="Durable agent workflows, one action at a time.",
        instructions=instructions(options),
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,
        on_list_prompts=prompts.list_prompts,
        on_get_prompt=prompts.get_prompt,
        on_list_resources=resources.list_resources,
        on_list_resource_templates=resources.list_templates,
        on_read_resource=resources.read_resource,
        on_subscriptions_listen=changes.listen,
    )
    # The key is only read if it is needed: without forms, nothing has to be signed.
    if options.elicit:
        _seal_questions(server, options)
    return server


def _seal_questions(server: Server[Any], options: Options) -> None:
    """Sign the state that goes to the client with a question, so that it can be trusted when it comes back, even after
    a restart."""
    from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

    key = load_secret(options.state, "key")
    security = RequestStateSecurity(keys=[key], ttl=_KEPT_SECONDS)
    server.middleware.append(RequestStateBoundary(security, default_audience=server.name))
