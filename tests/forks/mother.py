"""`python -m tests.forks.mother SOCKET PID`: forks commands as they are ordered, for as long as process PID lives."""

from __future__ import annotations

import atexit
import fcntl
import gc
import io
import marshal
import os
import pkgutil
import signal
import socket
import sys
import termios
import threading
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from tests.temporal_server import lives
from wfc_runtime.server import front


@dataclass(frozen=True)
class Order:
    arguments: list[str]
    cwd: str
    env: dict[str, str]
    pid_file: str
    terminal: bool
    module: str
    streams: list[int]


def import_all() -> None:
    import wfc
    import wfc_runtime

    for package in (wfc, wfc_runtime):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            # Its native library has threads, which do not live on in a fork.
            if "temporal" not in module.name and not module.name.endswith("__main__"):
                import_module(module.name)
    for used in ("black", "jsonschema", "re2", "uvicorn", "wfc.__main__"):
        import_module(used)
    gc.collect()
    gc.freeze()


def take_orders(listening: socket.socket, owner: int) -> Order | None:
    """Comes back in each process that is to be a command, and without an order in the end."""
    listening.settimeout(0.5)
    while lives(owner):
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        try:
            line, _ = listening.accept()
        except TimeoutError:
            continue
        if os.fork() == 0:
            listening.close()
            line.settimeout(None)
            return _serve(line)
        line.close()
    return None


def _serve(line: socket.socket) -> Order:
    """Fork once more: one process is the command, the other tells how it ended."""
    data, streams, _, _ = socket.recv_fds(line, 1 << 20, 3)
    child = os.fork()
    if child == 0:
        line.close()
        return Order(*marshal.loads(data), streams)
    for stream in streams:
        os.close(stream)
    with suppress(OSError):
        line.send(str(child).encode())
    _, status = os.waitpid(child, 0)
    with suppress(OSError):
        line.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def become(order: Order, forks: str) -> None:
    """Be the command, and end as one does."""
    os.setsid()
    for number, stream in enumerate(order.streams):
        os.dup2(stream, number)
        os.close(stream)
    if order.terminal:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    if order.env.get("PYTHONUNBUFFERED"):
        sys.stdout = io.TextIOWrapper(open(1, "wb", 0, closefd=False), write_through=True)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(order.env)
    main = import_module(order.module).main
    front.worker_command = lambda arguments: _worker(forks, order.pid_file, arguments)
    os.chdir(order.cwd)
    sys.argv, sys.path[0] = ["wfc", *order.arguments], order.cwd
    if order.pid_file:
        with open(order.pid_file, "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
    status: object = 1
    try:
        main()
    except SystemExit as stop:
        status = stop.code
        if status is not None and not isinstance(status, int):
            print(status, file=sys.stderr)
            status = 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    # What Python does when it ends, but for taking apart what is gone with the process anyway.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for written in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            written.flush()
    os._exit(status if isinstance(status, int) else 0)


def _worker(forks: str, pid_file: str, arguments: list[str]) -> list[str]:
    """The command line of a server's worker, which is forked too: importing everything would take it a second."""
    launch = str(Path(__file__).with_name("launch.py"))
    worker_file = f"{pid_file}.worker" if pid_file else ""
    return [sys.executable, "-I", "-S", launch, forks, worker_file, front.WORKER, *arguments]


def main(path: str, owner: int) -> None:
    import_all()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(path)
        listening.listen(64)
        print("ready", end="", flush=True)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        order = take_orders(listening, owner)
    if order:
        become(order, path)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
