"""`wfc worker`."""

from __future__ import annotations

import asyncio
import logging
import signal
from pathlib import Path

import click

from wfc.cli.shared.engine import engine_of
from wfc.cli.shared.long_lived import collect_in_portions
from wfc.config import load_config
from wfc_runtime.errors import WfcError
from wfc_runtime.interrupt import INTERRUPTED


@click.command("worker")
@click.option(
    "--generated",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of the compiled workflows; by default the project's generated folder.",
)
@click.option(
    "--modules",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder with older versions that runs are pinned to. As often as needed.",
)
@click.option("--task-queue", help="The task queue to serve; by default what the settings say, else wfc.")
def command(generated: Path | None, modules: tuple[Path, ...], task_queue: str | None) -> int:
    """Work the runs of this project's workflows that a Temporal server hands out, until interrupted.

    Any number of workers may serve one task queue, and each can be killed at any moment. A worker that lacks the
    version of a workflow that a run was started with leaves the run alone, and says so.

    The server is named by [tool.wfc.temporal] or by WFC_TEMPORAL_ADDRESS, WFC_TEMPORAL_NAMESPACE and the like.
    """
    config = load_config(Path("."))
    engine = engine_of(config, "temporal", generated=generated, modules=modules)
    logging.basicConfig(format="wfc worker: %(message)s", level=logging.WARNING)
    try:
        from wfc_runtime.service.engines import require_temporal

        require_temporal()
        from wfc_runtime.service.temporal.worker import serve

        def ready(workflows: list[str]) -> None:
            names = ", ".join(workflows) or "nothing: there are no compiled workflows yet"
            click.echo(f"wfc worker: {settings}: {names}", err=True)

        collect_in_portions()
        settings = engine.temporal.on_queue(task_queue)
        stopped = asyncio.run(serve(settings, engine.modules(), ready, (signal.SIGINT, signal.SIGTERM)))
    except WfcError as error:
        raise click.ClickException(str(error)) from error
    return INTERRUPTED if stopped is signal.SIGINT else 0
