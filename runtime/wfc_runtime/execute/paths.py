"""Access to files in the granted folders and nowhere else, and the scratch folder of a run."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from threading import Lock

from wfc_runtime.contract import Json
from wfc_runtime.execute.base import ExecutionError, Job, Parameters, shortened
from wfc_runtime.execute.permissions import Access, Grant
from wfc_runtime.execute.protected import Protected
from wfc_runtime.folders import NAMES_CALL, NAMES_SCRATCH

# `$SCRATCH`: a folder in which the commands of one run pass files to each other and to their declared outputs.
#
# It is `.scratch/<run>` in the first granted folder, readable by its owner only and ignored by git. If it is empty
# after a command, it is removed; when the run has completed, it is removed with its content.

FOLDER = ".scratch"
_lock = Lock()
_in_use: Counter[Path] = Counter()
_made: dict[str, set[Path]] = {}
"""By run, the folders that this process has created for it."""


@contextmanager
def scratch(working_dir: Path, run: str, *given: Json) -> Iterator[Path]:
    """The scratch folder of a run, with the folders of called workflows that the given texts name.

    It exists while a command uses it, and afterwards if it is not empty.
    """
    above = working_dir / FOLDER
    place = above / run
    # Parallel commands of one run share the folder, so it is removed only after the last of them.
    with _lock:
        _in_use[place] += 1
        _make(above, place)
        _made.setdefault(run, set()).add(place)
    try:
        for name in NAMES_CALL.findall(str(given)):
            _make_call(place / name)
        yield place
    finally:
        with _lock:
            _in_use[place] -= 1
            if not _in_use[place]:
                del _in_use[place]
                _remove_empty(above, place)


def clear_scratch(run: str) -> None:
    """Remove the scratch folder of a completed run. That of a failed run is kept for debugging."""
    with _lock:
        for place in _made.pop(run, ()):
            if not _in_use[place]:
                shutil.rmtree(place, ignore_errors=True)
                _remove_empty(place.parent, place)


def _make(above: Path, place: Path) -> None:
    try:
        # A workflow may have replaced the folder by a link to another place.
        if above.is_symlink():
            raise ExecutionError(f"{above} is a symbolic link, and links are not followed", "refused")
        above.mkdir(mode=0o700, exist_ok=True)
        place.mkdir(mode=0o700, exist_ok=True)
        ignore = above / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise ExecutionError(f"{place} can't be created: {error.strerror}") from None


def _make_call(place: Path) -> None:
    try:
        place.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise ExecutionError(f"{place} can't be created: {error.strerror}") from None


def _remove_empty(above: Path, place: Path) -> None:
    with suppress(OSError):
        # `rmdir` fails if it is not empty, and the content is then kept.
        if place.exists():
            place.rmdir()
        if os.listdir(above) == [".gitignore"]:
            (above / ".gitignore").unlink()
            above.rmdir()


# SECURITY. A path is checked in two ways, and both must agree. First it is resolved (`..`, links in its
# folders) and compared with the granted folders, the patterns and the protected places. Then the file is
# opened from the granted folder down, one name at a time, without following links, and each opened folder is
# compared with the protected ones by device and inode. The file is read or replaced through the last of these
# descriptors, so a link or folder swapped in between the two checks has no effect. The last name must never be a link.

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def _refused(message: str) -> ExecutionError:
    hint = "The operator of the server grants folders with --exec-root and files with --allow-read and --allow-write."
    return ExecutionError(message, "refused", hint)


@dataclass(frozen=True)
class Place:
    """A path in a granted folder."""

    root: Path
    names: tuple[str, ...]
    protected: Protected

    @property
    def path(self) -> Path:
        return self.root.joinpath(*self.names)

    def __str__(self) -> str:
        return str(self.path)


def locate_for(grant: Grant, text: str, *access: Access) -> Place:
    """The place of a file, if the grant covers this access. Raises `ExecutionError`."""
    place = locate(grant, text)
    for one in access:
        why = grant.file_refusal(one, place.path)
        if not why and one == "write":
            why = place.protected.why_unwritable(place.path, place.root)
        if why:
            raise _refused(why)
    return place


def locate(grant: Grant, text: str, base: Path | None = None, within: tuple[Path, ...] = ()) -> Place:
    """The place of a path, relative to `base` or the root, inside `within` or the granted folders.

    Raises `ExecutionError` if it is outside or belongs to the server. The caller checks whether the grant covers
    reading or writing it.
    """
    given = Path(base or grant.root, text)
    try:
        # The last name is refused as a link even if it leads into a granted folder: it could be changed after
        # the check.
        if given.is_symlink():
            raise _refused(f"{text} is a symbolic link, and links are not followed")
        real = given.resolve()
        roots = [root.resolve() for root in within or grant.roots]
    except (OSError, RuntimeError, ValueError) as error:
        raise ExecutionError(f"{text} can't be resolved: {error}") from None
    # Before the granted folders: the store is off limits even if it is inside one of them.
    if why := grant.protected.why_unreadable(real):
        raise _refused(why)
    for root in roots:
        if real.is_relative_to(root):
            return Place(root, real.relative_to(root).parts, grant.protected)
    raise _refused(f"{text} is outside the folders that the server may work in")


def folder(grant: Grant, text: str) -> Path:
    """A working directory, resolved. Raises `ExecutionError` if it is not in the granted folders or does not exist."""
    try:
        place = Path(grant.root, text).resolve()
        is_there = place.is_dir()
        roots = [root.resolve() for root in grant.roots]
    except (OSError, RuntimeError, ValueError) as error:
        raise ExecutionError(f"the working directory {shortened(text)} can't be resolved: {error}") from None
    if not any(map(place.is_relative_to, roots)):
        raise _refused(f"the working directory {text} is outside the folders that the server may work in")
    if not is_there:
        raise ExecutionError(f"the working directory {text} does not exist")
    return place


@contextmanager
def parent_of(place: Place, forbidden: Mapping[tuple[int, int], str], create: bool = False) -> Iterator[int]:
    """A descriptor of the parent folder of a place. `forbidden`: folders that the path must not lead through."""
    try:
        # The root itself may be a link: the operator named it.
        current = os.open(place.root, _FOLDER & ~os.O_NOFOLLOW)
    except OSError as error:
        raise ExecutionError(f"{place.root} can't be opened: {error.strerror}") from None
    try:
        for name in place.names[:-1]:
            # The current folder is checked, then the next one is opened relative to it.
            _check_identity(place, os.fstat(current), forbidden)
            if create:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=current)
            try:
                inner = os.open(name, _FOLDER, dir_fd=current)
            except OSError as error:
                raise ExecutionError(f"the folder of {place} can't be opened: {error.strerror}") from None
            os.close(current)
            current = inner
        _check_identity(place, os.fstat(current), forbidden)
        yield current
    finally:
        os.close(current)


def identity(place: Place, is_written: bool) -> os.stat_result | None:
    """The kind of a file, without opening it: for a file that another library opens by name. None if there is
    nothing."""
    protected = place.protected
    if is_written and (why := protected.why_unwritable(place.path, place.root)):
        raise _refused(why)
    forbidden = protected.identities() if is_written else protected.unreadable_files()
    with parent_of(place, forbidden) as parent:
        about = _about(place.names[-1], parent) if place.names else os.fstat(parent)
    if about is not None:
        _check_identity(place, about, forbidden)
        if not stat.S_ISREG(about.st_mode):
            raise ExecutionError(f"{place} is not a file")
    return about


def read(place: Place, most_bytes: int) -> bytes | None:
    """A file's content; None if there is no such file."""
    # Without its folder there is no file, which is a result and not an error.
    if not place.path.parent.is_dir():
        return None
    forbidden = place.protected.unreadable_files()
    with parent_of(place, forbidden) as parent:
        try:
            # Without O_NONBLOCK, opening a named pipe would block until someone writes to it.
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
    try:
        _check_identity(place, about, forbidden)
        if not stat.S_ISREG(about.st_mode):
            raise ExecutionError(f"{place} is not a file")
    except ExecutionError:
        os.close(opened)
        raise
    with os.fdopen(opened, "rb") as file:
        # One byte more than allowed: the file may have grown since `fstat`, and some report size 0.
        data = file.read(most_bytes + 1) if about.st_size <= most_bytes else b""
    if about.st_size > most_bytes or len(data) > most_bytes:
        raise ExecutionError(
            f"{place} is too large: {max(about.st_size, len(data)):,} bytes; the limit is {most_bytes:,}",
            "output_invalid",
        )
    return data


