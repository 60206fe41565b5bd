"""The selected files as a project. Selecting them is in `files`, which needs nothing of the compiler."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from wfc.project import Project, SourceFile, load_file
from wfc.workspace.files import (
    Selection,
    as_typed,
    is_template,
    other_files,
    read_bytes,
    stored_runs,
    template_folders,
)


def load_project(
    selection: Selection,
    texts: Mapping[Path, str | bytes] | None = None,
    *,
    with_runs: bool = False,
    with_templates: bool = True,
) -> tuple[Project, dict[Path, SourceFile]]:
    """Read the selected files, or the texts given for them; others only when a call asks for a name.

    `with_runs`: let rules look at the runs in the project's store, where there is one.
    `with_templates`: calls also find the workflows of the folders that `WORKFLOWS_TEMPLATE_PATHS` names.
    """

    def others() -> Iterable[tuple[str, bytes]]:
        found = other_files(selection, template_folders() if with_templates else [])
        return ((str(as_typed(path)), read_bytes(path, selection.config)) for path in found)

    runs = partial(stored_runs, selection.config) if with_runs else tuple
    project = Project(
        others=others,
        runs=runs,
        config=selection.config,
        overrides=is_template,
        processes=_processors(),
    )
    files: dict[Path, SourceFile] = {}
    for path in selection.files:
        given = texts.get(path) if texts else None
        data = read_bytes(path, selection.config) if given is None else given
        data = data.encode() if isinstance(data, str) else data
        files[path] = load_file(str(path), data, selection.config, project)
    return project, files


def _processors() -> int:
    """How many this process may use, where the system says."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
