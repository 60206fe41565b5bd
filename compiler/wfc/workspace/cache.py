"""A cache of the output of commands, valid as long as none of their inputs has changed.

The key is a digest of all inputs: wfc itself and the libraries beside it, Python, the settings, the command line, the
content of every workflow of the project, and whatever else the command reads. If the key is the same, the stored
answer is printed again. Answers are kept in the user's cache folder, one file for each question: the project is not
touched, and two commands at once can do no more than write the same answer twice.

This module is all that a command needs to repeat an answer. It imports no part of the compiler; the cache of findings,
which takes over when something has changed, is `wfc.workspace.incremental`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wfc.caching import cached_property
from wfc.config import GITHUB_WORKSPACE, Config, TextFile
from wfc.render.style import style_for
from wfc.struct import struct
from wfc.workspace.files import (
    NAMING_KEY,
    Selection,
    UnreadableFileError,
    as_typed,
    other_files,
    read_beside,
    read_bytes,
    read_companions,
    stored_runs,
    template_folders,
    texts_named_in,
)
from wfc_runtime import version
from wfc_runtime.version import __version__

if TYPE_CHECKING:
    from wfc_runtime.store.queries import Waiting

# Answers to this many questions: a developer works on a few projects at a time.
_MOST_FILES = 100
_MOST_TEXT = 1_000_000
_MOST_DATA = 50_000_000


@struct(frozen=True, slots=True)
class Answer:
    """The output and the exit code of a command."""

    text: str
    status: int


@struct(frozen=True, slots=True)
class Content:
    """The content of one file at one moment."""

    data: bytes
    digest: str
    """A digest of its path, the resolved path, and the data or the error."""
    error: str = ""
    """The error, if the file can't be read."""
    texts: dict[str, TextFile] = field(default_factory=dict)
    """The text files that it names, which the digest covers."""

    def read(self) -> bytes:
        if self.error:
            raise UnreadableFileError(self.error)
        return self.data


@struct(frozen=True)
class Snapshot:
    """The workflows of a project and everything that they depend on, at one moment. Commands check the bytes that were
    digested here and read no file again, so an answer belongs to its key even if files change meanwhile.
    """

    surroundings: str
    """A digest of everything except the workflows and the runs."""
    selected: dict[Path, Content]
    others: dict[Path, Content]
    """Files that the selected ones may call."""
    runs: list[Waiting]
    companions: dict[str, str]
    """The texts of files that workflows refer to, by path relative to the project."""

    @cached_property
    def texts(self) -> dict[tuple[str, str], TextFile]:
        """The text files that workflows name, by the path of the workflow and the name."""
        paths = {str(as_typed(path)): one for path, one in self.others.items()}
        paths |= {str(path): one for path, one in self.selected.items()}
        # A workflow names text files relative to itself, hence the pair.
        return {(path, name): text for path, one in paths.items() for name, text in one.texts.items()}

    @classmethod
    def of(cls, selection: Selection) -> Snapshot:
        config = selection.config
        selected = {path: _content(path, config) for path in (*selection.files, *selection.tests)}
        others = {path: _content(path, config) for path in other_files(selection, template_folders())}
        read = [(path, one.data) for path, one in (*selected.items(), *others.items())]
        companions = read_companions(selection, read)
        beside = [as_bytes(part) for one in companions.items() for part in one]
        return cls(
            digest_of([*_surroundings(config), *beside]),
            selected,
            others,
            stored_runs(config),
            companions,
        )

    def parts(self) -> Iterator[bytes]:
        yield self.surroundings.encode()
        for contents in (self.selected, self.others):
            yield from (content.digest.encode() for content in contents.values())
            # Separates the two lists, so that a file can't move from one to the other unnoticed.
            yield b""
        # Findings about removed steps depend on the runs that wait in them.
        yield as_bytes(repr(self.runs))


@struct(frozen=True)
class Memory:
    """The place of one command in the cache, and the key of its inputs."""

    place: Path
    key: str
    _key_now: Callable[[], str]

    @classmethod
    def of(cls, question: Any, snapshot: Snapshot, also: Callable[[], Iterable[bytes]] = tuple) -> Memory:
        """`question`: the command and its options; `also`: inputs in addition to the snapshot."""
        # The style of the terminal is part of the question, since the stored answer has colours in it.
        asked = as_bytes(repr((question, os.getcwd(), style_for(sys.stdout))))

        def key_now() -> str:
            return digest_of([asked, *snapshot.parts(), *also()])

        return cls(place_of(asked), key_now(), key_now)

    def recall(self) -> Answer | None:
        """The stored answer, if its inputs are unchanged and the file of the cache can be read."""
        match read_sealed(self.place, self.key):
            case {"text": str(text), "status": int(status)}:
                return Answer(text, status)
        return None

    def keep(self, answer: Answer) -> None:
        """Store an answer, unless it is very long or an input changed during the command."""
        # The key is computed again: an answer must not be stored for files that changed while it was computed.
        if len(answer.text) <= _MOST_TEXT and self._key_now() == self.key:
            write_sealed(self.place, self.key, {"text": answer.text, "status": answer.status})


