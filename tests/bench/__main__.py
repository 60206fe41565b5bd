"""Measures and prints a table. A miss is printed as one; the exit code is 1 only if a row crashed or could not be
measured here."""

from __future__ import annotations

import argparse
import sys
import traceback
from importlib import import_module
from pathlib import Path
from types import ModuleType

from tests.bench.measure import Row, UnmeasuredError

NAMES = sorted(path.stem for path in (Path(__file__).parent / "rows").glob("[a-z]*.py"))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "sections", nargs="*", metavar="SECTION", help=f"{', '.join(NAMES)}; all of them unless said"
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="draw the chart in the README from what the peers section measures",
    )
    options = parser.parse_args(arguments)
    wanted = [name for name in NAMES if not options.sections or name in options.sections]
    if unknown := sorted(set(options.sections) - set(NAMES)):
        parser.error(f"there is no section {', '.join(unknown)}; there are {', '.join(NAMES)}")
    if options.write and "peers" not in wanted:
        parser.error("--write needs the section peers")
    print(f"{'':60} {'measured':>9}  {'at most':>8}", flush=True)
    failed = False
    for name in wanted:
        try:
            _section(import_module(f"tests.bench.rows.{name}"), write=options.write and name == "peers")
        except UnmeasuredError as error:
            failed = True
            print(f"{name}: {error}", file=sys.stderr)
        except Exception:
            failed = True
            traceback.print_exc()
    return 1 if failed else 0


def _section(module: ModuleType, write: bool) -> None:
    for row in module.rows():
        print(_line(row), flush=True)
    if write:
        for path in module.write():
            print(f"  wrote {path}", file=sys.stderr)


def _line(row: Row) -> str:
    digits = row.digits if row.digits is not None else 1 if row.unit == "x" else 2
    goal = f"{row.goal:g} {row.unit}"
    measured = "-" if row.measured is None else f"{row.measured:.{digits}f} {row.unit}"
    verdict = "ok" if row.is_met else "OVER" if row.measured is not None else ""
    return f"{row.name:60} {measured:>9}  {goal:>8}  {verdict:4}  {row.detail}".rstrip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
