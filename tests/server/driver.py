"""The official client against a real `wfc serve` process, as plain functions: each call waits for its answer."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.session import ElicitationFnT
from mcp.client.stdio import stdio_client
from mcp_types import TextContent

from tests.forks import command
from tests.support import PATIENCE, wait_until

ERAS = {"2025-11-25": "legacy", "2026-07-28": "auto"}
"""The protocol versions, and how the client is told to speak each."""
SHELL_OK = {"stdout": "fine", "stderr": "", "exit_code": 0}

Reply = dict[str, Any]


class ToolRefusedError(Exception):
    """The text of a tool's error."""


@dataclass(frozen=True)
class Agent:
    """One client of one server."""

    client: Client
    portal: BlockingPortal
    pid_file: Path
    log_file: Path

    def call(self, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> Reply:
        """A tool's reply. `meta` goes beside the arguments, as some clients do."""
        meta = more.pop("meta", None)
        given = {**(arguments or {}), **more}
        result = self.portal.call(lambda: self.client.call_tool(tool, given, meta=meta))
        if result.is_error:
            [content] = result.content
            assert isinstance(content, TextContent)
            raise ToolRefusedError(content.text)
        [content] = result.content
        assert isinstance(content, TextContent)
        assert isinstance(result.structured_content, dict)
        # A client that knows only one of the two loses nothing.
        assert json.loads(content.text) == result.structured_content
        return result.structured_content

    def refusal(self, tool: str, **arguments: Any) -> str:
        """The text of the error that a call must give."""
        try:
            reply = self.call(tool, **arguments)
        except ToolRefusedError as refused:
            return str(refused)
        raise AssertionError(f"{tool} was not refused: {reply}")

    def ask(self, method: str, *arguments: Any, **more: Any) -> Any:
        """Any other request of the client's."""
        return self.portal.call(lambda: getattr(self.client, method)(*arguments, **more))

    def read(self, uri: str) -> str:
        [content] = self.ask("read_resource", uri).contents
        return str(content.text)

    def unread(self, uri: str) -> str:
        """The message of the error that reading a resource must give."""
        try:
            self.read(uri)
        except MCPError as error:
            return error.message
        raise AssertionError(f"{uri} could be read")

    @property
    def front(self) -> int:
        """The process that the client knows."""
        return int(self.pid_file.read_text(encoding="ascii"))

    @property
    def worker(self) -> int:
        """The process that does the work; after a kill, another one."""
        path = self.pid_file.with_name(f"{self.pid_file.name}.worker")
        # It is empty for a moment while a new worker writes it.
        return int(wait_until(lambda: path.read_text(encoding="ascii")))

    @property
    def log(self) -> str:
        return self.log_file.read_text(encoding="utf-8")

    def kill_worker(self) -> None:
        """As if the power failed, for this one process. The client does not notice."""
        os.kill(self.worker, signal.SIGKILL)

    def kill(self) -> None:
        """Both processes at once: the client has lost its server."""
        worker = self.worker
        os.kill(self.front, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)


@dataclass(frozen=True)
class Place:
    """A project folder, and how servers are started in it."""

    folder: Path
    portal: BlockingPortal

    @property
    def state(self) -> Path:
        return self.folder / "runs" / "state.db"

    @contextmanager
    def server(
        self,
        *options: str,
        mode: str = "auto",
        on_form: ElicitationFnT | None = None,
        env: dict[str, str] | None = None,
    ) -> Iterator[Agent]:
        """A server of its own, with a client connected to it."""
        number = len(list(self.folder.glob("*.pid")))
        pid_file, log_file = self.folder / f"{number}.pid", self.folder / f"{number}.log"
        program, *arguments = command("serve", *options, pid_file=pid_file)
        parameters = StdioServerParameters(
            command=program,
            args=arguments,
            cwd=self.folder,
            env={
                "WFC_STATE": str(self.state),
                "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"],
                **(env or {}),
            },
        )
        with log_file.open("w", encoding="utf-8") as log:
            client = Client(
                stdio_client(parameters, errlog=log),
                mode=mode,
                read_timeout_seconds=PATIENCE,
                elicitation_callback=on_form,
            )
            with self.portal.wrap_async_context_manager(client) as connected:
                yield Agent(connected, self.portal, pid_file, log_file)
