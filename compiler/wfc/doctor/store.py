"""The file that keeps the runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wfc.config import Config
from wfc.doctor.report import Result, bad, good, note
from wfc.render.style import counted
from wfc.workspace.files import store_path
from wfc_runtime.errors import WfcError


def check_store(config: Config) -> Iterator[Result]:
    path = store_path(None, config)
    if not path.exists():
        yield good("runs", "no run has been started yet")
        return
    from wfc_runtime.store.soundness import check_soundness
    from wfc_runtime.store.waiting import waiting_runs

    try:
        check_soundness(path)
    except WfcError as error:
        yield bad("runs", error.message, error.hint or "keep a copy of the file before anything else")
        return
    runs = [run for run in waiting_runs(path) if not run.is_child]
    yield good("runs", f"`{_shown(path, config)}` can be read; {counted(len(runs), 'run')} under way")
    if path.stat().st_mode & 0o077:
        yield note(
            "runs",
            f"`{_shown(path, config)}` can be read by other users",
            f"chmod 600 {_shown(path, config)}",
        )


def _shown(path: Path, config: Config) -> str:
    try:
        return str(path.resolve().relative_to(config.root))
    except ValueError:
        return str(path)
