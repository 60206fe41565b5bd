"""Which engine a command works on: what it was told, what the environment says, or what the project says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wfc.cli.shared.service import store_path
from wfc_runtime.errors import WfcError

if TYPE_CHECKING:
    from wfc.config import Config
    from wfc_runtime.engines import Engine

ENGINE = "wfc.engine"
"""Where a group of commands leaves the choice for its members."""
engine_option = click.option(
    "--engine",
    type=click.Choice(["sqlite", "temporal"]),
    envvar="WFC_ENGINE",
    help="What keeps the runs: a file, or a Temporal server. By default what [tool.wfc] says, else sqlite. Also "
    "WFC_ENGINE.",
)


def engine_of(
    config: Config,
    engine: str | None,
    state: Path | None = None,
    generated: Path | None = None,
    modules: Sequence[Path] = (),
) -> Engine:
    from wfc_runtime.engines import Engine
    from wfc_runtime.service.temporal.encryption import read_keyring
    from wfc_runtime.service.temporal.settings import TemporalSettings

    try:
        made = Engine(
            state=store_path(state, config),
            generated=generated or config.generated_dir,
            name=engine or config.engine,
            limits=config.run_limits,
            temporal=TemporalSettings.of(config.temporal, os.environ, config.root),
            more_modules=modules,
        )
        if made.name == "temporal":
            # Keys that can't be used are reported before anything is started.
            read_keyring(made.temporal)
        return made
    except WfcError as error:
        raise click.ClickException(str(error)) from error
