"""A process that has imported everything and makes servers by forking: a hundred of them in the time of ten.

`python -m tests.torture.nursery DESCRIPTOR` takes orders from that socket, each with the socket that the new server
is to use as its stdin and stdout. A server is the real one, but for its clock and for the fault in its store. One that
runs commands itself has the clock of the system.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import wfc_runtime.server.workflows  # noqa: F401
from tests.torture.clock import clock_of
from wfc_runtime.execute import Grant
from wfc_runtime.registry import Registry
from wfc_runtime.results import problems
from wfc_runtime.server import stdio
from wfc_runtime.server.context import Options, ServerContext
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.service.sqlite.serving import ServingService
from wfc_runtime.store import Store
from wfc_runtime.store.writer import Hook


def serve(order: dict[str, Any], registry: Registry) -> None:
    folder = Path(order["folder"])
    options = Options(state=folder / "state.db", generated=registry.folder, toolsets=("core", "debug"))

    class Prepared(ServerContext):
        @property
        def service(self) -> SqliteService:
            with self._lock:
                if self._service is None:
                    store = Store(options.state, hook=_fault(order))
                    if order["works_in"]:
                        grant = Grant(Path(order["works_in"]), commands=None)
                        self._service = ServingService(store, registry, grant)
                    else:
                        self._service = SqliteService(store, registry, clock=clock_of(folder))
                assert isinstance(self._service, SqliteService)
                return self._service

    stdio.ServerContext = Prepared  # type: ignore[misc]
    stdio.serve_stdio(options)


def _fault(order: dict[str, Any]) -> Hook:
    """Dies at one write, and notes down which points it has come by."""
    fatal, passed = int(order["fatal"]), 0
    notes = os.open(order["notes"], os.O_WRONLY | os.O_CREAT | os.O_APPEND) if order["notes"] else None

    def hook(point: str) -> None:
        nonlocal passed
        passed += 1
        if notes is not None:
            os.write(notes, f"{point}\n".encode())
        if passed == fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    return hook


def main(channel: socket.socket, generated: Path, workflows: list[str]) -> None:
    # Loaded once, here: the servers start from a copy.
    registry = Registry(generated)
    for workflow in workflows:
        registry.find(workflow)
    problems({}, {"type": "object", "required": ["x"]})
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    channel.send(b"ready")
    while True:
        data, descriptors, _, _ = socket.recv_fds(channel, 65536, 1)
        if not data:
            return
        child = os.fork()
        if child == 0:
            channel.close()
            for number in (0, 1):
                os.dup2(descriptors[0], number)
            os.close(descriptors[0])
            try:
                serve(json.loads(data), registry)
            finally:
                os._exit(0)
        os.close(descriptors[0])
        channel.send(str(child).encode())


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), Path(sys.argv[2]), sys.argv[3:])
