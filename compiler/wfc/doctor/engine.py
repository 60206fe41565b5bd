"""What keeps the runs, where that is not a file."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from wfc.config import Config
from wfc.doctor.report import Result, bad, good, note
from wfc.workspace.runtime import engine_of


def check_engine(config: Config) -> Iterator[Result]:
    """Check the Temporal server with its namespace, the encryption of payloads, and the workers."""
    try:
        engine = engine_of(config, os.environ.get("WFC_ENGINE"))
    except click.ClickException as error:
        yield bad("engine", error.message, "mend [tool.wfc.temporal] or the WFC_TEMPORAL_ variables")
        return
    if engine.name != "temporal":
        return
    from wfc_runtime.engines.temporal_health import check_connection

    for found in check_connection(engine.temporal):
        message = f"{found.what}: {found.detail}"
        if not found.is_well:
            yield bad("temporal", message, found.hint)
        elif found.hint:
            yield note("temporal", message, found.hint)
        else:
            yield good("temporal", message)
