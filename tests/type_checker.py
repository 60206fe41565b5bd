"""The type checker, as `make lint` runs it: what it has read there already is not read again."""

from __future__ import annotations

import os
from pathlib import Path

from mypy import api

from tests.support import ROOT


def mypy(*paths: Path, path: Path | None = None) -> str:
    """What it says of these files under --strict."""
    os.environ["MYPYPATH"] = str(path or "")
    cache = ROOT / ".mypy_cache"
    out, err, _ = api.run(["--strict", "--no-error-summary", "--cache-dir", str(cache), *map(str, paths)])
    return out + err
