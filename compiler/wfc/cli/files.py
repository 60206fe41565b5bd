"""The selected files as a project. What selects them stands apart: it needs nothing of the compiler."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from wfc.cli.selection import ENDINGS, Selection, as_typed, other_files, read_bytes, select
from wfc.config import Config
from wfc.unit import Project, Unit, load_unit

if TYPE_CHECKING:
    from wfc_runtime.store.waiting import Waiting

__all__ = ["ENDINGS", "Selection", "load_project", "read_bytes", "select", "stored_runs"]


def stored_runs(config: Config) -> Iterable[Waiting]:
    """The runs under way in a project's store, where there is one."""
    path = Path(os.environ.get("WFC_STATE") or config.root / ".wfc" / "state.db")
    if not path.is_file():
        return ()
    from wfc_runtime.store.waiting import waiting_runs

    return waiting_runs(path)


def load_project(
    selection: Selection, texts: dict[Path, str] | None = None, *, with_runs: bool = False
) -> tuple[Project, dict[Path, Unit]]:
    """Read the selected files, or the texts given for them; others only when a call asks for a name.

    `with_runs`: let rules look at the runs in the project's store, where there is one.
    """

    def others() -> Iterable[tuple[str, bytes]]:
        return ((str(as_typed(path)), read_bytes(path, selection.config)) for path in other_files(selection))

    runs = partial(stored_runs, selection.config) if with_runs else tuple
    project = Project(others=others, runs=runs, config=selection.config)
    units: dict[Path, Unit] = {}
    for path in selection.files:
        data = texts[path].encode() if texts and path in texts else read_bytes(path, selection.config)
        units[path] = load_unit(str(path), data, selection.config, project)
    return project, units
