"""Files that commands write."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click


@contextmanager
def writing(path: Path | str) -> Iterator[None]:
    """What can't be written is a clear error."""
    try:
        yield
    except OSError as error:
        raise click.ClickException(f"can't write `{path}`: {error.strerror}") from error


def replace_file(path: Path, data: bytes) -> None:
    """A reader never sees half a file, and a full disk leaves the old one. Raises `OSError`."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        try:
            there = path.lstat()
        except FileNotFoundError:
            os.chmod(name, 0o644)
            os.replace(name, path)
            return
        if stat.S_ISREG(there.st_mode) and there.st_nlink == 1 and there.st_uid == os.geteuid():
            os.chmod(name, stat.S_IMODE(there.st_mode))
            os.replace(name, path)
        else:
            # A link, or somebody else's: it stays what it is. There is room for it, as has just been seen.
            path.write_bytes(data)
            Path(name).unlink()
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