def write(place: Place, data: bytes, *, mode: int | None, overwrite: bool, create_parents: bool) -> bool:
    """Write a file atomically; returns whether it is new."""
    if why := place.protected.why_unwritable(place.path, place.root):
        raise _refused(why)
    if not place.names:
        raise ExecutionError(f"{place} is a folder")
    forbidden = place.protected.identities()
    with parent_of(place, forbidden, create_parents) as parent:
        name = place.names[-1]
        before = _about(name, parent)
        if before is not None:
            _check_identity(place, before, forbidden)
        if before is not None and not stat.S_ISREG(before.st_mode):
            raise ExecutionError(f"{place} exists and is not a regular file")
        if before is not None and not overwrite:
            raise ExecutionError(f"{place} already exists, and overwrite is false")
        # The temporary file is in the same folder, so that the replacement is atomic.
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
                    # A replaced file keeps its permissions.
                    os.fchmod(opened, stat.S_IMODE(before.st_mode))
            if overwrite:
                os.replace(made, name, src_dir_fd=parent, dst_dir_fd=parent)
            else:
                # Unlike a rename, a link fails if another process has created the file in the meantime.
                os.link(made, name, src_dir_fd=parent, dst_dir_fd=parent)
                os.unlink(made, dir_fd=parent)
        except OSError as error:
            with suppress(OSError):
                os.unlink(made, dir_fd=parent)
            raise ExecutionError(f"{place} can't be written: {error.strerror}") from None
    return before is None


