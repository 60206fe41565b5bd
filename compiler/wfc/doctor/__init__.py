"""`wfc doctor`: does everything that a project needs work together? One file per part of the set-up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wfc.config import ConfigError, load_config
from wfc.doctor.clients import check_clients
from wfc.doctor.engine import check_engine
from wfc.doctor.hooks import check_hooks
from wfc.doctor.installation import check_installation
from wfc.doctor.project import check_project_files
from wfc.doctor.report import Result, bad, good
from wfc.doctor.store import check_store

__all__ = ["Result", "examine"]


def examine(folder: Path) -> Iterator[Result]:
    """Every result as soon as it is known. None of the parts raises."""
    yield from check_installation()
    try:
        config = load_config(folder)
    except ConfigError as error:
        yield bad("settings", str(error), "mend pyproject.toml; the rest can't be looked at before")
        return
    where = (
        "from [tool.wfc] in pyproject.toml" if config.configured else "the defaults: there is no [tool.wfc]"
    )
    yield good("settings", where)
    yield from check_project_files(config)
    yield from check_store(config)
    yield from check_engine(config)
    yield from check_clients(config)
    yield from check_hooks(config)
