"""The front with a stand-in worker behind it, spoken to line by line."""

from __future__ import annotations

import fcntl
import json
import os
import queue
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from tests.forks import command
from tests.support import PATIENCE, ROOT, wait_until

STAND_IN = Path(__file__).with_name("stand_in.py")
FRONT = """
import os, signal, sys
from wfc_runtime.server import front
# Under `nohup`, which ignores it, the tests would wait for its effect for ever.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
front.worker_command = lambda arguments: [sys.executable, "-I", "-S", sys.argv[1], *arguments]
front.hold([sys.argv[2]])
"""
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "wire", "version": "1"},
}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
}
ERAS = ("legacy", "modern")
Message = dict[str, Any]


class Wire:
    """One client of one front. The folder is what the stand-in worker is told and notes down."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path, era: str) -> None:
        self.process = process
        self.folder = folder
        self.era = era
        self._count = 0
        self._came = threading.Condition()
        self.messages: list[Message] = []
        self._answers: dict[Any, list[Message]] = {}
        self.errors: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._begin(self._read_errors)

    def _begin(self, work: Callable[[], None]) -> None:
        self._threads.append(threading.Thread(target=work))
        self._threads[-1].start()

    def begin_reading(self) -> None:
        self._begin(self._read)

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                message = json.loads(line)
                with self._came:
                    self.messages.append(message)
                    if "method" not in message and isinstance(message.get("id"), int | str):
                        self._answers.setdefault(message.get("id"), []).append(message)
                    self._came.notify_all()

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            for line in lines:
                self.errors.put(line.decode())

    # -- messages --------------------------------------------------------------

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def wait_until_read(self) -> None:
        """Return when the front has read all that was written to it."""
        assert self.process.stdin is not None
        pipe = self.process.stdin.fileno()
        unread = b"\0" * 4
        wait_until(lambda: not any(fcntl.ioctl(pipe, termios.FIONREAD, unread)))

    def send(self, message: Message) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def request(self, method: str, params: Message | None = None) -> int:
        """The id of a request that was sent."""
        self._count += 1
        given = dict(params or {})
        if self.era == "modern":
            given["_meta"] = {**MODERN, **given.get("_meta", {})}
        self.send({"id": self._count, "method": method, "params": given})
        return self._count

    def call(self, tool: str, meta: Message | None = None, **arguments: Any) -> int:
        params: Message = {"name": tool, "arguments": arguments}
        return self.request("tools/call", {**params, "_meta": meta} if meta else params)

    def wait_for(self, wanted: Callable[[Message], bool], what: str = "a message") -> Message:
        def found() -> Message | None:
            return next(filter(wanted, self.messages), None)

        with self._came:
            assert self._came.wait_for(found, PATIENCE), f"{what} never came: {self.messages[-5:]}"
            message = found()
        assert message is not None
        return message

    def answer(self, number: int) -> Message:
        with self._came:
            came = self._came.wait_for(lambda: number in self._answers, PATIENCE)
            assert came, f"answer {number} never came: {self.messages[-5:]}"
        [message] = self.answers(number)
        return message

    def answers(self, number: int) -> list[Message]:
        return self._answers.get(number, [])

    def requested(self) -> set[int]:
        """The ids of all requests so far, also of one that is being written."""
        return set(range(1, self._count + 1))

    def answered(self) -> set[Any]:
        return set(self._answers)

    def ask(self, method: str, params: Message | None = None) -> Any:
        return self.answer(self.request(method, params))["result"]

    def text(self, number: int) -> str:
        return str(self.answer(number)["result"]["content"][0]["text"])

    def named(self, method: str) -> list[Message]:
        return [one for one in self.messages if one.get("method") == method]

    def greet(self) -> None:
        """The beginning of a session, as clients of the era have it, with the list of tools."""
        if self.era == "legacy":
            self.ask("initialize", HELLO)
            self.send({"method": "notifications/initialized"})
        else:
            self.ask("server/discover")
        self.ask("tools/list")

    # -- the worker ------------------------------------------------------------

    def lines(self, name: str) -> list[str]:
        """What the workers noted down."""
        path = self.folder / name
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def tell(self, name: str, text: str = "") -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def calls(self, tool: str) -> list[list[Any]]:
        return [one for one in map(json.loads, self.lines("calls")) if one[0] == tool]

    def wait_for_call(self, tool: str, times: int = 1) -> None:
        wait_until(lambda: len(self.calls(tool)) >= times, f"{times} calls of {tool}")

    def worker(self) -> int:
        """The process id of the worker that was started last."""
        wait_until(lambda: self.lines("starts"))
        return int(self.lines("starts")[-1])

    def kill_worker(self, number: int = signal.SIGKILL) -> None:
        """Until another one has started."""
        starts = len(self.lines("starts"))
        os.kill(self.worker(), number)
        wait_until(lambda: len(self.lines("starts")) > starts, "another worker")

    # -- the end ---------------------------------------------------------------

    def said(self) -> str:
        """What the front wrote on standard error so far."""
        found = []
        with suppress(queue.Empty):
            while True:
                found.append(self.errors.get_nowait())
        return "".join(found)

    def close(self) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()

    def end(self) -> int:
        """The exit status, once the client has gone."""
        self.close()
        return self.process.wait(PATIENCE)

    def join(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE)


class ServerWire(Wire):
    """A client of the real server."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path, era: str, pid_file: Path) -> None:
        super().__init__(process, folder, era)
        self._pid_file = pid_file

    def worker(self) -> int:
        path = self._pid_file.with_name(f"{self._pid_file.name}.worker")
        # It is empty for a moment while a new worker writes it.
        return int(wait_until(lambda: path.read_text(encoding="ascii")))

    def kill_worker(self, number: int = signal.SIGKILL) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.worker(), number)

    def reply(self, number: int) -> Message:
        """What a tool said."""
        result = self.answer(number)["result"]
        assert not result.get("isError"), result
        reply: Message = result["structuredContent"]
        return reply

    def do(self, tool: str, **arguments: Any) -> Message:
        return self.reply(self.call(tool, **arguments))


