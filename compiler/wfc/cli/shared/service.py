"""The project's store, as the commands open it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from wfc_runtime.errors import WfcError

if TYPE_CHECKING:
    from wfc.config import Config
    from wfc_runtime.service import Service

ServiceT = TypeVar("ServiceT", bound="Service")
NO_DEADLINE = 10 * 365 * 24 * 3600.0
"""Seconds of grace where a person works a run: they may take a night over an answer."""

state_option = click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="WFC_STATE",
    help="The file that keeps the runs; by default .wfc/state.db in the project. Also WFC_STATE.",
)


def store_path(state: Path | None, config: Config) -> Path:
    """The file that was named, here or in the environment; else the project's own."""
    return Path(state or os.environ.get("WFC_STATE") or config.root / ".wfc" / "state.db")


@contextmanager
def opened(make: Callable[[], ServiceT]) -> Iterator[ServiceT]:
    """A service, closed again. What it refuses is a clear error here too."""
    try:
        service = make()
        try:
            yield service
        finally:
            service.close()
    except WfcError as error:
        if error.code == "unknown_run":
            # The hint of the service names a tool, which nobody has here.
            raise click.ClickException(
                f"{error.message}. `wfc runs list --status all` shows those there are; the first 4 characters of an id "
                "are enough where no other one begins so"
            ) from error
        raise click.ClickException(str(error)) from error
