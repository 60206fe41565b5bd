"""Files that no file action of a server may write, regardless of grants.

These are the files that the server, git, an agent or CI treats as code or configuration.

SECURITY. A path is compared in two ways. By name, in a normal form in which names that some file system treats as equal
are equal (case, Unicode forms, invisible characters, trailing dots). By identity: device and inode of the file and of
every folder on the path, taken from the descriptors that the write then uses, so that links, mounts and folders renamed
in between have no effect.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_AT_A_PROJECT = (
    ".wfc",
    ".git",
    ".claude",
    ".github",
    ".mcp.json",
    "pyproject.toml",
    ".pre-commit-config.yaml",
)
_SOURCE_ENDINGS = (".yaml", ".yml", ".md")
_MODULE_ENDINGS = (".py", ".so", ".pyd", ".pth", ".json")


@dataclass(frozen=True)
class Guarded:
    """One protected place."""

    path: Path
    what: str
    """Completes the sentence "PATH is ..."."""
    endings: tuple[str, ...] = ()
    """Protects only files with these endings below the path; empty: the path itself and everything below it."""


@dataclass(frozen=True)
class Protected:
    """The protected places of one server."""

    places: tuple[Guarded, ...] = ()
    stores: tuple[Path, ...] = ()
    """The files of runs. Neither they nor files beside them whose names start with theirs (logs, keys) may be read or
    written."""

    def why_unreadable(self, path: Path) -> str:
        names = _canonical(path)
        for store in self.stores:
            folder, name = _canonical(store.parent), _canonical(store)[-1]
            if (
                names[: len(folder)] == folder
                and names[len(folder) :][:1]
                # A prefix, so that the log, the keys and the token beside the store are covered as well.
                and names[len(folder)].startswith(name)
            ):
                return f"{path} belongs to the server's store"
        return ""

    def why_unwritable(self, path: Path, root: Path) -> str:
        """Why a resolved path below a granted root may not be written; empty if it may."""
        if why := self.why_unreadable(path):
            return why
        names = _canonical(path)
        # Any `.git` folder below the root: a hook in a nested repository is executed, too.
        if ".git" in names[len(_canonical(root)) :]:
            return f"{path} is inside a .git folder"
        for one in self.places:
            place = _canonical(one.path)
            is_inside = names[: len(place)] == place
            # Without endings the place is protected as a whole.
            if is_inside and (not one.endings or names[-1].endswith(one.endings)):
                return f"{path} is {one.what}"
        return ""

    def unreadable_files(self) -> dict[tuple[int, int], str]:
        """Device and inode of the existing files of the store, to recognise them under another name."""
        found: dict[tuple[int, int], str] = {}
        for store in self.stores:
            with suppress(OSError):
                for name in os.listdir(store.parent):
                    # By prefix as well, because SQLite and the server create files beside the store.
                    if name.startswith(store.name):
                        found.update(_identity(store.parent / name, "the server's store"))
        return found

    def identities(self) -> dict[tuple[int, int], str]:
        """Device and inode of all existing protected files and folders, with a description."""
        found = self.unreadable_files()
        for one in self.places:
            # A folder in which only some files are protected must stay usable, so it has no identity here.
            if not one.endings:
                found.update(_identity(one.path, one.what))
        return found


def protected_paths(
    project: Path,
    roots: Iterable[Path],
    *,
    sources: Iterable[Path] = (),
    modules: Iterable[Path] = (),
    stores: Iterable[Path] = (),
) -> Protected:
    """The protected places of a server for a project.

    `sources` are the folders and files of workflows, template folders included; `modules` are the folders of compiled
    modules; `roots` are the folders that file actions may use.
    """
    granted = [root.resolve() for root in (project, *roots)]
    places = [
        Guarded(folder / name, "a file that configures wfc, git, an agent or CI")
        for folder in _project_folders(project.resolve())
        for name in _AT_A_PROJECT
    ]
    places += [Guarded(path, "part of a git repository") for path in _git_folders(project)]
    places += _whole_or_ending(sources, granted, _SOURCE_ENDINGS, "a workflow source")
    places += _whole_or_ending(
        modules, granted, _MODULE_ENDINGS, "in a folder that the server loads modules from"
    )
    # Before the folders are listed: what is no longer imported from need not be protected.
    drop_import_folders(granted)
    places += _whole_or_ending(
        _loaded_from(), granted, _MODULE_ENDINGS, "in a folder that the server loads code from"
    )
    places += [
        Guarded(path, "in a folder of programs (PATH)")
        # A folder of programs around the project can't be protected as a whole.
        for path in _program_folders()
        if not _contains_any(path, granted)
    ]
    unique = {(one.path, one.endings): one for one in places}
    return Protected(tuple(unique.values()), tuple(store.absolute() for store in stores))


def drop_import_folders(granted: Iterable[Path]) -> None:
    """Stop importing from folders that file actions may write to.

    `python -m` and PYTHONPATH put the current folder on `sys.path`. A late import could then load a file that a
    workflow has written. Folders that modules have already been loaded from stay, and are protected instead.
    """
    roots = [*granted]
    entries = {entry: Path(entry or ".").resolve() for entry in sys.path}
    in_use = _in_use(set(entries.values()))
    sys.path[:] = [
        entry for entry in sys.path if entries[entry] in in_use or not _contains_any(entries[entry], roots)
    ]


def _in_use(folders: set[Path]) -> set[Path]:
    """The folders that loaded modules came from: for each module the innermost folder that contains it."""
    # A copy, since another thread may import something meanwhile.
    files = [getattr(module, "__file__", None) for module in [*sys.modules.values()]]
    found: set[Path] = set()
    # By folder, not by module: thousands of modules come from a few hundred folders, and resolving a path is slow.
    for name in {os.path.dirname(file) for file in files if isinstance(file, str)}:
        place = Path(name).resolve()
        found.update([folder for folder in (place, *place.parents) if folder in folders][:1])
    return found


def _project_folders(project: Path) -> Iterator[Path]:
    """The project's folder, the working directory, and the parents of the project up to the repository root."""
    yield from dict.fromkeys((project, Path.cwd().resolve()))
    above = [project, *project.parents]
    top = next((at for at, folder in enumerate(above) if (folder / ".git").exists()), 0)
    yield from above[1 : top + 1]


