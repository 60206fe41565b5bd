"""Files of generated modules: which a folder has, whether one has changed, and its content."""

from __future__ import annotations

import os
import stat
from errno import EFBIG, EINVAL
from pathlib import Path

MOST_BYTES = 32 * 1024 * 1024
"""No workflow compiles to a module of this size."""

_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))

Stamp = tuple[int, int, int, int, int]


def module_paths(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.py")) if folder.is_dir() else []


def stamp_of(path: Path) -> Stamp:
    """Equal as long as the file is the same. A program can set a file's modification time, but not its ctime."""
    about = path.stat()
    return about.st_mtime_ns, about.st_ctime_ns, about.st_size, about.st_ino, about.st_dev


def read_module(path: Path | str) -> bytes:
    """The content of a regular file. Raises `OSError` for anything else; opening a pipe does not block."""
    handle = os.open(path, _FLAGS)
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise OSError(EINVAL, "it is not a regular file")
        if about.st_size > MOST_BYTES:
            raise OSError(EFBIG, f"it is larger than {MOST_BYTES:,} bytes")
        data = b""
        # A read may give less than it was asked for. What is written meanwhile changes the stamp.
        while part := os.read(handle, about.st_size + 1 - len(data)):
            data += part
    finally:
        os.close(handle)
    return data
