"""`wfc runs resume`, `retry`, `cancel`, `migrate`, `prune`, `export` and `import`."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wfc.cli.runs.store import (
    ACTOR,
    RUNS,
    any_service_of,
    archive_of,
    chosen_engine,
    json_option,
    opened_file,
    print_reply,
    service_of,
    store_file,
    whole_id,
)
from wfc.cli.shared.names import FILES
from wfc.cli.shared.options import RunOptions, run_options
from wfc.cli.shared.output import to_json
from wfc.cli.shared.service import opened
from wfc.config import load_config
from wfc.project import limit_plugins
from wfc.render.style import counted
from wfc.suggest import did_you_mean
from wfc.workspace.files import writing
from wfc.workspace.runtime import engine_of, modules_at_start
from wfc_runtime.contract import ENDED
from wfc_runtime.errors import WfcError
from wfc_runtime.service import actions_of

if TYPE_CHECKING:
    from wfc.author.answers import Answers
    from wfc.cli.run.console import Console
    from wfc.config import Config


@click.command()
@click.argument("run", shell_complete=RUNS)
@run_options
@click.pass_obj
def resume(state: Path | None, run: str, options: RunOptions) -> int:
    """Continue a run in this terminal, as `wfc run` does.

    An answers file continues after the results that the run has already used. Exits like `wfc run`.
    """
    from wfc.cli.run.console import Console
    from wfc.cli.run.session import terminal_service, work
    from wfc.cli.run.sources import SourceRegistry

    console = Console()
    # SECURITY. Before the settings are read: with an agent, only the plugins that the operator names may be
    # imported.
    limit_plugins(options.allow_block if options.agent is not None else None)
    config = load_config(Path("."))
    if chosen_engine(state).name == "temporal":
        return _resume_on_temporal(state, run, options, console, config)
    path = store_file(state, config)
    registry = SourceRegistry(config, modules_at_start(config, [config.generated_dir], "command"))
    with opened(lambda: terminal_service(path, registry, options, console)) as service:
        run = whole_id(service, run)
        return work(service, run, options, _answers(service, run, options), console, config, state)


def _resume_on_temporal(
    state: Path | None, run: str, options: RunOptions, console: Console, config: Config
) -> int:
    """The same on Temporal, where a worker drives the run and its time is the server's."""
    from wfc.cli.run.session import work

    refused = {
        "--skip-waits": options.skip_waits,
        "--allow-exec": options.executes,
        "--agent": options.agent is not None,
    }
    for option, given in refused.items():
        if given:
            instead = "; `wfc worker --agent` does the actions of these runs" if option == "--agent" else ""
            raise click.UsageError(f"{option} works on runs in a file; the engine here is temporal{instead}")
    with any_service_of(state) as service:
        run = whole_id(service, run)
        return work(service, run, options, _answers(service, run, options), console, config, state)


def _answers(service: Any, run: str, options: RunOptions) -> Answers | None:
    """The answers file, after the results that the run has already used."""
    from wfc.author.answers import Answers
    from wfc.cli.run.session import read_answers_file
    from wfc.cli.run.sources import called_by
    from wfc.cli.shared.service import family_of

    workflows = called_by(service.definition(run)[0], service.registry)
    file = read_answers_file(options, workflows)
    if options.agent is not None:
        from wfc.cli.run.headless import given_answers

        answers = given_answers(options.answer, Answers(file.scripts) if file else None, workflows)
    elif file is None:
        return None
    else:
        answers = Answers(file.scripts)
    # Child runs take their answers from the same file, so their results count as used too.
    for one, events in family_of(service, run):
        reply = service.status(one, masked=True)
        scope = reply.get("task") or reply["workflow"]
        answers.taken.update(
            answers.key(scope, event["step_id"]) for event in events if event["event"] == "submitted"
        )
    return answers


@click.command()
@click.argument("run", shell_complete=RUNS)
@click.option("--reason", default="", help="Reason, recorded in the history.")
@json_option
@click.pass_obj
def cancel(state: Path | None, run: str, reason: str, as_json: bool) -> None:
    """Cancel a run and its child runs."""
    with any_service_of(state) as service:
        reply = service.cancel(whole_id(service, run), reason, actor=ACTOR)
    print_reply(reply, as_json, lambda found: f"{found['workflow_id']} is {found['status']}")


