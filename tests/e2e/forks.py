"""Commands as processes of their own, forked from one that has imported wfc already.

Each has its own memory, folder, environment, streams and exit code, as a fresh one has; only the import, which takes
longer than most commands, is spared. `python -m tests.e2e.forks` takes requests and answers them, a line each.
"""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@cache
def _server() -> subprocess.Popen[str]:
    """One for each process that runs tests. It ends when its input does."""
    command = [sys.executable, "-m", "tests.e2e.forks"]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run_forked(arguments: list[str], cwd: Path, env: dict[str, str], stdin: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of `wfc` with these arguments."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps([arguments, str(cwd), env, stdin]) + "\n")
    server.stdin.flush()
    status, out, err = json.loads(server.stdout.readline())
    return status, out, err


def _serve() -> None:
    import wfc.cli

    for module in pkgutil.iter_modules(wfc.cli.__path__, "wfc.cli."):
        import_module(module.name)
    for line in sys.stdin:
        print(json.dumps(_answer(*json.loads(line))), flush=True)


def _answer(arguments: list[str], cwd: str, env: dict[str, str], stdin: str) -> list[Any]:
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin.encode())
        given.seek(0)
        child = os.fork()
        if child == 0:
            _become([given.fileno(), out.fileno(), err.fileno()], arguments, cwd, env)
        _, status = os.waitpid(child, 0)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode())
        return [os.waitstatus_to_exitcode(status), *texts]


def _become(streams: list[int], arguments: list[str], cwd: str, env: dict[str, str]) -> None:
    """Be the command, and never come back."""
    from wfc.cli.main import main

    status = 3
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        os.environ.clear()
        os.environ.update(env)
        os.chdir(cwd)
        sys.argv = ["wfc", *arguments]
        main()
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 0
        for written in (sys.stdout, sys.stderr):
            if not written.closed:
                written.flush()
    finally:
        os._exit(status)


if __name__ == "__main__":
    _serve()
