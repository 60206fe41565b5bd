"""The real command line, as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


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
    done = subprocess.run(
        [sys.executable, "-m", "wfc", *map(str, arguments)],
        cwd=cwd,
        env={**outer, **(env or {})},
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
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
