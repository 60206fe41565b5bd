"""`make torture`: what the tests show in short, at length, with figures. A failure ends it with exit code 1."""

from __future__ import annotations

import sys
import tempfile
import time
import traceback
from importlib import import_module
from pathlib import Path

PARTS = sorted(path.stem.removeprefix("long_") for path in Path(__file__).parent.glob("long_*.py"))


def main(wanted: list[str]) -> int:
    failed = False
    for name in wanted or PARTS:
        if name not in PARTS:
            print(f"there is no part `{name}`; there are {', '.join(PARTS)}", file=sys.stderr)
            return 2
        print(f"{name}:", flush=True)
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="wfc-torture-") as folder:
            try:
                for line in import_module(f"tests.torture.long_{name}").run(Path(folder)):
                    print(f"  {line}", flush=True)
            except Exception:
                failed = True
                traceback.print_exc()
        print(f"  {time.monotonic() - start:.0f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
