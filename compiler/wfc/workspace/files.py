"""Files of a project: finds and selects workflows, reads them, and writes files safely."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from fnmatch import fnmatch
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from wfc.config import (
    IMPORT_ENDINGS,
    MORE_WORKFLOWS,
    Config,
    ReadError,
    TextFile,
    find_root,
    import_places,
    load_config,
    real,
)
from wfc.struct import struct
from wfc.testfiles import is_test_file
from wfc_runtime.header import read_mark

if TYPE_CHECKING:
    from wfc_runtime.store.queries import Waiting

ENDINGS = IMPORT_ENDINGS
MARKDOWN = "workflow.md"
"""The name of a workflow in Markdown. Other Markdown files are prose."""
MISSIONS = Path(".claude", "workflows")
"""The folder of a project whose subfolders may have such a file."""
AGENTS = Path(".claude", "agents")
_NOTHING: Mapping[Path, bytes] = MappingProxyType({})
DEFINITION = "definition.md"


def is_source_name(name: str) -> bool:
    """Whether a file is a workflow or a test file, by its name."""
    return name.endswith(ENDINGS) or name == MARKDOWN


class UnreadableFileError(click.ClickException, ReadError):
    """The error for a file that can't be read."""


@struct(frozen=True)
class Selection:
    """The files that the user selected, their folders, and the settings that apply."""

    config: Config
    files: list[Path]
    """Workflows."""
    folders: list[Path]
    tests: list[Path] = field(default_factory=list)
    """Test files."""

    @classmethod
    def of_file(cls, config: Config, path: Path) -> Selection:
        """One file, by its name a workflow or a test file."""
        return cls(config, [], [], [path]) if is_test_file(path.name) else cls(config, [path], [])


def select(paths: tuple[str, ...]) -> Selection:
    """The workflows and test files of some files and folders; without any, those of the project."""
    try:
        return _named(paths) if paths else _of_project()
    except OSError as error:
        raise click.UsageError(f"can't read `{error.filename}`: {error.strerror}") from error


def _of_project() -> Selection:
    config = load_config(Path("."))
    folders = [folder for folder in map(as_typed, config.workflow_dirs) if folder.is_dir()]
    missions = list(mission_sources(config))
    if not folders and not missions:
        raise click.UsageError(
            f"there is no folder `{as_typed(config.workflows_dir)}`; name files or folders, or set `workflows` in "
            "[tool.wfc] of pyproject.toml"
        )
    # Only folders of the project are searched completely: an unreadable one might hold workflows.
    files = [path for folder in folders for path in in_folder(folder, config, whole=True)]
    tests = [path for folder in folders for path in in_folder(folder, config, tests=True)]
    if missions:
        folders.append(as_typed(config.root / MISSIONS))
    return Selection(config, [*files, *missions], folders, tests)


def mission_sources(config: Config) -> Iterator[Path]:
    """The `workflow.md` files of a project's missions.

    One that `wfc mission` has written is output, and only a source of findings if it was edited.
    """
    for path in sorted((config.root / MISSIONS).glob(f"*/{MARKDOWN}")):
        try:
            mark = read_mark(read_bytes(path, config).decode("utf-8", "replace"))
        except UnreadableFileError:
            mark = None
        # Written by `wfc mission` and unchanged: its source is checked instead.
        if mark is None or mark.edited:
            yield as_typed(path)


def _named(paths: tuple[str, ...]) -> Selection:
    if "" in paths:
        raise click.UsageError("a path is empty; `.` is this folder")
    first = Path(paths[0])
    # The settings of the first path apply to all of them.
    config = load_config(first if first.is_dir() else first.parent)
    # Compared by resolved path, so that a file named twice is read once.
    files: dict[Path, Path] = {}
    tests: dict[Path, Path] = {}
    folders: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            folders.append(path)
            found = [*in_folder(path, config, whole=True), *in_folder(path, config, tests=True)]
        elif path.exists():
            found = [path]
        else:
            raise click.UsageError(f"there is no file or folder `{path}`")
        for file in found:
            (tests if is_test_file(file.name) else files).setdefault(real(file), file)
    return Selection(config, list(files.values()), folders, list(tests.values()))


