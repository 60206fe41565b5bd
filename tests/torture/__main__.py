"""`make torture`: what the tests show in short, at length, with figures. A failure ends it with exit code 1.

`make torture SIZE=4` does four times as much of what has no natural end, `PARTS="crash load"` only these parts. Crashes
at every write, and the ratios under load, take what they take.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from importlib import import_module
from pathlib import Path

from tests.torture.progress import Progress

PARTS = sorted(path.stem.removeprefix("long_") for path in Path(__file__).parent.glob("long_*.py"))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m tests.torture", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one of {', '.join(PARTS)}; all of them")
    parser.add_argument("--size", type=_size, default=1.0, help="how much of it: 1 takes half an hour")
    wanted = parser.parse_args(arguments)
    for name in wanted.parts:
        if name not in PARTS:
            parser.error(f"there is no part `{name}`; there are {', '.join(PARTS)}")
    begun = time.monotonic()
    results = {name: torture(name, wanted.size) for name in wanted.parts or PARTS}
    failed = [name for name, held in results.items() if not held]
    verdict = f"FAILED: {', '.join(failed)}" if failed else f"all held: {', '.join(results)}"
    print(f"{verdict}; {(time.monotonic() - begun) / 60:.0f} minutes at size {wanted.size:g}", flush=True)
    print('more of it: make torture SIZE=4; parts of it: make torture PARTS="crash load"', flush=True)
    return 1 if failed else 0


def torture(name: str, size: float) -> bool:
    """One part, with its figures as they come."""
    print(f"{name}:", flush=True)
    start, progress, held = time.monotonic(), Progress(name), True
    with tempfile.TemporaryDirectory(prefix="wfc-torture-") as folder:
        try:
            for line in import_module(f"tests.torture.long_{name}").run(Path(folder), size, progress):
                progress.clear()
                print(f"  {line}", flush=True)
        except Exception:
            held = False
            traceback.print_exc()
    progress.clear()
    print(f"  {time.monotonic() - start:.0f} s", flush=True)
    return held


def _size(text: str) -> float:
    try:
        size = float(text)
    except ValueError:
        size = 0.0
    if not 0 < size <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0 and up to 1000")
    return size


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
