"""How the server ends, as the editor that started it sees it, and that it never halts to clear up."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forks import command
from tests.support import PATIENCE


def message(**content: object) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **content}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


BEGIN = message(id=1, method="initialize", params={"processId": None, "rootUri": None, "capabilities": {}})
SHUTDOWN, EXIT = message(id=2, method="shutdown"), message(method="exit")


@pytest.mark.parametrize(
    ("said", "status"),
    [(BEGIN + SHUTDOWN + EXIT, 0), (BEGIN + EXIT, 1), (BEGIN, 1)],
    ids=["shutdown and exit", "exit alone", "gone"],
)
def test_it_ends_as_the_protocol_says_and_without_a_word(tmp_path: Path, said: bytes, status: int) -> None:
    done = subprocess.run(
        command("lsp"), input=said, cwd=tmp_path, capture_output=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stderr) == (status, b"")
    assert b'"serverInfo"' in done.stdout


ASKED = """\
import gc, sys
from wfc.lsp.workspace import WorkflowServer
WorkflowServer.start_io = lambda *_, **__: print(gc.get_threshold()[0], gc.isenabled(), file=sys.stderr)
sys.argv = ["wfc", "lsp"]
from wfc.cli.main import main
main()
"""


def test_garbage_is_collected_in_small_portions(tmp_path: Path) -> None:
    """A million objects at once, as suits a command that ends soon, halted it for a second every few minutes."""
    done = subprocess.run(
        [sys.executable, "-c", ASKED], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    portion, is_on = done.stderr.split()
    assert (0 < int(portion) <= 10_000, is_on) == (True, "True")