def _git_folders(project: Path) -> Iterator[Path]:
    """The repository's git folders, if a `.git` file points elsewhere, as in a worktree or submodule."""
    for folder in _project_folders(project.resolve()):
        with suppress(OSError, UnicodeDecodeError):
            said = (folder / ".git").read_text(encoding="utf-8").strip()
            # In a worktree or submodule, `.git` is a file that names the folder.
            if said.startswith("gitdir:"):
                git = (folder / said.removeprefix("gitdir:").strip()).resolve()
                yield git
                with suppress(OSError, UnicodeDecodeError):
                    # A worktree shares hooks and configuration with its main repository.
                    yield (git / (git / "commondir").read_text(encoding="utf-8").strip()).resolve()


def _loaded_from() -> Iterator[Path]:
    """The folders that this process imports from, and its caches."""
    yield from (Path(entry or ".").resolve() for entry in sys.path)
    paths = sysconfig.get_paths()
    yield from (Path(paths[name]).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    if sys.prefix != sys.base_prefix:
        yield Path(sys.prefix).resolve()
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    yield Path(cache, "wfc").resolve()
    if sys.pycache_prefix:
        yield Path(sys.pycache_prefix).resolve()


def _program_folders() -> Iterator[Path]:
    for entry in os.environ.get("PATH", "").split(os.pathsep):
        if os.path.isabs(entry):
            yield Path(entry).resolve()


def _whole_or_ending(
    paths: Iterable[Path], granted: list[Path], endings: tuple[str, ...], what: str
) -> Iterator[Guarded]:
    """Protect folders as a whole; in a folder that contains a granted one, only the files with these endings."""
    for path in dict.fromkeys(one.resolve() for one in paths):
        yield Guarded(path, what, endings if _contains_any(path, granted) else ())


def _contains_any(folder: Path, others: Iterable[Path]) -> bool:
    return any(other.is_relative_to(folder) for other in others)


def _canonical(path: Path) -> tuple[str, ...]:
    return tuple(map(_canonical_name, path.parts))


@lru_cache(maxsize=4096)
def _canonical_name(name: str) -> str:
    """A normal form that is equal for names that some file system treats as the same."""
    text = unicodedata.normalize("NFKC", name).casefold()
    # Invisible characters: some file systems ignore them when they compare names.
    seen = "".join(char for char in text if unicodedata.category(char) != "Cf")
    # Removing format characters can leave a sequence that is not normalized any more.
    # Windows drops trailing dots and spaces from names.
    return unicodedata.normalize("NFKC", seen).rstrip(". ") or name


def _identity(path: Path, what: str) -> Iterator[tuple[tuple[int, int], str]]:
    with suppress(OSError):
        found = os.stat(path)
        yield (found.st_dev, found.st_ino), what
