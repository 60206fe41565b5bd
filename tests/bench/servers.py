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
from time import perf_counter
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


def our_command(state: Path, command: str = "serve") -> tuple[str, ...]:
    """`serve`, or `serve-worker` for the worker alone."""
    return (sys.executable, "-m", "wfc", command, "--state", str(state))


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
        while "id" not in answer:
            answer = json.loads(self.outgoing.readline())
        if "error" in answer or answer["result"].get("isError"):
            raise RuntimeError(f"{method}: {answer}")
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        reply: dict[str, Any] = self.ask("tools/call", name=tool, arguments=arguments)["structuredContent"]
        return reply

    def hello(self) -> dict[str, Any]:
        return self.ask("initialize", **_HELLO)

    def ready(self) -> None:
        self.incoming.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')

    @property
    def resident(self) -> int:
        """Bytes of memory that the process and its children have, each shared page counted once."""
        found = 0
        for pid in _family(self.process.pid):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
                if line.startswith("Pss:"):
                    found += int(line.split()[1]) * 1024
        return found

    @property
    def used_seconds(self) -> float:
        """Processor time of the process and its children so far."""
        ticks = 0
        for pid in _family(self.process.pid):
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")


def _family(pid: int) -> list[int]:
    """A process and those that it started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [pid, *(found for child in children for found in _family(int(child)))]


@contextmanager
def started(command: tuple[str, ...], cwd: Path, cache: Path | None = None) -> Iterator[Server]:
    """A server that has not been spoken to. At the end it is killed. `cache`: the user's cache folder, else an empty
    one."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = _BYTECODE.name
    # A folder inside the project is never used.
    env["XDG_CACHE_HOME"] = str(cache or cwd)
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


def start_seconds(command: tuple[str, ...], cwd: Path, cache: Path | None = None) -> tuple[float, float]:
    """Processor time and wall time from nothing to an answered `initialize`."""
    begun = perf_counter()
    with started(command, cwd, cache) as server:
        server.hello()
        return server.used_seconds, perf_counter() - begun
