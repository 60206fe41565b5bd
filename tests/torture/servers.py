"""Servers to be killed, spoken to in the plainest way."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from tests.support import PATIENCE, ROOT

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "torture", "version": "1"},
}
Reply = dict[str, Any]


class Died(Exception):  # noqa: N818
    """The server is gone; nobody knows how far it came with the last call."""


class Refused(Exception):  # noqa: N818
    """A tool's error, as the model would read it."""


class Server:
    """One server and its only client."""

    def __init__(self, pid: int, line: IO[bytes]) -> None:
        self.pid = pid
        self._line = line
        self._requests = 0
        self.ask("initialize", **HELLO)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: Any) -> None:
        try:
            self._line.write(json.dumps(message).encode() + b"\n")
            self._line.flush()
        except OSError:
            raise Died from None

    def request(self, method: str, **params: Any) -> int:
        self._requests += 1
        self.send({"jsonrpc": "2.0", "id": self._requests, "method": method, "params": params})
        return self._requests

    def send_raw(self, line: bytes) -> None:
        self._line.write(line + b"\n")
        self._line.flush()

    def ask_raw(self, method: str, params: str) -> Reply:
        """With parameters that are JSON already, or not quite."""
        self._requests += 1
        text = f'{{"jsonrpc":"2.0","id":{self._requests},"method":"{method}","params":{params}}}'
        self.send_raw(text.encode())
        return self._answer(self._requests)

    def ask(self, method: str, **params: Any) -> Reply:
        return self._answer(self.request(method, **params))

    def ask_either(self, method: str, **params: Any) -> Reply | str:
        """The answer, or the words of the refusal."""
        try:
            return self.ask(method, **params)
        except Refused as refused:
            return str(refused)

    def next_answer(self) -> Reply:
        """Whichever comes next; it must not be an error."""
        answer = json.loads(self._line.readline())
        while "id" not in answer:
            answer = json.loads(self._line.readline())
        assert not answer["result"].get("isError"), answer
        result: Reply = answer["result"]
        return result

    def _answer(self, number: int) -> Reply:
        while True:
            try:
                line = self._line.readline()
            except OSError:
                raise Died from None
            if not line.endswith(b"\n"):
                raise Died
            answer = json.loads(line)
            if answer.get("id") == number:
                break
        if "error" in answer:
            raise Refused(answer["error"]["message"])
        result: Reply = answer["result"]
        if result.get("isError"):
            raise Refused(result["content"][0]["text"])
        return result

    def call(self, tool: str, **arguments: Any) -> Reply:
        reply: Reply = self.ask("tools/call", name=tool, arguments=arguments)["structuredContent"]
        return reply

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def gone(self) -> None:
        """Wait until it is."""
        with suppress(OSError):
            while self._line.read(65536):
                pass
        with suppress(OSError):
            self._line.close()


class Nursery:
    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel

    def server(
        self, folder: Path, fatal: int = 0, notes: Path | None = None, works_in: Path | None = None
    ) -> Server:
        """A server on the store in a folder; it dies at its write number `fatal`, and runs commands in `works_in`."""
        ours, theirs = socket.socketpair()
        order = {
            "folder": str(folder),
            "fatal": fatal,
            "notes": str(notes or ""),
            "works_in": str(works_in or ""),
        }
        socket.send_fds(self._channel, [json.dumps(order).encode()], [theirs.fileno()])
        theirs.close()
        pid = int(self._channel.recv(64))
        ours.settimeout(PATIENCE)
        line = ours.makefile("rwb")
        ours.close()
        return Server(pid, line)


@contextmanager
def nursery(generated: Path, *workflows: str) -> Iterator[Nursery]:
    """Makes servers that have these workflows loaded."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [
        sys.executable,
        "-m",
        "tests.torture.nursery",
        str(theirs.fileno()),
        str(generated),
        *workflows,
    ]
    process = subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    theirs.close()
    ours.settimeout(PATIENCE)
    try:
        assert ours.recv(64) == b"ready"
        yield Nursery(ours)
    finally:
        ours.close()
        process.wait(PATIENCE)