def modules_folder(config: Config) -> Path:
    """The folder for modules: that of the project, or without a project one in the working folder."""
    return as_typed(config.generated_dir) if find_root(config.root) else Path(config.generated)


def as_typed(path: Path) -> Path:
    """The path relative to the working folder, unless that is longer: as a user would type it."""
    try:
        near = os.path.relpath(path)
    except ValueError:  # On Windows there is no relative path between two drives.
        return path
    return Path(min(near, str(path), key=len))


def in_folder(
    folder: Path, config: Config, *, deep: bool = True, whole: bool = False, tests: bool = False
) -> Iterator[Path]:
    """The workflow files of a folder, or its test files, in order. Files that disappear meanwhile are skipped.

    With `whole`, what can't be looked into is an error: it might hold workflows, which would count as gone.
    """

    def unread(error: OSError) -> None:
        # A folder that the settings exclude need not be readable.
        if whole and not is_left_out(Path(error.filename, "any.yaml"), folder, config):
            refuse_unread(error)

    found: list[Path] = []
    for place, folders, names in os.walk(folder, onerror=unread):
        folders[:] = [name for name in folders if deep and not name.startswith(".")]
        found += [Path(place, name) for name in names if is_source_name(name)]
    for path in sorted(found):
        # A dangling link in a workflows folder is reported, not skipped.
        is_there = path.is_file() or (whole and _leads_nowhere(path))
        if is_there and is_test_file(path.name) == tests and not _is_hidden(path, folder, config):
            yield path


def refuse_unread(error: OSError) -> None:
    """The error handler of a directory walk: it raises for a folder that can't be read, and ignores one that has
    disappeared."""
    if not isinstance(error, FileNotFoundError):
        raise click.ClickException(f"can't read `{error.filename}`: {error.strerror}") from error


def _leads_nowhere(path: Path) -> bool:
    return path.is_symlink() and not path.exists()


def is_left_out(path: Path, folder: Path, config: Config) -> bool:
    """Whether a file is not a workflow: a test, a hidden file, or excluded by the settings."""
    return is_test_file(path.name) or _is_hidden(path, folder, config)


def _is_hidden(path: Path, folder: Path, config: Config) -> bool:
    if any(part.startswith(".") for part in path.relative_to(folder).parts):
        return True
    if not config.exclude:
        return False
    try:
        shown = real(path).relative_to(config.root).as_posix()
    except ValueError:
        shown = path.as_posix()
    return any(
        fnmatch(shown, pattern) or shown.startswith(pattern.rstrip("/") + "/") for pattern in config.exclude
    )


TEMPLATE_PATHS = "WORKFLOWS_TEMPLATE_PATHS"
"""The environment variable with further workflow folders, separated by commas."""


def named_templates() -> list[Path]:
    """The folders in the order of the environment variable."""
    names = [name.strip() for name in os.environ.get(TEMPLATE_PATHS, "").split(",")]
    return [Path(name).expanduser() for name in names if name]


def template_folders() -> list[Path]:
    """The workflow folders for every project, in order of precedence: later ones of the variable come first."""
    # Later folders of the variable override earlier ones, as in PATH-like settings of other tools.
    return [folder for folder in reversed(named_templates()) if folder.is_dir()]


def users_folder() -> Path | None:
    """The user's own workflows, `~/.aromcp/workflows`, if there are any. Only servers look there: `check` and `compile`
    must give the same on every machine."""
    try:
        folder = Path.home() / MORE_WORKFLOWS
    except RuntimeError:  # There is no home folder.
        return None
    return folder if folder.is_dir() else None


def is_template(path: str) -> bool:
    """Whether a file is in one of these folders."""
    return any(real(Path(path)).is_relative_to(real(folder)) for folder in template_folders())


