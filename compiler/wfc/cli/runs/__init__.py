"""`wfc runs`: inspect and manage runs from the terminal."""

from __future__ import annotations

from pathlib import Path

import click

from wfc.cli.runs.changing import cancel, export, import_, migrate, prune, resume, retry
from wfc.cli.runs.journal import journal
from wfc.cli.runs.reading import history, list_, show, state
from wfc.cli.shared.options import ENGINE, engine_option, state_option


@click.group("runs")
@state_option
@engine_option
@click.pass_context
def command(ctx: click.Context, state: Path | None, engine: str | None) -> None:
    """Show, continue, move and delete the runs of this project's workflows.

    RUN may be a unique prefix of the id with at least 4 characters.
    """
    ctx.obj = state
    ctx.meta[ENGINE] = engine


for one in (list_, show, history, journal, state, resume, retry, cancel, migrate, prune, export, import_):
    # Set explicitly: click would cut the first sentence after a few words.
    one.short_help = " ".join((one.help or "").partition("\n\n")[0].split())
    command.add_command(one)
