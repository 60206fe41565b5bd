"""An implementation behind its MCP tools, on stdin and stdout of a process."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import TextContent

from conformance.suite import Finding
from conformance.trying import PATIENCE, RefusedError, Reply


@dataclass(frozen=True)
class Server:
    """The tools that a case needs, as plain functions."""

    client: Client
    portal: BlockingPortal
    checker: str | None
    """A command that checks a file, for a server without `validate_workflow_yaml`."""

    def check(self, text: str) -> list[Finding]:
        found = (
            _by_command(self.checker, text)
            if self.checker
            else self._call("validate_workflow_yaml", yaml=text)
        )
        return [
            Finding(one["code"], one["line"], one["column"], one["severity"]) for one in found["findings"]
        ]

    def start(self, text: str, inputs: dict[str, Any] | None) -> Reply:
        return self._call("execute_inline_workflow", yaml=text, inputs=inputs or {})

    def submit(self, run: str, step: str, result: Any) -> Reply:
        return self._call("submit_result", workflow_id=run, step_id=step, result=result)

    def status(self, run: str) -> Reply:
        return self._call("get_workflow_status", workflow_id=run)

    def state(self, run: str, fields: list[str]) -> Reply:
        state: Reply = self._call("get_workflow_state", workflow_id=run, fields=fields)["state"]
        return state

    def retry(self, run: str) -> Reply:
        return self._call("retry_workflow", workflow_id=run)

    def cancel(self, run: str) -> Reply:
        return self._call("cancel_workflow", workflow_id=run, reason="the case is over")

    def _call(self, tool: str, **arguments: Any) -> Reply:
        result = self.portal.call(lambda: self.client.call_tool(tool, arguments))
        [content] = result.content
        text = content.text if isinstance(content, TextContent) else ""
        if result.is_error:
            raise RefusedError(text)
        # A server of an older protocol sends text only.
        reply: Reply = result.structured_content or json.loads(text)
        return reply


def _by_command(command: str | None, text: str) -> Reply:
    assert command is not None
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        path = Path(folder) / "workflow.yaml"
        path.write_text(text, encoding="utf-8")
        done = subprocess.run([*shlex.split(command), str(path)], capture_output=True, text=True, check=False)
    reply: Reply = json.loads(done.stdout)
    return reply


@contextmanager
def serving(command: list[str], folder: Path, checker: str | None = None) -> Iterator[Server]:
    """A server process in a project folder. It gets the whole environment, since only its user knows what it needs."""
    program, *arguments = command
    parameters = StdioServerParameters(command=program, args=arguments, cwd=folder, env=dict(os.environ))
    with start_blocking_portal() as portal, (folder / "server.log").open("w", encoding="utf-8") as log:
        client = Client(stdio_client(parameters, errlog=log), read_timeout_seconds=PATIENCE)
        with portal.wrap_async_context_manager(client) as connected:
            yield Server(connected, portal, checker)