def other_files(selection: Selection, templates: Sequence[Path]) -> Iterator[Path]:
    """Workflows that the selected ones may call: those of the shared folders, and those of the project."""
    config = selection.config
    known = {real(path) for path in selection.folders}
    # The same folder may be given by two paths; it is searched once.
    whole = [folder for folder in config.workflow_dirs if real(folder) not in known]
    folders = {*selection.folders, *whole}
    parents = {path.parent for path in (*selection.files, *selection.tests)}
    # Files beside a selected one can be called, too, but not those in subfolders.
    beside = {path for path in parents - folders if real(path) not in known}
    seen = {real(path) for path in selection.files}
    for folder in (*templates, *sorted(folders | beside)):
        for path in in_folder(folder, config, deep=folder in folders or folder in templates):
            if real(path) not in seen:
                seen.add(real(path))
                yield path
    for test in selection.tests:
        named = _named_workflow(test, config)
        if named is not None and named.is_file() and real(named) not in seen:
            seen.add(real(named))
            yield named


def companion_files(
    selection: Selection,
    known: Iterable[tuple[Path, bytes]] | None = None,
    opened: Mapping[Path, bytes] = _NOTHING,
) -> Iterator[Path]:
    """Files that workflows refer to: the agents of the project and those beside a workflow, definitions, and the files
    that others import. `known`: the workflows with their data, if they have been read already. `opened`: data by real
    path that counts in place of what is on disk.

    SECURITY. Their texts go into modules, and from there to agents and into diffs, so links that lead out of the
    project are passed over.
    """
    config = selection.config
    root = real(config.root)
    folders = {real(path.parent) for path in (*selection.files, *selection.tests)}
    for folder in (*config.workflow_dirs, config.root / MISSIONS):
        for place, inner, _ in os.walk(folder):
            inner[:] = [name for name in inner if not name.startswith(".")]
            folders.add(real(Path(place)))
    found = set((root / AGENTS).rglob("*.md"))
    for folder in folders:
        found |= {folder / DEFINITION, *(folder / AGENTS.name).glob("*.md")}
    found |= _imported_files(selection, root, known, opened)
    # Resolved before it is compared: a link could lead out of the project.
    yield from sorted(
        path for path in found if (path.is_file() or real(path) in opened) and real(path).is_relative_to(root)
    )


IMPORTING_KEY = b"imports"
_IMPORTED = re.compile(
    rb"""["']([^"'\r\n]+\.ya?ml)["']  # quoted
    |^[ ]*-[ ]+([^"'\[{\#\r\n][^\#\r\n]*?\.ya?ml)[ ]*(?:\#.*)?\r?$  # an item of a list, perhaps with spaces
    |([^\s"',\[\]{}\#]+\.ya?ml)  # in brackets
    """,
    re.MULTILINE | re.VERBOSE,
)


def imported(
    sources: Iterable[tuple[str, bytes]], folders: Sequence[str], read: Callable[[str], bytes | None]
) -> set[str]:
    """The files that some files import, directly or not. All paths are relative to the project.

    Without parsing: every text that looks like the name of a YAML file counts. `read` returns None for a file that is
    not there.
    """
    found: set[str] = set()
    todo = [(path, data) for path, data in sources if IMPORTING_KEY in data]
    for path, data in todo:  # The list grows while it is read.
        names = {os.fsdecode(one) for groups in _IMPORTED.findall(data) for one in groups if one}
        for name in sorted(names):
            for place in import_places(path.rpartition("/")[0], name, folders):
                inner = None if place in found else read(place)
                if inner is not None:
                    found.add(place)
                    todo += [(place, inner)] if IMPORTING_KEY in inner else []
    return found


