"""Measures and prints a table. A miss is printed as one; only a row that crashes makes the exit code 1."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from pathlib import Path

from tests.bench.measure import Row


def main(wanted: list[str]) -> int:
    crashed = False
    names = sorted(path.stem for path in (Path(__file__).parent / "rows").glob("[a-z]*.py"))
    print(f"{'':60} {'measured':>9}  {'at most':>8}")
    for name in names:
        if wanted and not any(word in name for word in wanted):
            continue
        try:
            for row in import_module(f"tests.bench.rows.{name}").rows():
                print(_line(row), flush=True)
        except Exception:
            crashed = True
            traceback.print_exc()
    return 1 if crashed else 0


def _line(row: Row) -> str:
    digits = 1 if row.unit == "x" else 2
    goal = f"{row.goal:g} {row.unit}"
    measured = "-" if row.measured is None else f"{row.measured:.{digits}f} {row.unit}"
    verdict = "ok" if row.is_met else "OVER" if row.measured is not None else ""
    return f"{row.name:60} {measured:>9}  {goal:>8}  {verdict:4}  {row.detail}".rstrip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
