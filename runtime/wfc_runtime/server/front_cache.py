"""A cache of the answers that every session starts with: handshake and lists.

A client shows no tools before all of these are answered, and a worker takes a second to import the SDK. The front
answers from the cache until the worker has answered its first request. The worker still gets every request, and its
answer takes precedence.

SECURITY: descriptions of tools and prompts go into a model's context, so the file must not come from a cloned project.
It is in the user's cache folder, and it is used only if nobody else could have written it.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import zlib
from contextlib import suppress

from wfc_runtime.version import __version__

TYPE_CHECKING = False  # As in `typing`, which takes longer to import than this module.
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Stamp = list[Any]

_CACHED = (
    "initialize",
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
)
# Environment variables that change which workflows a server offers.
_VARIABLES = ("WORKFLOWS_TEMPLATE_PATHS", "WFC_STATE", "WFC_TEMPORAL_ADDRESS")
_PROTOCOL = "io.modelcontextprotocol/"
_SOURCES = (".py", ".yaml", ".yml", ".toml")
_MOST_FILES = 5_000
_MOST_ANSWERS = 40
_MOST_BYTES = 8 * 1024 * 1024
_OTHERS_WRITE = 0o022


class HandshakeCache:
    """The answers for one command line in one folder, valid as long as nothing that they depend on has changed."""

    def __init__(self, arguments: list[str]) -> None:
        self._place: Stamp = [os.getcwd(), arguments, {name: os.environ.get(name) for name in _VARIABLES}]
        self._folder = _cache_folder(self._place[0])
        self._paths: list[str] | None = None
        self._stamps: Stamp | None = None
        self._answers: dict[str, Any] | None = None
        """None: not read yet."""
        self.is_changed = False

    def key_of(self, message: dict[str, Any], initialize: dict[str, Any] | None) -> str:
        """The key of a request: everything its answer depends on besides the server; "" if it is not cached."""
        method, params = message.get("method"), message.get("params") or {}
        if method not in _CACHED or not isinstance(params, dict):
            return ""
        meta = params.get("_meta")
        agreed: Any = meta if isinstance(meta, dict) else {}
        # In the older protocol, client and server agree on a version once; in the newer one each request
        # names it.
        if initialize is not None:
            said = initialize.get("params")
            agreed = said if isinstance(said, dict) else {}
        prefix = "" if initialize is not None else _PROTOCOL
        names = ("protocolVersion", "capabilities" if initialize is not None else "clientCapabilities")
        # The name of the client does not change an answer, and differs between versions of the same client.
        asked = {name: value for name, value in params.items() if name not in ("_meta", "clientInfo")}
        return json.dumps([method, asked, [agreed.get(prefix + name) for name in names]], sort_keys=True)

    def recall(self, key: str) -> Any:
        """The cached result; None if there is none, or if something has changed."""
        if self._answers is None:
            self._answers = self._read()
        return self._answers.get(key)

    def depend_on(self, paths: object) -> None:
        """Set the files and folders that the worker's lists depend on. The worker reports them before it reads them."""
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            return
        folders = [path if os.path.isdir(path) else os.path.dirname(path) for path in paths]
        # The folder was chosen before the sources were known.
        if any(_is_inside(self._folder, folder) for folder in folders):
            # A cache inside the sources could come with the project.
            self._folder = ""
        stamps = _stamps(paths)
        # Also drops answers that the previous worker gave, since they were about other files.
        if stamps != self._stamps:
            self._answers = {}
        self._paths, self._stamps = paths, stamps

    def keep(self, key: str, result: Any) -> None:
        # Without stamps it is unknown how long an answer is valid.
        if self._stamps is None or self._answers is None or self._answers.get(key) == result:
            return
        self._answers.pop(key, None)
        self._answers[key] = result
        # The oldest go first, since a kept answer is moved to the end.
        for old in list(self._answers)[:-_MOST_ANSWERS]:
            del self._answers[old]
        self.is_changed = True

    def write(self) -> None:
        """Replace the file atomically. Errors are ignored: the server also works without a cache."""
        self.is_changed = False
        if not self._folder or self._stamps is None:
            return
        kept = {
            "place": self._identity(),
            "paths": self._paths,
            "stamps": self._stamps,
            "answers": self._answers,
        }
        data = json.dumps(kept).encode()
        # Per process, so that two fronts do not write to the same file.
        temporary = f"{self._path}.{os.getpid()}"
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            if len(data) > _MOST_BYTES or not _is_private_folder(self._folder):
                return
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            with open(temporary, "wb", opener=lambda path, _: os.open(path, flags, 0o600)) as file:
                file.write(data)
            os.replace(temporary, self._path)
        except OSError:
            with suppress(OSError):
                os.unlink(temporary)

    @property
    def _path(self) -> str:
        text = json.dumps(self._place).encode()
        # Two checksums instead of a cryptographic hash, whose module takes longer to import.
        return os.path.join(self._folder, f"{zlib.crc32(text):08x}{zlib.adler32(text):08x}.json")

    def _identity(self) -> Stamp:
        """Everything that the front itself depends on. The digests in the file's name may collide, this may not."""
        return [*self._place, __version__, sys.version, sys.executable, list(_installed())]

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(_read_private(self._folder, self._path)) if self._folder else None
        except (OSError, ValueError, RecursionError):
            return {}
        match found:
            case {"place": place, "paths": list(paths), "stamps": list(stamps), "answers": dict(answers)}:
                if place == self._identity() and _stamps(paths) == stamps:
                    self._stamps = stamps
                    return answers
        return {}


