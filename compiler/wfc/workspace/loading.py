"""Loads the selected files as a project. `files` selects them without importing the compiler."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from wfc.config import Config, TextFile, real
from wfc.project import Project, SourceFile, load_file
from wfc.workspace.files import (
    Selection,
    as_typed,
    is_template,
    other_files,
    read_beside,
    read_bytes,
    read_companions,
    stored_runs,
    template_folders,
)

if TYPE_CHECKING:
    from wfc.workspace.cache import Snapshot
    from wfc_runtime.store.queries import Waiting


def load_project(
    selection: Selection,
    texts: Mapping[Path, str | bytes] | None = None,
    *,
    opened: Mapping[Path, str] | None = None,
    with_runs: bool = False,
    with_templates: bool = True,
    snapshot: Snapshot | None = None,
) -> tuple[Project, dict[Path, SourceFile]]:
    """Read the selected workflows and test files, or the texts given for them; others only when a name asks for them.

    `opened`: texts that count in place of other files on disk, for what workflows import. `with_runs`: rules can read
    the runs in the project's store, if there is one. `with_templates`: calls also find the workflows of the folders
    that `WORKFLOWS_TEMPLATE_PATHS` names. `snapshot`: take all files and runs from the snapshot and read nothing.
    """

    def others() -> Iterable[tuple[str, bytes]]:
        if snapshot is not None:
            return ((str(as_typed(path)), content.read()) for path, content in snapshot.others.items())
        found = other_files(selection, template_folders() if with_templates else [])
        return ((str(as_typed(path)), read_bytes(path, selection.config)) for path in found)

    def read(path: Path) -> bytes:
        given = texts.get(path) if texts else None
        if given is not None:
            return _as_bytes(given)
        return snapshot.selected[path].read() if snapshot else read_bytes(path, selection.config)

    runs: Callable[[], Iterable[Waiting]] = tuple
    if with_runs:
        runs = partial(stored_runs, selection.config) if snapshot is None else lambda: snapshot.runs
    project = new_project(selection.config, runs, others, snapshot)
    known: list[dict[str, str]] = [snapshot.companions] if snapshot else []

    def companions() -> dict[str, str]:
        if not known:
            given = {**(opened or {}), **(texts or {})}
            data = {real(path): _as_bytes(text) for path, text in given.items()}
            known.append(read_companions(selection, opened=data))
        return known[0]

    project.companions = companions
    paths = (*selection.files, *selection.tests)
    files = {path: load_file(str(path), read(path), selection.config, project) for path in paths}
    return project, files


def _as_bytes(text: str | bytes) -> bytes:
    # An editor may send lone surrogates, which no file can have.
    return text.encode("utf-8", "replace") if isinstance(text, str) else text


def new_project(
    config: Config,
    runs: Callable[[], Iterable[Waiting]] = tuple,
    others: Callable[[], Iterable[tuple[str, bytes]]] = tuple,
    snapshot: Snapshot | None = None,
) -> Project:
    """A project without files, with the settings of this machine. Files that workflows name come from the snapshot, if
    there is one."""

    def texts(source: str, name: str) -> TextFile:
        known = snapshot.texts.get((source, name)) if snapshot is not None else None
        return known or read_beside(source, name, config)

    return Project(
        config,
        others,
        runs=runs,
        has_every_folder=bool(template_folders()),
        overrides=is_template,
        processes=_processors(),
        texts=texts,
    )


def _processors() -> int:
    """The number of CPUs that this process may use, if the system reports it."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