def _imported_files(
    selection: Selection,
    root: Path,
    known: Iterable[tuple[Path, bytes]] | None,
    opened: Mapping[Path, bytes],
) -> set[Path]:
    config = selection.config

    def read(place: str) -> bytes | None:
        path = root / place
        # SECURITY. Before it is opened: a link may lead out of the project.
        full = real(path)
        if not full.is_relative_to(root):
            return None
        if full in opened:
            return opened[full]
        return _data_of(path, config) if path.is_file() else None

    def sources() -> Iterator[tuple[str, bytes]]:
        given = known
        if given is None:
            # A file that was never saved is not among the others; its imports are only of interest to itself.
            paths = (*selection.files, *other_files(selection, []))
            given = ((path, opened.get(real(path)) or _data_of(path, config) or b"") for path in paths)
        for path, data in given:
            # Few files have imports, and resolving the paths of all of them takes longer than reading them.
            if IMPORTING_KEY in data and (full := real(path)).is_relative_to(root):
                yield full.relative_to(root).as_posix(), data

    folders = [os.path.relpath(folder, config.root) for folder in config.workflow_dirs]
    return {root / place for place in imported(sources(), folders, read)}


def _data_of(path: Path, config: Config) -> bytes | None:
    try:
        return read_bytes(path, config)
    except UnreadableFileError:
        return None


def is_companion(path: Path) -> bool:
    """Whether a file, by its path in the project, may be one that missions refer to."""
    in_agents = AGENTS in path.parents or path.parent.name == AGENTS.name
    return path.name == DEFINITION or (in_agents and path.suffix == ".md")


def read_companions(
    selection: Selection,
    known: Iterable[tuple[Path, bytes]] | None = None,
    opened: Mapping[Path, bytes] = _NOTHING,
) -> dict[str, str]:
    """The texts of these files, by path relative to the project. One that can't be read is left out."""
    found: dict[str, str] = {}
    root = real(selection.config.root)
    for path in companion_files(selection, known, opened):
        try:
            data = opened.get(real(path))
            text = (data if data is not None else read_bytes(path, selection.config)).decode(
                "utf-8", "replace"
            )
        except UnreadableFileError:
            continue
        found[os.path.relpath(path, root).replace(os.sep, "/")] = text
    return found


_WORKFLOW = re.compile(rb"""^workflow:[ ]*["']?([^"'#\r\n]+)""", re.MULTILINE)


def _named_workflow(test: Path, config: Config) -> Path | None:
    """The workflow that a test file names, which may be in a folder that is not the project's."""
    try:
        # Without parsing: this only decides which files are read.
        found = _WORKFLOW.search(read_bytes(test, config))
    except UnreadableFileError:
        return None
    return test.parent / os.fsdecode(found[1]).strip() if found else None


def read_bytes(path: Path, config: Config) -> bytes:
    """The content of a file, at most one byte more than the limit, from which the reader knows that it is too
    large."""
    try:
        with path.open("rb") as file:
            return file.read(config.limits.source_bytes + 1)
    except OSError as error:
        raise UnreadableFileError(f"can't read `{path}`: {error.strerror}") from error


# Text files that workflows name.

TEXT_ENDINGS = (".md", ".txt")
_MOST_TEXT = 64 * 1024
NAMING_KEY = b"instructions_file"
"""The key of a step that names a text file."""
_NAMED_TEXT = re.compile(
    NAMING_KEY + rb"""["']?[ ]*:[ ]+(?:"([^"\\\r\n]*)"|'([^'\r\n]*)'|([\w./-]+))[ ]*(?=[,}#\r\n]|\Z)"""
)


def texts_named_in(data: bytes) -> list[str] | None:
    """The files that the text of a workflow names; None if that can't be seen without parsing it."""
    found = [b"".join(names) for names in _NAMED_TEXT.findall(data)]
    # A name that the pattern does not see would not be part of the cache's key.
    return [os.fsdecode(name) for name in found] if len(found) == data.count(NAMING_KEY) else None