def _cache_folder(project: str) -> str:
    """The cache folder; empty if it would be inside the project, since the cache could then come with it."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(base, "wfc", "serve")
    return "" if not os.path.isabs(folder) or _is_inside(folder, project) else folder


def _is_inside(path: str, folder: str) -> bool:
    inner, outer = os.path.realpath(path), os.path.realpath(folder)
    return inner == outer or inner.startswith(outer.rstrip(os.sep) + os.sep)


def _is_private_folder(folder: str) -> bool:
    """Whether the folder and its parent are real folders, and nobody else can create files in them."""
    for path in (folder, os.path.dirname(folder)):
        about = os.lstat(path)
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & _OTHERS_WRITE:
            return False
    return True


def _read_private(folder: str, path: str) -> bytes:
    if not _is_private_folder(folder):
        raise PermissionError
    # O_NONBLOCK: a named pipe in place of the file must not block the front.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        # Checked on the open file, not on the path, which could be exchanged in between.
        own = stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid()
        if not own or about.st_mode & _OTHERS_WRITE or about.st_size > _MOST_BYTES:
            raise PermissionError
        return file.read(_MOST_BYTES + 1)


def _installed() -> Iterator[Stamp]:
    """Stamps that change when wfc or the SDK is reinstalled, or when a file of the server is edited."""
    here = os.path.dirname(os.path.abspath(__file__))
    yield [here, *(_stamps([here]) or [])]
    for folder in sys.path:
        for name in ("mcp", "wfc", "wfc_runtime"):
            path = os.path.join(folder, name)
            if os.path.isdir(path):
                yield [path, os.stat(path).st_mtime_ns]


def _stamps(paths: list[str]) -> Stamp | None:
    """Name, time and size of every source file in these places; None if there are too many."""
    found: Stamp = []
    for path in paths:
        if os.path.isdir(path):
            for folder, folders, names in os.walk(path):
                # In a fixed order: the stamps are compared as lists.
                folders.sort()
                found += [
                    _stamp(os.path.join(folder, name)) for name in sorted(names) if name.endswith(_SOURCES)
                ]
                if len(found) > _MOST_FILES:
                    return None
        else:
            found.append(_stamp(path))
    return found


def _stamp(path: str) -> Stamp:
    try:
        about = os.stat(path)
    except OSError:
        # A missing file is a state like any other: it is noticed when it appears.
        return [path]
    return [path, about.st_mtime_ns, about.st_size, about.st_ino]
