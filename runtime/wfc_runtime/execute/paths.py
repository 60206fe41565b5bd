"""Files in the granted folders and nowhere else.

SECURITY. A path is looked at in two ways, and both must agree. First it is resolved (`..`, links in its folders) and
compared with the granted folders. Then the file is opened from the granted folder down, one name at a time, without
following links, so that a link put there in between leads nowhere. The last name may never be a link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from wfc_runtime.execute.base import ExecutionError, shortened
from wfc_runtime.execute.grant import Grant

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def _refused(message: str) -> ExecutionError:
    return ExecutionError(
        message, "refused", "The operator of the server says with --exec-root which folders are allowed."
    )


@dataclass(frozen=True)
class Place:
    """A path that is allowed."""

    root: Path
    names: tuple[str, ...]

    @property
    def path(self) -> Path:
        return self.root.joinpath(*self.names)

    def __str__(self) -> str:
        return str(self.path)


def locate(grant: Grant, text: str, base: Path | None = None) -> Place:
    """The place of a path, relative to `base` or the root. Raises `ExecutionError` where it is not allowed."""
    given = Path(base or grant.root, text)
    try:
        if given.is_symlink():
            raise _refused(f"{text} is a link: links are not followed")
        real = given.resolve()
        roots = [root.resolve() for root in grant.roots]
    except (OSError, RuntimeError, ValueError) as error:
        raise ExecutionError(f"{text} can't be resolved: {error}") from None
    if grant.is_protected(real):
        raise _refused(f"{text} belongs to the server")
    for root in roots:
        if real.is_relative_to(root):
            return Place(root, real.relative_to(root).parts)
    raise _refused(f"{text} is outside the folders that the server may work in")


def folder(grant: Grant, text: str) -> Path:
    """A working directory."""
    try:
        place = Path(grant.root, text).resolve()
        is_there = place.is_dir()
        roots = [root.resolve() for root in grant.roots]
    except (OSError, RuntimeError, ValueError) as error:
        raise ExecutionError(f"the working directory {shortened(text)} can't be resolved: {error}") from None
    if not any(map(place.is_relative_to, roots)):
        raise _refused(f"the working directory {text} is outside the folders that the server may work in")
    if not is_there:
        raise ExecutionError(f"the working directory {text} is not there")
    return place


@contextmanager
def parent_of(place: Place, create: bool = False) -> Iterator[int]:
    """A descriptor of the folder that a place is in."""
    try:
        current = os.open(place.root, _FOLDER & ~os.O_NOFOLLOW)
    except OSError as error:
        raise ExecutionError(f"{place.root} can't be opened: {error.strerror}") from None
    try:
        for name in place.names[:-1]:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=current)
            try:
                inner = os.open(name, _FOLDER, dir_fd=current)
            except OSError as error:
                raise ExecutionError(f"the folder of {place} can't be opened: {error.strerror}") from None
            os.close(current)
            current = inner
        yield current
    finally:
        os.close(current)


def read(place: Place, most_bytes: int) -> bytes | None:
    """A file's content. None: there is no such file."""
    if not place.path.parent.is_dir():
        return None
    with parent_of(place) as parent:
        try:
            # Without O_NONBLOCK a named pipe would keep us waiting for ever.
            opened = os.open(
                place.names[-1] if place.names else ".",
                os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
                dir_fd=parent,
            )
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ExecutionError(f"{place} can't be read: {error.strerror}") from None
    about = os.fstat(opened)
    if not stat.S_ISREG(about.st_mode):
        os.close(opened)
        raise ExecutionError(f"{place} is not a file")
    with os.fdopen(opened, "rb") as file:
        data = file.read(most_bytes + 1) if about.st_size <= most_bytes else b""
    if about.st_size > most_bytes or len(data) > most_bytes:
        raise ExecutionError(
            f"{place} is too large: {max(about.st_size, len(data)):,} bytes; the limit is {most_bytes:,}",
            "output_invalid",
        )
    return data


def write(place: Place, data: bytes, *, mode: int | None, overwrite: bool, create_parents: bool) -> bool:
    """Write a file, whole or not at all. Says whether it is new."""
    if not place.names or ".git" in place.names:
        raise _refused(f"{place} is not a file that a workflow may write")
    with parent_of(place, create_parents) as parent:
        name = place.names[-1]
        before = _about(name, parent)
        if before is not None and not stat.S_ISREG(before.st_mode):
            raise ExecutionError(f"{place} is there and is not a file")
        if before is not None and not overwrite:
            raise ExecutionError(f"{place} is there already, and overwrite is false")
        made = f".{name[:40]}.{token_hex(6)}.new"
        try:
            opened = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=parent)
        except OSError as error:
            raise ExecutionError(f"{place} can't be written: {error.strerror}") from None
        try:
            with os.fdopen(opened, "wb") as file:
                file.write(data)
                file.flush()
                if mode is not None:
                    os.fchmod(opened, mode)
                elif before is not None:
                    os.fchmod(opened, stat.S_IMODE(before.st_mode))
            if overwrite:
                os.replace(made, name, src_dir_fd=parent, dst_dir_fd=parent)
            else:
                # Unlike a rename, a link fails when somebody else was quicker.
                os.link(made, name, src_dir_fd=parent, dst_dir_fd=parent)
                os.unlink(made, dir_fd=parent)
        except OSError as error:
            with suppress(OSError):
                os.unlink(made, dir_fd=parent)
            raise ExecutionError(f"{place} can't be written: {error.strerror}") from None
    return before is None


def _about(name: str, parent: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
