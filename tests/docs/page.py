"""A page of the documentation as something to run.

A fence `yaml title=workflows/x.yaml` writes that file; a fence `console` runs each `$ command` and compares what it
prints. `...` on its own line stands for any lines, and `…` for anything within one line.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from tests.forks import commands
from tests.support import PATIENCE, ROOT

_FENCE = re.compile(r"^```(\w+)(?: title=(\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass
class Page:
    path: Path
    stale: list[str] = field(default_factory=list)
    """What a command printed that is not what the page shows."""

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def run(self, folder: Path, *, update: bool) -> None:
        """Do what the page says, from top to bottom, in an empty folder."""
        text = self.text
        for fence in list(_FENCE.finditer(text)):
            language, title, body = fence.groups()
            if title:
                (folder / title).parent.mkdir(parents=True, exist_ok=True)
                (folder / title).write_text(body, encoding="utf-8")
            elif language == "console":
                fresh = self._console(body, folder)
                if fresh != body:
                    text = text.replace(fence.group(0), fence.group(0).replace(body, fresh), 1)
        if update and text != self.text:
            self.path.write_text(text, encoding="utf-8")
            self.stale.clear()

    def _console(self, body: str, folder: Path) -> str:
        """The block as it would be if it were up to date."""
        shown: list[str] = []
        for part in re.split(r"^(?=\$ )", body, flags=re.MULTILINE):
            if not part.startswith("$ "):
                shown.append(part)
                continue
            command, _, expected = part.partition("\n")
            printed = run(command[2:], folder)
            if _matches(expected, printed):
                shown.append(part)
            else:
                self.stale.append(f"{command}\n--- shown\n{expected}--- printed\n{printed}")
                shown.append(f"{command}\n{printed}")
        return "".join(shown)


def _matches(expected: str, printed: str) -> bool:
    lines = [
        re.escape(line).replace("…", ".*") + "\n"
        for line in expected.rstrip("\n").split("\n")
        if expected.strip()
    ]
    pattern = "".join(r"(?:.*\n)*" if line == r"\.\.\." + "\n" else line for line in lines)
    return re.fullmatch(pattern, printed.rstrip("\n") + "\n" if printed.strip() else "") is not None


def run(command: str, folder: Path) -> str:
    """What a user sees in a terminal without colours."""
    outer = {
        key: value for key, value in os.environ.items() if not key.startswith(("WFC_", "GIT_", "FORCE_"))
    }
    env = {
        **outer,
        "PATH": f"{commands()}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "NO_COLOR": "1",
        "COLUMNS": "100",
        "XDG_CACHE_HOME": str(Path(tempfile.gettempdir()) / "wfc-docs-cache"),
        "WFC_ROOT": str(ROOT),
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.stdout