def _check_identity(place: Place, about: os.stat_result, forbidden: Mapping[tuple[int, int], str]) -> None:
    what = forbidden.get((about.st_dev, about.st_ino))
    if what is not None:
        raise _refused(f"{place} is {what}, under another name")


def _about(name: str, parent: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None


# Files named by parameters, in the granted folders or in the run's scratch folder.

_SCRATCH = re.compile(r"\$(?:SCRATCH|\{SCRATCH\})/+")
_PLAIN = re.compile(r"[A-Za-z0-9_./@%+=:,-]+")


def in_scratch(given: str) -> bool:
    """Whether a path begins with the run's scratch folder."""
    return bool(NAMES_SCRATCH.match(given))


def in_folder(given: str, scratch: Path) -> str:
    """A text with `$SCRATCH` replaced by the scratch folder."""
    return NAMES_SCRATCH.sub(lambda _: str(scratch), given)


def in_command(command: str, scratch: Path) -> str:
    """A command in which the path of the scratch folder replaces `${SCRATCH}`.

    The shell does not expand it between single quotes and in a quoted here-document. A path with characters that mean
    something to the shell stays a variable, which the shell expands safely wherever it expands anything.
    """
    path = str(scratch)
    return command.replace("${SCRATCH}", path) if _PLAIN.fullmatch(path) else command


@contextmanager
def located(job: Job, name: str, *access: Access) -> Iterator[Place]:
    """The file that a parameter names, while it is in use. `$SCRATCH` means the same as in commands."""
    given = job.parameters.path(name)
    before = _SCRATCH.match(given)
    if before is None:
        yield locate_for(job.grant, given, *access)
        return
    with scratch(job.grant.root, job.run, given) as folder:
        yield locate_for(job.grant, str(folder / given[before.end() :]), *access)


def read_refusal(parameters: Parameters, grant: Grant) -> str:
    """The refusal of kinds that read the file `path`."""
    return file_refusal(parameters, grant, "path", "read")


def write_refusal(parameters: Parameters, grant: Grant) -> str:
    """The refusal of kinds that write the file `path`."""
    return file_refusal(parameters, grant, "path", "write")


def file_refusal(parameters: Parameters, grant: Grant, name: str, *access: Access) -> str:
    """Why the patterns of a grant do not cover a file; empty if they do.

    A path that no pattern could cover (outside every folder, or protected) is not refused here: the step fails with
    it. A refusal would hand the action to the agent, which would then write the file that the server must not write.
    """
    for one in access:
        if not grant.grants_files(one):
            return f"the server may not {one} files (no --allow-{one} pattern was given)"
    given = parameters.path(name)
    before = _SCRATCH.match(given)
    if before is not None:
        # The run is not known here, but patterns match the scratch folders of all runs alike.
        given = f"{FOLDER}/run/{given[before.end() :]}"
    try:
        path = locate(grant, given).path
    except ExecutionError:
        return ""
    return next((why for one in access if (why := grant.file_refusal(one, path))), "")
