"""The real command line, with the most memory that it ever held."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support import PATIENCE

# A process of its own starts the command: what a child inherits from a large test process would count as its memory.
_STARTER = """
import json, resource, subprocess, sys
done = subprocess.run([sys.executable, "-m", "wfc", *sys.argv[1:]], capture_output=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
unit = 1 if sys.platform == "darwin" else 1024
print(json.dumps({
    "status": done.returncode,
    "out": done.stdout.decode("utf-8", "replace"),
    "err": done.stderr.decode("utf-8", "replace"),
    "megabytes": used.ru_maxrss * unit / 1e6,
}))
"""


@dataclass(frozen=True)
class Cost:
    status: int
    out: str
    err: str
    megabytes: float


def measured(*arguments: str | Path, cwd: Path) -> Cost:
    command = [sys.executable, "-c", _STARTER, *map(str, arguments)]
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, encoding="utf-8", timeout=PATIENCE, check=True
    )
    return Cost(**json.loads(done.stdout))
