"""A workflow worked to its end over MCP, with the server killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from agent import Agent, Reply
from mcp import Client, MCPError, StdioServerParameters
from script import PLANNING

ROOT = Path(__file__).parents[1]
# The shell becomes the server, so the id that it leaves behind is the server's.
_WITH_ID = 'echo $$ > "$0"; exec "$@"'


class Connection:
    """A client of a server of its own. After some calls its worker is killed, or the server as a whole."""

    def __init__(self, folder: Path, worker_killed_after: int = 0, killed_after: int = 0) -> None:
        self._pid_file = folder / "server.pid"
        self._worker_killed_after, self._killed_after = worker_killed_after, killed_after
        self._calls = 0
        self._stack = AsyncExitStack()
        command = [sys.executable, "-m", "wfc", "serve", "--toolsets", "core,debug"]
        self._parameters = StdioServerParameters(
            command="/bin/sh",
            args=["-c", _WITH_ID, str(self._pid_file), *command, "--state", str(folder / "state.db")],
            cwd=ROOT,
        )

    async def __aenter__(self) -> Connection:
        self._client = await self._stack.enter_async_context(Client(self._parameters))
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    async def call(self, tool: str, arguments: dict[str, Any]) -> Reply:
        result = await self._client.call_tool(tool, arguments)
        if result.is_error:
            raise SystemExit(f"{tool} was refused: {result.content}")
        self._calls += 1
        pid = int(self._pid_file.read_text(encoding="ascii"))
        if self._calls == self._worker_killed_after:
            worker = int(subprocess.check_output(["pgrep", "-P", str(pid)]))
            print(f"\nkill -9 {worker}: the worker is gone, and the agent does not notice", flush=True)
            os.kill(worker, signal.SIGKILL)
        if self._calls == self._killed_after:
            print(f"\nkill -9 {pid}: the server is gone, in the middle of a sub-agent's work", flush=True)
            os.kill(pid, signal.SIGKILL)
        reply: Reply = result.structured_content
        return reply


async def drive(folder: Path) -> None:
    try:
        async with Connection(folder, worker_killed_after=3, killed_after=5) as first:
            reply = await first.call("start_workflow", {"workflow": "interactive-planning", "inputs": {}})
            await Agent(first.call, PLANNING).follow(reply)
    except* MCPError as lost:
        print(f"the agent's next call: {lost.exceptions[0]}")
    async with Connection(folder) as second:
        [run] = (await second.call("list_runs", {}))["runs"]
        print(f"a new server on the same file: {run['workflow']} waits in {', '.join(run['pending'])}\n")
        reply = await second.call("get_workflow_status", {"workflow_id": run["workflow_id"]})
        ended = await Agent(second.call, PLANNING).follow(reply)
        saved = ended["result"]["saved_to"]
        print(f"\n{ended['status']} after {ended['result']['review_rounds']} reviews: {saved}")
        history = await second.call("get_workflow_history", {"workflow_id": run["workflow_id"]})
    show_history(history["events"])


def show_history(events: list[Reply]) -> None:
    print("\nThe history: when, what, who, and what it wrote")
    for event in events:
        written = ", ".join(event.get("written", ()))
        step = event.get("step_id", "")
        when = event["at"][11:23]
        line = f"  {event['seq']:>2}  {when}  {event['event']:<11}  {step:<18}  {event.get('actor', ''):<13}  {written}"
        print(line.rstrip())
