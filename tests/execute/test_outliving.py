"""Nothing outlives its step: ways to leave a process behind, and the ways in which a step can end."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from tests.execute.serving import Site, sh, start_server, until
from tests.runtime.support import steps
from wfc_runtime.execute import Grant, execute

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")

PYTHON = f"{sys.executable} -I -S"
DAEMON = """
import os, sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.chdir("/")
os.umask(0)
os.closerange(0, 256)
os.execve(sys.argv[1], sys.argv[1:], {})
"""
OWN_GROUP = "import os, sys; os.setpgid(0, 0); os.execv(sys.argv[1], sys.argv[1:])"
OWN_TERMINAL = """
import os, pty, sys
pid, terminal = pty.fork()
if not pid: os.execv(sys.argv[1], sys.argv[1:])
os.read(terminal, 1)
"""
SUBREAPER = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
if not os.fork():
    if os.fork(): os._exit(0)
    os.setsid()
    os.execv(sys.argv[1], sys.argv[1:])
while True: os.waitpid(-1, 0)
"""
MOVING = """
import os, sys, time
open("ready", "w").close()
# Not for ever: a test that fails must not leave this behind.
end = time.monotonic() + 120
while time.monotonic() < end:
    if os.fork(): os._exit(0)
    os.setsid()
"""
GROWING = """
import os, sys, time
open("ready", "w").close()
for _ in range(5):
    os.fork()
end = time.monotonic() + 120
while time.monotonic() < end:
    pid = os.fork()
    if not pid: time.sleep(0.02); os._exit(0)
    os.waitpid(pid, 0)
"""
LEADERLESS = """
import ctypes, sys, threading, time
def work():
    open("ready", "w").close()
    time.sleep(1000)
threading.Thread(target=work).start()
ctypes.CDLL(None).pthread_exit(None)
"""
MISNAMED = """
import sys, time
open("/proc/self/comm", "w").write("x) S 1 1 (")
open("ready", "w").close()
time.sleep(1000)
"""
CHAIN = """
import os, sys
for _ in range(6):
    if os.fork(): os._exit(0)
    os.setsid()
os.execv(sys.argv[1], sys.argv[1:])
"""

ESCAPES = {
    "background": "$HOLD &",
    "nohup": "nohup $HOLD > /dev/null 2>&1 &",
    "session": "setsid $HOLD &",
    "session-by-fork": "setsid --fork $HOLD",
    "empty-environment": "env -i setsid $HOLD &",
    "double-fork": "( ( $HOLD & ) & )",
    "double-fork-session-environment": "( ( env -i setsid $HOLD & ) & )",
    "disown": "bash -c '$0 $1 & disown -a' $HOLD",
    "no-descriptors": "$HOLD <&- >&- 2>&- &",
    "job-control": "set -m; $HOLD & set +m",
    "own-group": f"{PYTHON} own_group $HOLD &",
    "own-terminal": f"{PYTHON} own_terminal $HOLD &",
    "daemon": f"{PYTHON} daemon $HOLD",
    "own-subreaper": f"{PYTHON} subreaper $HOLD &",
    "chain-of-parents": f"{PYTHON} chain $HOLD",
    "moves-on": f"{PYTHON} moving $TOKEN",
    "grows": f"{PYTHON} growing $TOKEN &",
    "no-leader": f"{PYTHON} leaderless $TOKEN &",
    "misleading-name": f"{PYTHON} misnamed $TOKEN &",
    "ignores-signals": "(trap '' TERM INT HUP QUIT; $HOLD) &",
    "stopped": "$HOLD & until [ -e ready ]; do sleep 0.01; done; kill -STOP $!",
    "started-again": "(while :; do $HOLD; done) &",
    "many": "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do setsid $HOLD & done",
    "pipe": "$HOLD | cat &",
    "own-namespace": "unshare --pid --fork $HOLD & sleep 0.1; [ -e ready ] || $HOLD &",
    "signals-its-supervisor": "for s in TERM INT HUP QUIT USR1 ALRM PIPE ABRT SEGV; do kill -$s $PPID; done; $HOLD &",
    "kills-its-supervisor": "setsid $HOLD & until [ -e ready ]; do sleep 0.01; done; kill -KILL $PPID",
    "stops-its-supervisor": "setsid $HOLD & until [ -e ready ]; do sleep 0.01; done; kill -STOP $PPID",
    "coprocess": "bash -c 'coproc $0 $1' $HOLD",
}
"""Commands that leave `$HOLD` running, or another process with `$TOKEN` among its arguments, and create `ready`."""
SCRIPTS = {
    "daemon": DAEMON,
    "own_group": OWN_GROUP,
    "own_terminal": OWN_TERMINAL,
    "subreaper": SUBREAPER,
    "moving": MOVING,
    "growing": GROWING,
    "leaderless": LEADERLESS,
    "misnamed": MISNAMED,
    "chain": CHAIN,
    "hold": '#!/bin/sh\ntouch "${0%/*}/ready"\nexec "$1/sleep" 1000\n',
}
WAITED_FOR = "until [ -e ready ]; do sleep 0.01; done"
each_escape = pytest.mark.parametrize("escape", ESCAPES)