def place_beside(source: str, name: str, config: Config) -> Path | TextFile:
    """The place of a text file that a workflow names, relative to the workflow; or why it can't be used.

    SECURITY. Its text goes into a module, and from there to agents and into diffs, so only visible text files of the
    project are read.
    """
    full = real(Path(source))
    # A workflow may be outside the folder whose settings apply; then its own project counts.
    root = real(config.root if full.is_relative_to(config.root) else find_root(full.parent) or full.parent)
    if os.path.isabs(name) or "\0" in name:
        return TextFile(problem=f"`{name}` must be relative to the folder of the workflow")
    place = real(full.parent / name)
    if not place.is_relative_to(root):
        return TextFile(problem=f"`{name}` is outside the project")
    is_hidden = any(part.startswith(".") for part in place.relative_to(root).parts)
    if place.suffix not in TEXT_ENDINGS or is_hidden:
        return TextFile(problem=f"`{name}` is not a visible text file ({' or '.join(TEXT_ENDINGS)})")
    return place


def read_beside(source: str, name: str, config: Config) -> TextFile:
    """A text file that a workflow names, relative to the workflow."""
    place = place_beside(source, name, config)
    if isinstance(place, TextFile):
        return place
    try:
        # Without waiting: a pipe would never end.
        handle = os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return TextFile(problem=f"`{name}` is not a file")
            return to_text_file(name, file.read(_MOST_TEXT + 1))
    except FileNotFoundError:
        return no_text_file(name)
    except OSError as error:
        return TextFile(problem=f"`{name}` can't be read: {error.strerror}")


def no_text_file(name: str) -> TextFile:
    return TextFile(problem=f"there is no file `{name}`")


def to_text_file(name: str, data: bytes) -> TextFile:
    """The content of a text file."""
    try:
        # A byte order mark is invisible in the result.
        text = data.decode("utf-8-sig").replace("\r\n", "\n").strip("\n")
    except UnicodeDecodeError:
        return TextFile(problem=f"`{name}` is not UTF-8 text")
    if len(data) > _MOST_TEXT:
        return TextFile(problem=f"`{name}` has more than {_MOST_TEXT // 1024} KiB")
    if "\0" in text:
        return TextFile(problem=f"`{name}` is not text")
    return TextFile(text) if text.strip() else TextFile(problem=f"`{name}` is empty")


def recorded_path(path: Path, config_root: Path) -> str:
    """The source path in the header of a module: the same from any working folder and on any machine."""
    full = real(path)
    inside = full.is_relative_to(config_root)
    # Relative to a project in any case, so that headers are equal on all machines.
    root = config_root if inside else find_root(full.parent) or full.parent
    return full.relative_to(root).as_posix()


@contextmanager
def writing(path: Path | str) -> Iterator[None]:
    """Turn errors of writing into errors of the command line."""
    try:
        yield
    except OSError as error:
        raise click.ClickException(f"can't write `{path}`: {error.strerror}") from error


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file atomically: readers see the old or the new content, and a full disk keeps the old. Raises
    `OSError`."""
    import tempfile  # Imported here: only commands that write files need it.

    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        try:
            there = path.lstat()
        except FileNotFoundError:
            # `mkstemp` creates files that only their owner can read, which is wrong for a new source file.
            os.chmod(name, 0o644)
            os.replace(name, path)
            return
        # A hard link or a file of somebody else must keep its inode and owner.
        if stat.S_ISREG(there.st_mode) and there.st_nlink == 1 and there.st_uid == os.geteuid():
            os.chmod(name, stat.S_IMODE(there.st_mode))
            os.replace(name, path)
        else:
            # A link, or a file of another user, is written in place and so keeps its identity. The temporary file has
            # shown that there is enough space.
            path.write_bytes(data)
            Path(name).unlink()
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def store_path(state: Path | None, config: Config) -> Path:
    """The store that the option or the environment names, or else that of the project."""
    return Path(state or os.environ.get("WFC_STATE") or config.root / ".wfc" / "state.db")


def stored_runs(config: Config) -> list[Waiting]:
    """The runs in progress in the store of a project, if there is one."""
    path = store_path(None, config)
    if not path.is_file():
        return []
    from wfc_runtime.store.queries import waiting_runs

    return waiting_runs(path)