# -- files of the cache --------------------------------------------------------


def place_of(asked: bytes) -> Path:
    return _folder() / f"{digest_of([asked])[:32]}.json"


def read_sealed(place: Path, key: str) -> Any:
    """The data stored under this key; None if there is none or it is damaged."""
    try:
        match json.loads(place.read_bytes()):
            case {"key": found, "seal": seal, "body": str(body)}:
                # The seal detects a file that was cut short or damaged, which may still be valid JSON.
                # The key alone does not show whether the file is complete.
                if found == key and seal == _seal(key, body):
                    return json.loads(body)
    except (OSError, ValueError, RecursionError):
        pass
    return None


def write_sealed(place: Path, key: str, value: Any) -> None:
    """Store a value if possible. A cache that can't be written is not an error."""
    body = json.dumps(value)
    if len(body) > _MOST_DATA:
        return
    # Written to a file of this process and renamed: two commands at once never see half an answer.
    part = place.with_suffix(f".{os.getpid()}.tmp")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps({"key": key, "seal": _seal(key, body), "body": body}), encoding="utf-8")
        part.replace(place)
        _drop_oldest(place.parent)
    except OSError:
        with suppress(OSError):
            part.unlink()


def _seal(key: str, body: str) -> str:
    return digest_of([key.encode(), as_bytes(body)])


def _folder() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification says that a relative path in this variable must be ignored.
    return (base if base.is_absolute() else Path(os.path.expanduser("~"), ".cache")) / "wfc"


def _drop_oldest(folder: Path) -> None:
    # Subfolders belong to other commands, such as `wfc serve`.
    files = (path for path in folder.iterdir() if path.is_file())
    kept = sorted(files, key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for path in kept[_MOST_FILES:]:
        path.unlink(missing_ok=True)


# -- digests -------------------------------------------------------------------


def digest_of(parts: Iterable[bytes]) -> str:
    digest = sha256()
    for part in parts:
        # The length first: otherwise (`ab`, `c`) and (`a`, `bc`) would have the same digest.
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.hexdigest()


def as_bytes(text: str) -> bytes:
    """File names may contain bytes that are not valid text."""
    return text.encode("utf-8", "surrogateescape")


def _content(path: Path, config: Config) -> Content:
    """A file that can't be read is not an error here; the command that needs it reports it."""
    # The resolved path as well, since a link may be changed to another file.
    where = as_bytes(f"{path} {os.path.realpath(path)}")
    try:
        data = read_bytes(path, config)
    except UnreadableFileError as error:
        return Content(b"", digest_of([where, b"unreadable", as_bytes(error.message)]), error.message)
    if NAMING_KEY not in data:
        return Content(data, digest_of([where, data]))
    named = texts_named_in(data)
    texts = {name: read_beside(str(path), name, config) for name in named or ()}
    # Files whose names can't be seen here can't be covered by the digest, so that nothing is remembered.
    covered = os.urandom(16) if named is None else as_bytes(repr(texts))
    return Content(data, digest_of([where, data, covered]), texts=texts)


def _surroundings(config: Config) -> Iterator[bytes]:
    yield as_bytes(
        # Whatever else can change an answer: settings, shared folders, and the paths of annotations.
        repr((__version__, sys.version, config, template_folders(), os.environ.get(GITHUB_WORKSPACE)))
    )
    yield as_bytes("\n".join(sorted(_libraries())))
    for package in (Path(__file__).parents[1], Path(version.__file__).parent):
        yield as_bytes("\n".join(sorted(_stamps(package))))


def _libraries() -> Iterator[str]:
    """The installed distributions with their versions: the names of their metadata folders."""
    for folder in sys.path:
        if os.path.isdir(folder or "."):
            yield from (name for name in os.listdir(folder or ".") if name.endswith(".dist-info"))


def _stamps(folder: Path) -> Iterator[str]:
    """The sources of wfc, each with its size and times, at least one of which changes with every edit."""
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(place, name)
                found = os.lstat(path)
                yield f"{path} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"
