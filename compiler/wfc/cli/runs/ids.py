"""Ids of runs, for a shell to complete."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wfc.cli.shared.names import completing
from wfc.config import load_config
from wfc.workspace.files import store_path


def _runs() -> Iterator[str]:
    """Those of the project's file, the newest first."""
    config = load_config(Path("."))
    path = store_path(None, config)
    if path.is_file():
        from wfc_runtime.service.sqlite import SqliteService

        service = SqliteService.open(path, config.generated_dir)
        try:
            yield from (run["workflow_id"] for run in service.runs("all", limit=500)["runs"])
        finally:
            service.close()


RUNS = completing(_runs, with_files=False)