class Scene:
    """A folder with the scripts, and a look at the processes that have its path among their arguments."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ready = folder / "ready"
        self.token = folder / "token"
        folder.mkdir(exist_ok=True)
        self.token.mkdir()
        found = shutil.which("sleep")
        assert found
        # Not `tail -f`, which ends by itself when nobody reads its output.
        (self.token / "sleep").symlink_to(found)
        for name, text in SCRIPTS.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)

    def command(self, escape: str, then: str) -> str:
        return f"TOKEN={self.token}; HOLD='{self.folder}/hold {self.token}'\n{ESCAPES[escape]}\n{then}"

    def run(self, escape: str, then: str, seconds: float = 120, stop: Event | None = None) -> dict[str, Any]:
        parameters = {"command": self.command(escape, then), "timeout": seconds}
        action = {"type": "shell", "parameters": parameters}
        return execute(action, Grant(self.folder, commands=None), "r1", stop)

    def left(self) -> list[int]:
        """The processes that are still there. One that has ended and was not waited for has no arguments."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and bytes(self.token) in _arguments_of(entry):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found


def _arguments_of(process: Path) -> bytes:
    # A process whose first thread has ended shows its arguments in the other threads only.
    for task in (process / "task").iterdir():
        if said := (task / "cmdline").read_bytes():
            return said
    return b""


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path / "place")
    yield made
    for pid in made.left():
        os.kill(pid, signal.SIGKILL)


@each_escape
def test_nothing_is_left_when_the_command_has_ended(scene: Scene, escape: str) -> None:
    scene.run(escape, WAITED_FOR)
    assert scene.ready.exists()
    assert scene.left() == []


@each_escape
def test_nothing_is_left_when_the_time_is_up(scene: Scene, escape: str) -> None:
    seconds = 0.25
    while not scene.ready.exists():
        result = scene.run(escape, "sleep 1000", seconds)
        seconds *= 2
    assert result.get("timed_out") or escape == "kills-its-supervisor", result
    assert scene.left() == []


@each_escape
def test_nothing_is_left_when_the_run_is_cancelled(scene: Scene, escape: str) -> None:
    stop = Event()

    def cancel() -> None:
        until(scene.ready.exists)
        stop.set()

    cancelling = Thread(target=cancel)
    cancelling.start()
    scene.run(escape, "sleep 1000", 600, stop)
    cancelling.join()
    assert scene.left() == []


@each_escape
def test_nothing_is_left_when_the_server_is_killed(site: Site, escape: str) -> None:
    site.compile(steps(sh("a", "exec sh ./escape", ", timeout: 600")))
    scene = Scene(site.place)
    (scene.folder / "escape").write_text(scene.command(escape, "sleep 1000"))
    process, _ = start_server(site)
    until(scene.ready.exists)
    process.signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert until(lambda: not scene.left())
