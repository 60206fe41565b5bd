"""`wfc runs resume`, `cancel` and `migrate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wfc.cli.running.options import Manner, manner_options
from wfc.cli.runs.ids import RUNS
from wfc.cli.runs.store import ACTOR, any_service_of, json_option, print_reply, store_file, whole_id
from wfc.cli.shared.service import opened
from wfc.config import load_config
from wfc.workspace.runtime import modules_at_start

if TYPE_CHECKING:
    from wfc.author.answers import Answers
    from wfc_runtime.service.sqlite import SqliteService


@click.command()
@click.argument("run", shell_complete=RUNS)
@manner_options
@click.pass_obj
def resume(state: Path | None, run: str, manner: Manner) -> int:
    """Go on with a run in this terminal, as `wfc run` does.

    Results that an answers file lists for a step go on where the run was left. Exits like `wfc run`.
    """
    from wfc.cli.running.console import Console
    from wfc.cli.running.session import terminal_service, work
    from wfc.cli.running.sources import SourceRegistry

    console = Console()
    config = load_config(Path("."))
    path = store_file(state, config)
    registry = SourceRegistry(config, modules_at_start(config, [config.generated_dir], "command"))
    with opened(lambda: terminal_service(path, registry, manner, console)) as service:
        run = whole_id(service, run)
        return work(service, run, manner, _answers(service, run, manner), console, config, state)


def _answers(service: SqliteService, run: str, manner: Manner) -> Answers | None:
    """The answers file, with what the run has taken of it already."""
    from wfc.author.answers import Answers
    from wfc.cli.running.session import read_answers_file
    from wfc.cli.running.sources import called_by
    from wfc.cli.shared.service import family_of

    file = read_answers_file(manner, called_by(service.definition(run)[0], service.registry))
    if file is None:
        return None
    answers = Answers(file.scripts)
    for one, events in family_of(service, run):
        reply = service.status(one, masked=True)
        scope = reply.get("task") or reply["workflow"]
        answers.taken.update(
            answers.key(scope, event["step_id"]) for event in events if event["event"] == "submitted"
        )
    return answers


@click.command()
@click.argument("run", shell_complete=RUNS)
@click.option("--reason", default="", help="Why; it is kept in the history.")
@json_option
@click.pass_obj
def cancel(state: Path | None, run: str, reason: str, as_json: bool) -> None:
    """End a run and everything that works for it."""
    with any_service_of(state) as service:
        reply = service.cancel(whole_id(service, run), reason, actor=ACTOR)
    print_reply(reply, as_json, lambda found: f"{found['workflow_id']} is {found['status']}")


@click.command()
@click.argument("run", required=False, shell_complete=RUNS)
@click.option(
    "--to",
    "target",
    type=click.Choice(["temporal"]),
    help="Go on on Temporal instead of in the file; without RUN, all runs under way that are idle.",
)
@json_option
@click.pass_obj
def migrate(state: Path | None, run: str | None, target: str | None, as_json: bool) -> int:
    """Let a run go on with the current version of its workflow, if the steps it waits in are still there.

    With --to temporal, runs leave the file for the Temporal server that the settings name, with their children, their
    ids and their versions; in the file they are then cancelled. Exits with 1 if one could not be moved.
    """
    if target is not None:
        from wfc.cli.runs.moving import move_all

        return move_all(state, run, as_json)
    if run is None:
        raise click.UsageError("name a RUN, or say --to temporal")
    with any_service_of(state) as service:
        reply = service.migrate(whole_id(service, run), actor=ACTOR)
    print_reply(reply, as_json, lambda found: f"{found['workflow_id']} goes on with the current version")
    return 0
