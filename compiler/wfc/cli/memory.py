"""What `wfc compile --check` said last time, for as long as nothing that it depends on has changed.

The key is a digest of all that goes in: wfc itself and the libraries beside it, Python, the settings, the command line,
every workflow of the project and every module in the folder, byte by byte. With the same key the answer is the same, so
it is given again without looking. Only a clean answer is kept, in the user's cache folder: the project is not touched.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import wfc
import wfc_runtime
from wfc.cli.selection import Selection, other_files, read_bytes
from wfc.render.style import style_for
from wfc_runtime.version import __version__

_MOST_PROJECTS = 50
_MOST_TEXT = 1_000_000


@dataclass(frozen=True)
class Memory:
    """The place of one project in the memory, and the key of what is asked now."""

    selection: Selection
    folder: Path
    asked: Any
    key: str

    @classmethod
    def of(cls, selection: Selection, folder: Path, asked: Any) -> Memory | None:
        """None for files outside a project: what they are called depends on what lies around them."""
        root = selection.config.root
        places = [*selection.folders, *selection.files]
        if not selection.config.configured or not all(path.resolve().is_relative_to(root) for path in places):
            return None
        return cls(selection, folder, asked, _key(selection, folder, asked))

    def recall(self) -> str | None:
        """What was said, if all is as it was."""
        found = _load().get(self._place)
        return found["text"] if found and found["key"] == self.key else None

    def keep(self, text: str) -> None:
        """Remember a clean answer, unless something changed while it was worked out."""
        if len(text) > _MOST_TEXT or _key(self.selection, self.folder, self.asked) != self.key:
            return
        known = {place: one for place, one in _load().items() if place != self._place}
        newest = list(known.items())[1 - _MOST_PROJECTS :]
        _store({**dict(newest), self._place: {"key": self.key, "text": text}})

    @property
    def _place(self) -> str:
        return str(self.selection.config.root)


def _key(selection: Selection, folder: Path, asked: Any) -> str:
    digest = sha256()
    for part in _parts(selection, folder, asked):
        digest.update(f"{len(part)}:".encode())
        digest.update(part)
    return digest.hexdigest()


def _parts(selection: Selection, folder: Path, asked: Any) -> Iterator[bytes]:
    config = selection.config
    yield repr((__version__, sys.version, asked, os.getcwd(), style_for(sys.stdout), config)).encode()
    yield "\n".join(sorted(_libraries())).encode()
    for package in (wfc, wfc_runtime):
        for path in _sources(Path(str(package.__file__)).parent):
            yield from (path.encode(), _content(path))
    for file in (*selection.files, *other_files(selection)):
        yield from (f"{file} {file.resolve()}".encode("utf-8", "surrogateescape"), read_bytes(file, config))
    for module in sorted(folder.glob("*.py")) if folder.is_dir() else ():
        yield from (module.name.encode("utf-8", "surrogateescape"), _content(str(module)))


def _libraries() -> Iterator[str]:
    """What is installed, with versions: the names of its records."""
    for folder in sys.path:
        if os.path.isdir(folder or "."):
            yield from (name for name in os.listdir(folder or ".") if name.endswith(".dist-info"))


def _sources(folder: Path) -> list[str]:
    return sorted(
        os.path.join(place, name)
        for place, _, names in os.walk(folder)
        for name in names
        if name.endswith(".py")
    )


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _file() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "wfc" / "compile-check.json"


def _load() -> dict[str, dict[str, str]]:
    """What is remembered; nothing, where that can't be read."""
    try:
        data = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    entries = data.items() if isinstance(data, dict) else ()
    return {place: one for place, one in entries if isinstance(one, dict) and {"key", "text"} <= one.keys()}


def _store(data: dict[str, dict[str, str]]) -> None:
    """Keep it if that is possible; a memory that can't be kept is no failure."""
    file = _file()
    part = file.with_suffix(f".{os.getpid()}.tmp")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(data), encoding="utf-8")
        part.replace(file)
    except OSError:
        with suppress(OSError):
            part.unlink()
