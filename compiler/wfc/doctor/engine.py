"""What keeps the runs, where that is not a file."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from wfc.cli.shared.engine import engine_of
from wfc.config import Config
from wfc.doctor.report import Result, bad, good


def check_engine(config: Config) -> Iterator[Result]:
    """Is the Temporal server there, with its namespace and a worker?"""
    try:
        engine = engine_of(config, os.environ.get("WFC_ENGINE"))
    except click.ClickException as error:
        yield bad("engine", error.message, "mend [tool.wfc.temporal] or the WFC_TEMPORAL_ variables")
        return
    if engine.name != "temporal":
        return
    from wfc_runtime.service.temporal.health import check_connection

    for found in check_connection(engine.temporal):
        message = f"{found.what}: {found.detail}"
        yield good("temporal", message) if found.is_well else bad("temporal", message, found.hint)
