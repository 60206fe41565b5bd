"""The real command line, as a user runs it."""

from __future__ import annotations

import gc
import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import forks
from tests.support import PATIENCE


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str


def wfc(
    *arguments: str | Path, cwd: Path, env: dict[str, str] | None = None, stdin: str | None = None
) -> Result:
    """Run `wfc` in a folder. Colour variables of the outer shell do not reach it."""
    outer = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    words, variables = [str(part) for part in arguments], {**outer, **(env or {})}
    if not any(key.startswith("PYTHON") for key in env or ()):
        return Result(*forks.run(words, cwd, variables, stdin or ""))
    # What Python itself looks at when it starts asks for a process from scratch.
    done = subprocess.run(
        [sys.executable, "-m", "wfc", *words],
        cwd=cwd,
        env=variables,
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr)


SMALL = """\
name: {name}
version: "1.0.0"
steps:
  - id: build
    type: shell
    command: make
"""


def write(folder: Path, **workflows: str) -> None:
    """Workflow files by stem; an empty text stands for a small right workflow of that name."""
    folder.mkdir(parents=True, exist_ok=True)
    for stem, text in workflows.items():
        (folder / f"{stem}.yaml").write_text(text or SMALL.format(name=stem), encoding="utf-8")


def inside(*arguments: str | Path, cwd: Path, stdin: str = "") -> Result:
    """The same in this process, where a process of its own would prove no more: a tenth of the time."""
    from wfc.cli.main import main

    streams = {
        name: io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8", write_through=True)
        for name, text in (("stdin", stdin), ("stdout", ""), ("stderr", ""))
    }
    before, folder, threshold = (sys.stdin, sys.stdout, sys.stderr, sys.argv), Path.cwd(), gc.get_threshold()
    os.chdir(cwd)
    try:
        sys.stdin, sys.stdout, sys.stderr = streams["stdin"], streams["stdout"], streams["stderr"]
        sys.argv = ["wfc", *map(str, arguments)]
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        sys.stdin, sys.stdout, sys.stderr, sys.argv = before
        os.chdir(folder)
        gc.set_threshold(*threshold)
    out, err = (streams[name].buffer.getvalue().decode() for name in ("stdout", "stderr"))  # type: ignore[attr-defined]
    return Result(int(ended.value.code or 0), out, err)
