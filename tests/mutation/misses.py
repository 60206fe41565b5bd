"""The list of mutants that are not caught: `misses.txt`, which gives the reason for each."""

from __future__ import annotations

from pathlib import Path

_LINES = (Path(__file__).parent / "misses.txt").read_text(encoding="utf-8").splitlines()
LISTED = frozenset(line.removeprefix("- ") for line in _LINES if line.startswith("- "))