@click.command()
@click.argument("run", shell_complete=RUNS)
@click.option(
    "--step", default="", metavar="VISIT", help="The failed step, if several failed: test or test@2."
)
@json_option
@click.pass_obj
def retry(state: Path | None, run: str, step: str, as_json: bool) -> None:
    """Continue a failed run: its failed step starts over as a new visit, with the state as it was.

    Failed child runs are retried with it, and so are parents that failed because of it. The agent, or `wfc runs
    resume`, then continues. Retrying the same visit again changes nothing.
    """
    with any_service_of(state) as service:
        reply = service.retry(whole_id(service, run), step, actor=ACTOR)
    print_reply(reply, as_json, _retried)


def _retried(reply: dict[str, Any]) -> str:
    waiting = ", ".join(action["step_id"] for action in actions_of(reply))
    now = f"waits in {waiting}" if waiting else f"is {reply['status']}"
    return f"{reply['workflow_id']} {'was retried before and ' if 'repeated' in reply else ''}{now}"


@click.command()
@click.argument("run", required=False, shell_complete=RUNS)
@click.option(
    "--to",
    "target",
    type=click.Choice(["temporal"]),
    help="Move runs to Temporal; without RUN, all open runs that are idle.",
)
@json_option
@click.pass_obj
def migrate(state: Path | None, run: str | None, target: str | None, as_json: bool) -> int:
    """Move a run to the current version of its workflow, if that version has the steps that it waits in.

    With --to temporal, move runs from the file to the Temporal server of the settings, with their children, ids and
    versions; the copies in the file are cancelled. Exits with 1 if a run could not be moved.
    """
    if target is not None:
        return move_all(state, run, as_json)
    if run is None:
        raise click.UsageError("name a RUN, or use --to temporal")
    with any_service_of(state) as service:
        reply = service.migrate(whole_id(service, run), actor=ACTOR)
    print_reply(reply, as_json, lambda found: f"{found['workflow_id']} continues with the current version")
    return 0


def move_all(state: Path | None, run: str | None, as_json: bool) -> int:
    """Move one run, or all open runs, to Temporal."""
    config = load_config(Path("."))
    source, target = engine_of(config, "sqlite", state), engine_of(config, "temporal", state)
    if not source.state.exists():
        raise click.ClickException(f"there are no runs: `{source.state}` does not exist")
    moved: list[str] = []
    left: dict[str, str] = {}
    with opened(source.open) as old, opened(target.open) as new:
        from wfc_runtime.engines.temporal_import import move_run

        # The list is complete before the first move, because moving cancels runs that the list contains.
        for one in [whole_id(old, run)] if run is not None else list(_under_way(old)):
            try:
                move_run(old, new, one, ACTOR)  # type: ignore[arg-type]  # a file and a server, as opened above
                moved.append(one)
            # One run that can't be moved, such as one that is at work, must not stop the others.
            except WfcError as error:
                left[one] = str(error)
    print_reply({"moved": moved, "left": left}, as_json, lambda reply: _said(reply, str(target.temporal)))
    return 1 if left else 0


def _under_way(service: Any) -> Iterator[str]:
    before = None
    while True:
        reply = service.runs(limit=500, before=before)
        yield from (one["workflow_id"] for one in reply["runs"])
        if "next" not in reply:
            return
        before = reply["runs"][-1]["workflow_id"]


def _said(reply: dict[str, Any], where: str) -> str:
    lines = [f"{run} stays: {why}" for run, why in reply["left"].items()]
    return "\n".join([*lines, f"moved {counted(len(reply['moved']), 'run')} to Temporal at {where}"])


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600, "w": 7 * 24 * 3600}
_LISTED = 20


def _age(ctx: click.Context, parameter: click.Parameter, value: str) -> float:
    found = re.fullmatch(r"(\d{1,6})\s*([smhdw])", value.strip())
    if found is None:
        raise click.BadParameter(f"`{value}` is not an age; examples: 30d, 12h, 90m")
    return int(found[1]) * float(_UNITS[found[2]])


