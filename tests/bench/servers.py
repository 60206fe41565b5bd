"""Server processes to measure: ours, and the least that the SDK can be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

_BYTECODE = tempfile.TemporaryDirectory(prefix="wfc-bench-servers-")

BARE = """\
from typing import Any
from mcp.server import MCPServer

server = MCPServer("bare")

@server.tool()
def echo(workflow_id: str, step_id: str, result: Any) -> dict[str, Any]:
    return {"workflow_id": workflow_id, "step_id": step_id, "result": result}

server.run("stdio")
"""
BARE_COMMAND = (sys.executable, "-c", BARE)
_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


def our_command(state: Path) -> tuple[str, ...]:
    return (sys.executable, "-m", "wfc", "serve", "--state", str(state))


@dataclass
class Server:
    """One process, spoken to in the plainest way: the client costs next to nothing."""

    process: subprocess.Popen[bytes]
    incoming: IO[bytes]
    outgoing: IO[bytes]
    requests: int = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self.requests += 1
        request = {"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params}
        self.incoming.write(json.dumps(request).encode() + b"\n")
        self.incoming.flush()
        answer: dict[str, Any] = json.loads(self.outgoing.readline())
        if "error" in answer or answer["result"].get("isError"):
            raise RuntimeError(f"{method}: {answer}")
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        reply: dict[str, Any] = self.ask("tools/call", name=tool, arguments=arguments)["structuredContent"]
        return reply

    def hello(self) -> None:
        self.ask("initialize", **_HELLO)

    def ready(self) -> None:
        self.incoming.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')

    @property
    def resident(self) -> int:
        """Bytes of memory that the process has for itself and shares."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise RuntimeError("no VmRSS")


@contextmanager
def started(command: tuple[str, ...], cwd: Path) -> Iterator[Server]:
    """A server that has not been spoken to. At the end it is killed."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = _BYTECODE.name
    process = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Server(process, process.stdin, process.stdout)
    finally:
        process.kill()
        process.stdin.close()
        process.stdout.close()
        process.wait()


def start_seconds(command: tuple[str, ...], cwd: Path) -> float:
    """Processor time from nothing to an answered `initialize`."""
    with started(command, cwd) as server:
        server.hello()
        fields = (
            Path(f"/proc/{server.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        )
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