@contextmanager
def server(folder: Path, era: str, *options: str, cache: Path | None = None) -> Iterator[ServerWire]:
    """`wfc serve` in a project, with a worker that is forked and so starts in no time."""
    pid_file = folder / f"{len(list(folder.glob('*.pid')))}.pid"
    process = subprocess.Popen(
        command("serve", *options, pid_file=pid_file),
        cwd=folder,
        env={**os.environ, "XDG_CACHE_HOME": str(cache or folder.with_name("cache"))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    made = ServerWire(process, folder, era, pid_file)
    made.begin_reading()
    try:
        yield made
    finally:
        made.end()
        made.join()


@contextmanager
def wire(
    folder: Path, era: str = "legacy", *, cache: Path | None = None, prepare: str = "", reads: bool = True
) -> Iterator[Wire]:
    """A front of its own. Nothing of it is left afterwards."""
    folder.mkdir(exist_ok=True)
    (folder / "home").mkdir(exist_ok=True)
    env = {**os.environ, "XDG_CACHE_HOME": str(cache or folder / "cache"), "HOME": str(folder / "home")}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "runtime"), str(ROOT / "compiler")])
    process = subprocess.Popen(
        [sys.executable, "-c", prepare + FRONT, str(STAND_IN), str(folder)],
        cwd=folder,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    made = Wire(process, folder, era)
    if reads:
        made.begin_reading()
    try:
        yield made
    finally:
        made.close()
        process.kill()
        process.wait(PATIENCE)
        for pid in map(int, made.lines("starts")):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
            wait_until(partial(is_gone, pid), f"the end of worker {pid}")
        made.join()
        assert process.stdout is not None
        process.stdout.close()


def is_gone(pid: int) -> bool:
    """Whether there is no such process, or only its exit status."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    return status.rpartition(")")[2].split()[0] in ("Z", "X")


def memory_of(pid: int) -> int:
    """Resident memory in KiB."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])