def _statuses(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if value not in ENDED:
            hint = did_you_mean(value, ENDED)
            raise click.BadParameter(
                f"only runs that have ended can be pruned, and `{value}` is not a terminal status; {hint}"
            )
    return values or ENDED


@click.command()
@click.option("--older-than", callback=_age, required=True, metavar="AGE", help="Such as 30d, 12h or 90m.")
@click.option(
    "--status",
    "statuses",
    multiple=True,
    callback=_statuses,
    help="Only runs with this status. May be repeated.",
)
@click.option("--yes", "-y", is_flag=True, help="Delete the runs; without it, only list them.")
@json_option
@click.pass_obj
def prune(state: Path | None, older_than: float, statuses: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Delete runs that ended long ago, with their children, states and histories.

    Without --yes, only list the runs. Open runs are never deleted.
    """
    with archive_of(state) as service:
        runs = service.ended_before(time.time() - older_than, statuses)["runs"]
        # The list comes first, so that without --yes exactly the runs are shown that would be deleted.
        count = sum(service.erase(run["workflow_id"]) for run in runs) if yes else 0
        # Until the log is written back, the file on disk still contains the deleted runs.
        store = getattr(service, "store", None)
        if count and store is not None:
            store.flush()
    print_reply({"erased": yes, "runs": runs}, as_json, lambda reply: _pruned(reply, count))


def _pruned(reply: dict[str, Any], count: int) -> str:
    runs = reply["runs"]
    if not runs:
        return "no run is that old"
    lines = [
        f"{run['workflow_id']}  {run['status']:<10} {run['workflow']}  ended {run['updated']}" for run in runs
    ]
    more = [f"... and {len(runs) - _LISTED} more"] if len(runs) > _LISTED else []
    children = count - len(runs)
    with_children = f" and their {counted(children, 'child run')}" if children else ""
    last = (
        f"erased {counted(len(runs), 'run')}{with_children}"
        if reply["erased"]
        else f"{counted(len(runs), 'run')} would be deleted; confirm with --yes"
    )
    return "\n".join([*lines[:_LISTED], *more, last])


@click.command()
@click.argument("run", shell_complete=RUNS)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.")
@click.option(
    "--with-secrets", is_flag=True, help="Export a run that has secrets, with their values in plain text."
)
@click.option("--json", "as_json", is_flag=True, help="No effect: an export is always JSON.")
@click.pass_obj
def export(state: Path | None, run: str, output: Path | None, with_secrets: bool, as_json: bool) -> None:
    """Write a run as one JSON file, to archive it or to continue it in another project.

    The file contains the child runs, all states and histories, and the compiled workflow. Without -o, write to standard
    output. An open run needs its secrets to continue, so a run with secrets is exported only with --with-secrets.
    """
    with archive_of(state) as service:
        run = whole_id(service, run)
        text = to_json(service.export(run, secrets=with_secrets))
    if output is None:
        click.echo(text)
        return
    with writing(output):
        # Readable by the owner only, like the store: the state may be confidential.
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    click.echo(f"run {run} is in {output}", err=True)


@click.command("import")
@click.argument("file", shell_complete=FILES)
@click.option(
    "--trust-modules",
    is_flag=True,
    help="Also execute compiled workflows from the file that this project does not have.",
)
@json_option
@click.pass_obj
def import_(state: Path | None, file: str, trust_modules: bool, as_json: bool) -> None:
    """Import a run that `wfc runs export` wrote; FILE may be `-`.

    The run keeps its id and continues where it was. The file contains the compiled workflow, which is code. The import
    is refused unless this project has the same version in its generated folder, its sources or its store. With
    --trust-modules, the code in the file is executed with your rights: use it only for files from people you trust.
    """
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        data = json.loads(text)
    except OSError as error:
        raise click.UsageError(f"can't read `{file}`: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"`{file}` is not JSON: {error}") from error
    if chosen_engine(state).name == "temporal":
        reply = _imported(state, data, trust_modules)
    else:
        with service_of(state, create=True) as service:
            reply = service.import_(data, trust_modules=trust_modules)
    print_reply(reply, as_json, lambda found: f"{found['workflow_id']} is here, {found['status']}")


def _imported(state: Path | None, data: Any, trust_modules: bool) -> Any:
    """Import a run to Temporal: it is checked in a temporary store and then copied from there."""
    from tempfile import TemporaryDirectory

    from wfc_runtime.engines.temporal_import import copy_run

    with (
        TemporaryDirectory(prefix="wfc-import-") as folder,
        opened_file(Path(folder) / "state.db") as source,
        any_service_of(state) as target,
    ):
        reply = source.import_(data, trust_modules=trust_modules)
        return copy_run(source, target, reply["workflow_id"], ACTOR)  # type: ignore[arg-type]  # a server
