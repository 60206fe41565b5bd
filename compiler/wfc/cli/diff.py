"""`wfc diff`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import click

from wfc.author.diff import Reason, WorkflowDiff, compare
from wfc.caching import cached_property
from wfc.checker import check_file
from wfc.cli.shared.git import commit_of, content_of, files_at, top_of
from wfc.cli.shared.names import REVISIONS
from wfc.cli.shared.output import say, to_json, write_out
from wfc.cli.shared.workflow import compile_in_memory
from wfc.config import IMPORT_ENDINGS, Config, TextFile, load_config
from wfc.findings import Severity
from wfc.project import Project, SourceFile, load_file
from wfc.workspace.files import (
    IMPORTING_KEY,
    MARKDOWN,
    MISSIONS,
    NAMING_KEY,
    Selection,
    as_typed,
    imported,
    is_companion,
    is_left_out,
    is_source_name,
    no_text_file,
    place_beside,
    read_beside,
    read_bytes,
    read_companions,
    select,
    stored_runs,
    to_text_file,
)
from wfc_runtime.header import read_mark


@click.command("diff")
@click.argument(
    "versions", nargs=-1, required=True, metavar="OLD [NEW] [-- PATHS]...", shell_complete=REVISIONS
)
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "markdown", "json")),
    default="text",
    show_default=True,
    help="Output format; markdown suits a pull request comment.",
)
@click.option("--json", "form", flag_value="json", help="Short for --format json.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if there is any difference, safe or not.")
def command(versions: tuple[str, ...], form: str, exit_code: bool) -> int:
    """Show what changed in meaning between two versions, and whether runs in progress can continue.

    \b
    wfc diff old.yaml new.yaml           two files
    wfc diff main                        a revision of git and the work tree
    wfc diff v1 v2 -- workflows/a.yaml   two revisions, some files or folders only
    wfc diff HEAD:workflows/a.yaml b.yaml

    Shows steps added, removed, renamed, moved and changed, and changes of inputs, tasks, edges, field types, reads and
    writes. Formatting, comments and the order of keys do not count. A run continues with the version that it started
    with. A change is safe if `wfc runs migrate` could move every run to the new version, in whichever step it waits.
    Exits with 1 if the change is not safe.
    """
    found = _differences(find_versions(versions))
    safe = all(one.safe for one in found)
    print_differences(found, form)
    return 1 if not safe or (exit_code and found) else 0


def print_differences(found: list[WorkflowDiff], form: str) -> None:
    if form == "json":
        data = {"workflows": [one.to_data() for one in found], "safe": all(one.safe for one in found)}
        say(to_json(data))
    elif form == "markdown":
        from wfc.render.diff import render_markdown

        write_out(render_markdown(found))
    else:
        from wfc.render.diff import render_diff
        from wfc.render.style import style_for

        write_out(render_diff(found, style_for(sys.stdout)))


def _differences(versions: Versions) -> list[WorkflowDiff]:
    found: list[WorkflowDiff] = []
    for old, new in versions.pairs:
        before = versions.old.file(old) if old is not None else None
        after = versions.new.file(new) if new is not None else None
        diff = _difference(before, after)
        # An unchanged file is not mentioned, unless it has become invalid.
        if diff.status != "same" or diff.errors:
            found.append(_with_runs(diff, versions))
    return found


def _difference(old: SourceFile | None, new: SourceFile | None) -> WorkflowDiff:
    if new is None:
        assert old is not None
        reason = Reason(
            "workflow_removed", "the workflow was removed: its runs have no current version to move to"
        )
        return WorkflowDiff(old.name or "?", old.source.path, None, reasons=[reason])
    diff = WorkflowDiff(
        new.name or "?", old.source.path if old else None, new.source.path, errors=_errors(new)
    )
    if old is None:
        return diff
    diff = replace(diff, changes=compare(old, new))
    if diff.errors or not diff.changes or _errors(old):
        # No run can have been started with a version that did not compile.
        return diff
    from wfc.author.diff.verdict import reasons

    # The verdict works on machines, as `wfc runs migrate` does.
    [was], [now] = compile_in_memory([old]).values(), compile_in_memory([new]).values()
    return replace(diff, reasons=reasons(old, new, was.workflow, now.workflow))


def _errors(file: SourceFile) -> int:
    return sum(found.severity is Severity.ERROR for found in check_file(file))


def _with_runs(diff: WorkflowDiff, versions: Versions) -> WorkflowDiff:
    """The verdict, with the runs that it affects now."""
    if not diff.reasons:
        return diff
    # Runs have the name of their time: the workflow may have been renamed.
    names = {diff.name, versions.old.file(diff.old_path).name if diff.old_path else None}
    waiting = [run for run in stored_runs(versions.new.config) if run.workflow in names and not run.is_brief]
    told = [
        replace(
            reason,
            runs=tuple(
                run.run
                for run in waiting
                # A reason without steps is about the whole workflow, and so about every run of it.
                if ((reason.task is None and not reason.steps) or run.task == reason.task)
                and (not reason.steps or set(reason.steps) & set(run.steps))
            ),
        )
        for reason in diff.reasons
    ]
    return replace(diff, reasons=told)


@dataclass
class Version:
    """The workflow files of one version: the working tree or a commit."""

    config: Config
    files: dict[str, Callable[[], bytes]]
    """By path, as a user would type it."""
    contents: dict[str, str] = field(default_factory=dict)
    """The git object ids of the contents: equal ids mean equal bytes."""
    texts: Callable[[str, str], TextFile] | None = None
    """Reads a text file that a workflow names, in this version. None: from the disk."""
    read_companions: Callable[[], dict[str, str]] = dict
    """Reads the agents and definitions that missions refer to, by path from the root of the project."""
    _files: dict[str, SourceFile] = field(default_factory=dict)

    @cached_property
    def companions(self) -> dict[str, str]:
        return self.read_companions()

    def file(self, path: str) -> SourceFile:
        """Load a file together with the others of its version, so that calls resolve to workflows of the same
        version."""
        if path not in self._files:
            # Calls resolve within the same version.
            texts = self.texts or partial(read_beside, config=self.config)
            project = Project(
                self.config, lambda: self._others(path), texts=texts, companions=lambda: self.companions
            )
            self._files[path] = load_file(path, self.files[path](), self.config, project)
        return self._files[path]

    def _others(self, path: str) -> Iterator[tuple[str, bytes]]:
        return ((other, read()) for other, read in self.files.items() if other != path)


def _texts_of(commit: str, top: Path, config: Config) -> Callable[[str, str], TextFile]:
    """Reads text files as they are in a commit."""
    blobs: dict[str, str] = {}

    def read(source: str, name: str) -> TextFile:
        # The name of a file in a revision: `HEAD~1:workflows/a.yaml`.
        inside = source.partition(":")[2] if ":" in source and not os.path.exists(source) else ""
        path = top / inside if inside and not inside.startswith(".") else inside or source
        place = place_beside(str(path), name, config)
        if isinstance(place, TextFile):
            return place
        blobs.update(blobs or files_at(commit, top))
        blob = blobs.get(place.relative_to(top).as_posix()) if place.is_relative_to(top) else None
        return no_text_file(name) if blob is None else to_text_file(name, content_of(blob, top))

    return read


@dataclass(frozen=True, slots=True)
class Versions:
    old: Version
    new: Version
    pairs: list[tuple[str | None, str | None]]
    """Paths of the files that may differ; None if that version lacks the file."""


def find_versions(words: tuple[str, ...]) -> Versions:
    """Interpret the arguments: two files, or one or two revisions and paths."""
    # Two files of any kind come first: a file name may also be that of a branch.
    if len(words) == 2 and all(map(_is_file, words)):
        config = load_config(Path(words[1].partition(":")[2] or words[1]).parent)
        old, new = (
            Version(
                config,
                {word: _reader(word, config)},
                texts=_texts(word, config),
                read_companions=_companions_of(word, config),
            )
            for word in words
        )
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
        return f"there is no file `{first}`, and this folder is not in a git repository"
    return f"`{first}` is neither a file nor a git revision"


def _is_file(word: str) -> bool:
    return os.path.isfile(word) or _in_revision(word) is not None


def _in_revision(word: str) -> tuple[Path, str] | None:
    """Parse `HEAD~1:workflows/a.yaml`: the version, and the object id of the content."""
    revision, colon, path = word.partition(":")
    commit = commit_of(revision, Path(".")) if colon and revision else None
    top = top_of(Path(".")) if commit else None
    if commit is None or top is None:
        return None
    # As git reads it: a path begins at the top of the repository, unless it begins with a dot.
    relative = os.path.relpath(os.path.abspath(path), top) if path.startswith(("./", "../")) else path
    blob = files_at(commit, top).get(Path(relative).as_posix())
    return (top, blob) if blob else None


def _reader(word: str, config: Config) -> Callable[[], bytes]:
    if os.path.isfile(word):
        return lambda: read_bytes(Path(word), config)
    found = _in_revision(word)
    assert found is not None
    return lambda: content_of(found[1], found[0])


def _texts(word: str, config: Config) -> Callable[[str, str], TextFile] | None:
    return None if os.path.isfile(word) else _texts_of(*_revision_of(word), config)


def _revision_of(word: str) -> tuple[str, Path]:
    """The commit that `HEAD~1:workflows/a.yaml` names, and the top of the working tree."""
    commit, top = commit_of(word.partition(":")[0], Path(".")), top_of(Path("."))
    assert commit is not None
    assert top is not None
    return commit, top


def _companions_of(word: str, config: Config) -> Callable[[], dict[str, str]]:
    """The agents and definitions for one file, of the working tree or of the revision that the word names."""
    if os.path.isfile(word):
        return lambda: read_companions(Selection.of_file(config, Path(word)))
    commit, top = _revision_of(word)
    version, revision = _at_commit(commit, (), config, top), word.partition(":")[0]
    # The path of such a file begins with the revision, and files beside it are found by its path.
    beside = {f"{revision}:{path}": text for path, text in version.companions.items()}
    return lambda: {**version.companions, **beside}


def _at_commit(commit: str, paths: tuple[str, ...], config: Config, top: Path) -> Version:
    beside: dict[str, str] = {}
    others: dict[str, str] = {}
    root = config.root.resolve()

    def read_companions() -> dict[str, str]:
        def read(path: str) -> bytes | None:
            return content_of(others[path], top) if path in others else None

        sources = ((os.path.relpath(path, root), data()) for path, data in version.files.items())
        folders = [os.path.relpath(folder, config.root) for folder in config.workflow_dirs]
        found = beside | {path: others[path] for path in imported(sources, folders, read)}
        return {path: content_of(blob, top).decode("utf-8", "replace") for path, blob in found.items()}

    version = Version(config, {}, texts=_texts_of(commit, top, config), read_companions=read_companions)
    for path, blob in files_at(commit, top).items():
        full = top / path
        if full.is_relative_to(root) and full.name.endswith(IMPORT_ENDINGS):
            others[full.relative_to(root).as_posix()] = blob
        if full.is_relative_to(root) and is_companion(full.relative_to(root)):
            beside[full.relative_to(root).as_posix()] = blob
        elif is_source_name(full.name) and _is_meant(full, paths, config):
            if _is_mission(full, config) and _is_output(content_of(blob, top)):
                continue
            shown = str(as_typed(full))
            version.files[shown] = partial(content_of, blob, top)
            version.contents[shown] = blob
    return version


def _is_mission(full: Path, config: Config) -> bool:
    return full.name == MARKDOWN and full.parent.parent == (config.root / MISSIONS).resolve()


def _is_output(content: bytes) -> bool:
    """Whether `wfc mission` has written it."""
    mark = read_mark(content.decode("utf-8", "replace"))
    return mark is not None and not mark.edited


def _is_meant(full: Path, paths: tuple[str, ...], config: Config) -> bool:
    if not paths:
        if _is_mission(full, config):
            return True
        folders = (folder.resolve() for folder in config.workflow_dirs)
        return any(full.is_relative_to(one) and not is_left_out(full, one, config) for one in folders)
    for path in paths:
        named = Path(os.path.abspath(path))
        if full == named or (full.is_relative_to(named) and not is_left_out(full, named, config)):
            return True
    return False


def _in_work_tree(paths: tuple[str, ...], config: Config) -> Version:
    # A file may exist in the old version only.
    there = tuple(path for path in paths if os.path.exists(path))
    chosen = select(there) if there or not paths else Selection(config, [], [], [])
    return Version(
        config,
        {str(path): partial(read_bytes, path, config) for path in chosen.files},
        read_companions=lambda: read_companions(chosen),
    )


def _has(version: Version, path: str) -> bool:
    """Whether a version has that file, or workflows in that folder."""
    named = os.path.abspath(path)
    full = [os.path.abspath(one) for one in version.files]
    return any(one == named or one.startswith(named + os.sep) for one in full)


def _pairs(old: Version, new: Version) -> list[tuple[str | None, str | None]]:
    """Pair files by path, and the rest by the name of the workflow, since a file may have been moved."""
    both = [path for path in new.files if path in old.files]
    changed = [
        path
        for path in both
        # Git's object ids identify equal contents without reading them; files of the work tree have no ids.
        if (
            old.contents[path] != new.contents.get(path)
            and (path in new.contents or old.files[path]() != new.files[path]())
        )
        # The text that it names may have changed.
        or NAMING_KEY in old.files[path]()
    ]
    changed += _with_other_companions([path for path in both if path not in changed], old, new)
    gone = {old.file(path).name: path for path in old.files if path not in new.files}
    come = {path: new.file(path).name for path in new.files if path not in old.files}
    found: list[tuple[str | None, str | None]] = [(path, path) for path in changed]
    # A moved file has the same workflow in it.
    found += [(gone.pop(name, None), path) for path, name in come.items()]
    found += [(path, None) for path in gone.values()]
    return sorted(found, key=lambda pair: pair[1] or pair[0] or "")


def _with_other_companions(paths: list[str], old: Version, new: Version) -> list[str]:
    """The files among unchanged ones that refer to others, if an agent, a definition or an import has changed."""
    referring = [path for path in paths if any(key in new.files[path]() for key in (b"phase", IMPORTING_KEY))]
    return referring if referring and old.companions != new.companions else []
