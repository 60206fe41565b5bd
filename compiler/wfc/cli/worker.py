"""`wfc worker`."""

from __future__ import annotations

import asyncio
import logging
import signal
from dataclasses import replace
from pathlib import Path

import click

from wfc.cli.shared.options import refuse_on_temporal
from wfc.cli.shared.service import collect_in_portions
from wfc.config import load_config
from wfc.workspace.runtime import engine_of, modules_at_start
from wfc_runtime.errors import WfcError
from wfc_runtime.interrupt import INTERRUPTED


@click.command("worker")
@click.option(
    "--generated",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the compiled workflows; defaults to the project's generated folder.",
)
@click.option(
    "--modules",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with older versions that runs are pinned to. May be repeated.",
)
@click.option("--task-queue", help="Task queue to serve; overrides the settings (default: wfc).")
@click.option(
    "--allow-exec",
    is_flag=False,
    flag_value="*",
    multiple=True,
    metavar="[PATTERN]",
    help="Not supported, like the next four options: on Temporal the agent executes every step.",
)
@click.option("--allow-read", multiple=True, metavar="PATTERN", help="Not supported.")
@click.option("--allow-write", multiple=True, metavar="PATTERN", help="Not supported.")
@click.option("--allow-http", multiple=True, metavar="HOST", help="Not supported.")
@click.option("--allow-block", multiple=True, metavar="NAME", help="Not supported.")
def command(
    generated: Path | None,
    modules: tuple[Path, ...],
    task_queue: str | None,
    allow_exec: tuple[str, ...],
    allow_read: tuple[str, ...],
    allow_write: tuple[str, ...],
    allow_http: tuple[str, ...],
    allow_block: tuple[str, ...],
) -> int:
    """Execute this project's runs on a Temporal server until interrupted.

    Any number of workers can serve one task queue, and each can be killed at any time. If a worker lacks the version
    of a workflow that a run was started with, it logs that, and the run waits for a worker that has it. Modules
    that appear or change after the start are loaded only if the project's sources compile to them.

    The server is set in [tool.wfc.temporal] or with WFC_TEMPORAL_ADDRESS, WFC_TEMPORAL_NAMESPACE and so on. Payloads
    are encrypted with the keys from WFC_TEMPORAL_KEY or key_file; without a key they are stored in clear.
    """
    if allow_exec or allow_read or allow_write or allow_http or allow_block:
        raise refuse_on_temporal()
    config = load_config(Path("."))
    told = engine_of(config, "temporal", generated=generated, modules=modules)
    engine = replace(told, trust=modules_at_start(config, [told.generated, *modules], "worker"))
    logging.basicConfig(format="wfc worker: %(message)s", level=logging.WARNING)
    try:
        from wfc_runtime.engines import require_temporal

        require_temporal()
        from wfc_runtime.service.temporal.worker import serve

        def ready(workflows: list[str]) -> None:
            names = ", ".join(workflows) or "no compiled workflows yet"
            click.echo(f"wfc worker: {settings}: {names}", err=True)

        collect_in_portions()
        settings = engine.temporal.on_queue(task_queue)
        stopped = asyncio.run(serve(settings, engine.modules(), ready, (signal.SIGINT, signal.SIGTERM)))
    except WfcError as error:
        raise click.ClickException(str(error)) from error
    return INTERRUPTED if stopped is signal.SIGINT else 0
