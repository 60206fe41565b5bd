"""`$SCRATCH`: a folder for what the commands of one run hand to each other and to their declared outputs.

It is `.scratch/<run>` in the working directory, readable by its owner only and ignored by git. What is empty after a
command is taken away again, and all of it when the run has completed.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from wfc_runtime.execute.base import ExecutionError

FOLDER = ".scratch"
_lock = Lock()
_in_use: Counter[Path] = Counter()
_made: dict[str, set[Path]] = {}
"""By run, the folders that this process has made for it."""


@contextmanager
def scratch(working_dir: Path, run: str) -> Iterator[Path]:
    """The scratch folder of a run, there for as long as a command needs it and something is in it."""
    above = working_dir / FOLDER
    place = above / run
    with _lock:
        _in_use[place] += 1
        _make(above, place)
        _made.setdefault(run, set()).add(place)
    try:
        yield place
    finally:
        with _lock:
            _in_use[place] -= 1
            if not _in_use[place]:
                del _in_use[place]
                _remove_empty(above, place)


def clear(run: str) -> None:
    """Remove what is left of a run that has completed. Of one that failed it stays, for whoever looks into it."""
    with _lock:
        for place in _made.pop(run, ()):
            if not _in_use[place]:
                shutil.rmtree(place, ignore_errors=True)
                _remove_empty(place.parent, place)


def _make(above: Path, place: Path) -> None:
    try:
        if above.is_symlink():
            raise ExecutionError(f"{above} is a link: links are not followed", "refused")
        above.mkdir(mode=0o700, exist_ok=True)
        place.mkdir(mode=0o700, exist_ok=True)
        ignore = above / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise ExecutionError(f"{place} can't be made: {error.strerror}") from None


def _remove_empty(above: Path, place: Path) -> None:
    with suppress(OSError):
        if place.exists():
            place.rmdir()
        if os.listdir(above) == [".gitignore"]:
            (above / ".gitignore").unlink()
            above.rmdir()
