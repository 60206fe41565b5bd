"""The two versions that a comparison is about: files, revisions of git, or the work tree."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import click

from wfc.cli.shared.git import commit_of, content_of, files_at, top_of
from wfc.config import Config, load_config
from wfc.project import Project, SourceFile, load_unit
from wfc.workspace.files import ENDINGS, as_typed, is_left_out, read_bytes, select


@dataclass
class Version:
    """Workflow files as they are, or were, at one time."""

    config: Config
    files: dict[str, Callable[[], bytes]]
    """By path, as a person would type it."""
    contents: dict[str, str] = field(default_factory=dict)
    """What git calls each content: equal names, equal bytes."""
    _units: dict[str, SourceFile] = field(default_factory=dict)

    def unit(self, path: str) -> SourceFile:
        """A file, among the others of its version: a call finds the workflow as it was then."""
        if path not in self._units:
            project = Project(self.config, others=lambda: self._others(path))
            self._units[path] = load_unit(path, self.files[path](), self.config, project)
        return self._units[path]

    def _others(self, path: str) -> Iterator[tuple[str, bytes]]:
        return ((other, read()) for other, read in self.files.items() if other != path)


@dataclass(frozen=True)
class Versions:
    old: Version
    new: Version
    pairs: list[tuple[str | None, str | None]]
    """Paths of the files that may differ. None: not there in that version."""


def find_versions(words: tuple[str, ...]) -> Versions:
    """What the words of a command line mean: two files, or one or two revisions and paths."""
    if len(words) == 2 and all(map(_is_file, words)):
        config = load_config(Path(words[1].partition(":")[2] or words[1]).parent)
        old, new = (Version(config, {word: _reader(word, config)}) for word in words)
        return Versions(old, new, [(words[0], words[1])])
    first, *rest = words
    folder = Path(".")
    commit = commit_of(first, folder)
    if commit is None:
        raise click.UsageError(_not_a_version(first, rest))
    second = commit_of(rest[0], folder) if rest else None
    if second is not None and os.path.exists(rest[0]):
        raise click.UsageError(f"`{rest[0]}` is a revision and a file; name the file `./{rest[0]}`")
    paths = tuple(rest[1:] if second is not None else rest)
    config = load_config(folder)
    top = top_of(folder)
    assert top is not None
    old = _at_commit(commit, paths, config, top)
    new = _at_commit(second, paths, config, top) if second is not None else _in_work_tree(paths, config)
    for path in paths:
        if not _has(old, path) and not _has(new, path):
            raise click.UsageError(f"no workflow in either version is at `{path}`")
    return Versions(old, new, _pairs(old, new))


def _not_a_version(first: str, rest: Iterable[str]) -> str:
    if os.path.isfile(first):
        others = [word for word in rest if not _is_file(word)]
        if others:
            return f"there is no file `{others[0]}` to compare `{first}` with"
        return f"`{first}` is one file; name another, or a revision first: wfc diff HEAD -- {first}"
    revision, colon, path = first.partition(":")
    if colon and commit_of(revision, Path(".")) is not None:
        return (
            f"`{revision}` has no file `{path}`; paths in it begin at the top of the repository, or with `./`"
        )
    if top_of(Path(".")) is None:
        return (
            f"there is no file `{first}`, and this folder is in no git repository that could have a revision"
        )
    return f"`{first}` is no file and no revision of git"


# -- single files --------------------------------------------------------------


def _is_file(word: str) -> bool:
    return os.path.isfile(word) or _in_revision(word) is not None


def _in_revision(word: str) -> tuple[Path, str] | None:
    """`HEAD~1:workflows/a.yaml`: the work tree, and what git calls the content."""
    revision, colon, path = word.partition(":")
    commit = commit_of(revision, Path(".")) if colon and revision else None
    top = top_of(Path(".")) if commit else None
    if commit is None or top is None:
        return None
    relative = os.path.relpath(os.path.abspath(path), top) if path.startswith(("./", "../")) else path
    blob = files_at(commit, top).get(Path(relative).as_posix())
    return (top, blob) if blob else None


def _reader(word: str, config: Config) -> Callable[[], bytes]:
    if os.path.isfile(word):
        return lambda: read_bytes(Path(word), config)
    found = _in_revision(word)
    assert found is not None
    return lambda: content_of(found[1], found[0])


# -- revisions -----------------------------------------------------------------


def _at_commit(commit: str, paths: tuple[str, ...], config: Config, top: Path) -> Version:
    version = Version(config, {})
    for path, blob in files_at(commit, top).items():
        full = top / path
        if path.endswith(ENDINGS) and _is_meant(full, paths, config):
            shown = str(as_typed(full))
            version.files[shown] = partial(content_of, blob, top)
            version.contents[shown] = blob
    return version


def _is_meant(full: Path, paths: tuple[str, ...], config: Config) -> bool:
    if not paths:
        folder = config.workflows_dir.resolve()
        return full.is_relative_to(folder) and not is_left_out(full, folder, config)
    for path in paths:
        named = Path(os.path.abspath(path))
        if full == named or (full.is_relative_to(named) and not is_left_out(full, named, config)):
            return True
    return False


def _in_work_tree(paths: tuple[str, ...], config: Config) -> Version:
    there = tuple(path for path in paths if os.path.exists(path))
    files = select(there).files if there or not paths else []
    return Version(config, {str(path): partial(read_bytes, path, config) for path in files})


def _has(version: Version, path: str) -> bool:
    """Whether a version has that file, or workflows in that folder."""
    named = os.path.abspath(path)
    full = [os.path.abspath(one) for one in version.files]
    return any(one == named or one.startswith(named + os.sep) for one in full)


def _pairs(old: Version, new: Version) -> list[tuple[str | None, str | None]]:
    """By path; and what is left, by the workflow's name: a file may have been moved."""
    both = [path for path in new.files if path in old.files]
    changed = [
        path
        for path in both
        if old.contents[path] != new.contents.get(path)
        and (path in new.contents or old.files[path]() != new.files[path]())
    ]
    gone = {old.unit(path).name: path for path in old.files if path not in new.files}
    come = {path: new.unit(path).name for path in new.files if path not in old.files}
    found: list[tuple[str | None, str | None]] = [(path, path) for path in changed]
    found += [(gone.pop(name, None), path) for path, name in come.items()]
    found += [(path, None) for path in gone.values()]
    return sorted(found, key=lambda pair: pair[1] or pair[0] or "")
