"""The agent's side: is the server named in .mcp.json, does it start, and does it answer?"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

from wfc.config import Config
from wfc.doctor.report import Result, bad, good, note

_SECONDS = 20


def check_clients(config: Config) -> Iterator[Result]:
    path = config.root / ".mcp.json"
    if not path.is_file():
        yield note("agent", "there is no .mcp.json: no agent knows the server", "`wfc init` writes one")
        return
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        servers = data["mcpServers"]
        entries = {name: one for name, one in servers.items() if _is_ours(one)}
    except (OSError, ValueError) as error:
        yield bad("agent", f".mcp.json can't be read: {error}", "mend it: an agent ignores all of it")
        return
    except (KeyError, TypeError, AttributeError):
        yield bad(
            "agent", ".mcp.json has no object `mcpServers`", "`wfc init --show` prints what belongs there"
        )
        return
    if not entries:
        yield note("agent", ".mcp.json names no `wfc serve`", "`wfc init --show` prints what belongs there")
    for name, entry in entries.items():
        yield _answer(name, entry, config)


def _is_ours(entry: Any) -> bool:
    words = [str(entry.get("command", "")), *map(str, entry.get("args", []))]
    return "serve" in words and any(word.rpartition("/")[2] in ("wfc", "wfc.exe") for word in words)


def _answer(name: str, entry: Any, config: Config) -> Result:
    """Start it as the agent would, and ask for its tools."""
    import asyncio

    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    words = [str(entry["command"]), *map(str, entry.get("args", []))]
    env = {**os.environ, **{key: str(value) for key, value in entry.get("env", {}).items()}}
    server = StdioServerParameters(command=words[0], args=words[1:], cwd=config.root, env=env)

    async def tools() -> int:
        async with asyncio.timeout(_SECONDS):
            with open(os.devnull, "w", encoding="utf-8") as silent:
                async with Client(stdio_client(server, errlog=silent)) as client:
                    return len((await client.list_tools()).tools)

    shown = " ".join(words)
    try:
        number = asyncio.run(tools())
    except Exception as error:
        if shutil.which(words[0], path=env.get("PATH")) is None:
            return bad(
                "agent",
                f"there is no program `{words[0]}` to start (`{name}` in .mcp.json)",
                f"start the agent where it is on the PATH, or name its whole path in .mcp.json{_own()}",
            )
        reason = _first(error)
        return bad(
            "agent", f"`{shown}` (`{name}` in .mcp.json) does not answer: {reason}", f"try it: {shown}"
        )
    return good("agent", f"`{shown}` (`{name}` in .mcp.json) answers, with {number} tools")


def _own() -> str:
    """Where this wfc has been put, as an agent may start it."""
    program = shutil.which("wfc", path=os.path.dirname(sys.executable))
    return f": {program}" if program else ""


def _first(error: BaseException) -> str:
    """What went wrong first, under whatever groups the SDK wraps around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"nothing came within {_SECONDS} seconds"
    return str(error) or type(error).__name__
