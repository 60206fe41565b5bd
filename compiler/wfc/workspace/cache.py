"""What a command said last time, for as long as nothing that it depends on has changed.

The key is a digest of all that goes in: wfc itself and the libraries beside it, Python, the settings, the command
line, every workflow of the project byte by byte, and what else the command looks at. With the same key the answer is
the same, so it is given again without looking. Answers are kept in the user's cache folder, one file for each question:
the project is not touched, and two runs at once can do no more than keep the same answer twice.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import click

import wfc
import wfc_runtime
from wfc.config import Config
from wfc.render.paths import WORKSPACE
from wfc.render.style import style_for
from wfc.struct import struct
from wfc.workspace.files import Selection, other_files, read_bytes, template_folders
from wfc_runtime.version import __version__

_MOST_ANSWERS = 100
_MOST_TEXT = 1_000_000


@struct(frozen=True, slots=True)
class Answer:
    """What a command printed, and its exit code."""

    text: str
    status: int


@struct(frozen=True)
class Memory:
    """The place of one question in the memory, and the key of what the answer depends on."""

    place: Path
    key: str
    _key_now: Callable[[], str]

    @classmethod
    def of(cls, question: Any, selection: Selection, also: Callable[[], Iterable[bytes]]) -> Memory:
        """`question`: the command and its options; `also`: what it looks at beside the project's workflows."""
        asked = repr((question, os.getcwd(), style_for(sys.stdout), selection.config.root))
        place = _folder() / f"{_digest([asked.encode('utf-8', 'surrogateescape')])[:32]}.json"

        def key_now() -> str:
            return _digest(_parts(asked, selection, also))

        return cls(place, key_now(), key_now)

    def recall(self) -> Answer | None:
        """What was said, if all is as it was. What can't be read was never said."""
        try:
            match json.loads(self.place.read_bytes()):
                case {"key": self.key, "text": str(text), "status": int(status), "seal": seal}:
                    answer = Answer(text, status)
                    return answer if seal == self._seal(answer) else None
        except (OSError, ValueError, RecursionError):
            pass
        return None

    def keep(self, answer: Answer) -> None:
        """Remember an answer, unless it is very long or something changed while it was worked out."""
        if len(answer.text) <= _MOST_TEXT and self._key_now() == self.key:
            kept = {"key": self.key, "text": answer.text, "status": answer.status, "seal": self._seal(answer)}
            _store(self.place, json.dumps(kept))

    def _seal(self, answer: Answer) -> str:
        """What tells an answer from one that was damaged since."""
        return _digest([self.key.encode(), repr(answer).encode("utf-8", "surrogateescape")])


def _digest(parts: Iterable[bytes]) -> str:
    digest = sha256()
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.hexdigest()


def _parts(asked: str, selection: Selection, also: Callable[[], Iterable[bytes]]) -> Iterator[bytes]:
    config = selection.config
    around = (template_folders(), os.environ.get(WORKSPACE))
    yield repr((__version__, sys.version, asked, config, around)).encode("utf-8", "surrogateescape")
    yield "\n".join(sorted(_libraries())).encode("utf-8", "surrogateescape")
    for package in (wfc, wfc_runtime):
        yield "\n".join(sorted(_stamps(Path(str(package.__file__)).parent))).encode(
            "utf-8", "surrogateescape"
        )
    for file in (*selection.files, *other_files(selection, template_folders())):
        yield f"{file} {os.path.realpath(file)}".encode("utf-8", "surrogateescape")
        yield _content(file, config)
    yield from also()


def _content(file: Path, config: Config) -> bytes:
    """One that can't be read matters only to a command that wants to read it, which then says so."""
    try:
        return read_bytes(file, config)
    except click.ClickException as error:
        return error.message.encode("utf-8", "surrogateescape")


def _libraries() -> Iterator[str]:
    """What is installed, with versions: the names of its records."""
    for folder in sys.path:
        if os.path.isdir(folder or "."):
            yield from (name for name in os.listdir(folder or ".") if name.endswith(".dist-info"))


def _stamps(folder: Path) -> Iterator[str]:
    """Our own sources, each with its size and times: nobody edits a file without changing one of them."""
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(place, name)
                found = os.lstat(path)
                yield f"{path} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"


def _folder() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # By the standard that the variable comes from, one that is not a whole path does not count.
    return (base if base.is_absolute() else Path(os.path.expanduser("~"), ".cache")) / "wfc"


def _store(place: Path, text: str) -> None:
    """Keep it if that is possible; a memory that can't be kept is no failure."""
    part = place.with_suffix(f".{os.getpid()}.tmp")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(place)
        _drop_oldest(place.parent)
    except OSError:
        with suppress(OSError):
            part.unlink()


def _drop_oldest(folder: Path) -> None:
    kept = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for path in kept[_MOST_ANSWERS:]:
        path.unlink(missing_ok=True)
