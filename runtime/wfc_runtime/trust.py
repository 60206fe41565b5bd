"""The files of generated modules and line maps, and the decision which of them may be used."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from errno import EFBIG, EINVAL
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from wfc_runtime.errors import DefinitionError
from wfc_runtime.header import digest
from wfc_runtime.line_map import SUFFIX

# Files.

MOST_BYTES = 32 * 1024 * 1024
"""No workflow compiles to a module this large."""

_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))

Stamp = tuple[int, int, int, int, int]


def module_paths(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.py")) if folder.is_dir() else []


def generated_paths(folder: Path) -> list[Path]:
    """The modules of a folder and its line maps, including maps without a module."""
    return sorted((*module_paths(folder), *folder.glob(f"*{SUFFIX}")))


def stamp_of(path: Path) -> Stamp:
    """Equal as long as the file is unchanged. A program can set a file's modification time, but not its ctime."""
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
        # A read may return less than requested. A write in the meantime changes the stamp, so the file is read again.
        while part := os.read(handle, about.st_size + 1 - len(data)):
            data += part
    finally:
        os.close(handle)
    return data


# Which generated modules a process may execute.
#
# The digests in a module's header are plain hashes: they reveal an accidental edit, but anyone who can write the
# file can compute them. So a long-running process records the content of every module when it starts. Content that
# differs from the record is executed only if the compiler generates the same text from a workflow source of the
# project. The same rule holds for line maps.


class Verifier(Protocol):
    """Compiles the project's sources. The command line provides it: the runtime does not import the compiler."""

    def state(self) -> object:
        """A value that stays equal as long as no source has changed."""

    def refusal(self, source: str, text: str) -> str | None:
        """Why the source named in a header does not compile to a module or line map of this text; None if it does."""


class UntrustedError(DefinitionError):
    """A module that must not be executed."""

    def __init__(self, message: str, hint: str, sources: object) -> None:
        super().__init__("module_untrusted", message, hint)
        self.sources = sources
        """The state of the sources that the refusal is based on."""


class Trust:
    """The modules and line maps of some folders at this moment, and those that are verified later."""

    def __init__(self, folders: Iterable[Path], verifier: Verifier, process: str = "server") -> None:
        self._verifier = verifier
        self._process = process
        self._at_start = {
            path: content for folder in folders for path, content in _contents(folder.absolute())
        }
        self._verified: set[str] = set()

    def check(self, path: Path, source: str, text: str) -> None:
        """Raise `UntrustedError` unless a file with this text may be used."""
        content = digest(text)
        before = self._at_start.get(path.absolute())
        if content == before or content in self._verified:
            return
        # Read before compiling: a source that changes in between must lead to another attempt, not to a stale refusal.
        sources = self._verifier.state()
        refusal = self._verifier.refusal(source, text)
        if refusal is None:
            self._verified.add(content)
            return
        happened = "appeared" if before is None else "changed"
        raise UntrustedError(
            f"{path} is untrusted: it {happened} after the {self._process} started, and {refusal}",
            f"Run `wfc compile`. To use the file as it is, review it and restart the {self._process}.",
            sources,
        )

    def is_compiled(self, source: str, text: str) -> bool:
        """Whether a text that is in no file is what a source of the project compiles to."""
        return self._verifier.refusal(source, text) is None

    def may_change(self, error: UntrustedError) -> bool:
        """Whether a source has changed since a module was refused."""
        return self._verifier.state() != error.sources


def _contents(folder: Path) -> Iterable[tuple[Path, str]]:
    for path in generated_paths(folder):
        try:
            yield path, sha256(read_module(path)).hexdigest()
        except OSError:
            # A file that can't be read now is verified once it can be read.
            continue
