"""`wfc runs`: what is under way, and what to do about it, from the terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from wfc.config import load_config
from wfc_runtime.errors import WfcError

_ACTOR = "wfc runs"


@click.group("runs", short_help="List, show, cancel and migrate runs.")
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="WFC_STATE",
    help="The file that keeps the runs; by default .wfc/state.db in the project. Also WFC_STATE.",
)
@click.pass_context
def command(ctx: click.Context, state: Path | None) -> None:
    """List, show, cancel and migrate the runs of this project's workflows."""
    ctx.obj = state


def _call(state: Path | None, ask: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """One call of the service; what it refuses is a clear error here too."""
    from wfc_runtime.machine.limits import Limits
    from wfc_runtime.service.sqlite import SqliteService

    config = load_config(Path("."))
    path = state or config.root / ".wfc" / "state.db"
    if not path.exists():
        raise click.ClickException(f"there are no runs: `{path}` does not exist")
    try:
        service = SqliteService.open(path, config.generated_dir, Limits.of(config.run_limits))
        try:
            return ask(service)
        finally:
            service.close()
    except WfcError as error:
        raise click.ClickException(str(error)) from error


_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _print(reply: dict[str, Any], as_json: bool, text: Callable[[dict[str, Any]], str]) -> None:
    click.echo(json.dumps(reply, indent=2, ensure_ascii=False) if as_json else text(reply))


@command.command("list")
@click.option("--status", help="running, completed, failed, cancelled or all; by default what is under way.")
@_json
@click.pass_obj
def list_(state: Path | None, status: str | None, as_json: bool) -> None:
    """Show runs, the newest first."""
    _print(_call(state, lambda service: service.runs(status)), as_json, _listed)


def _listed(reply: dict[str, Any]) -> str:
    rows = [
        f"{run['workflow_id']}  {run['status']:<10} {run['workflow']}"
        + (f"  waits in {', '.join(run['pending'])}" if run.get("pending") else "")
        for run in reply["runs"]
    ]
    return "\n".join(rows) or "no runs"


@command.command()
@click.argument("run")
@_json
@click.pass_obj
def show(state: Path | None, run: str, as_json: bool) -> None:
    """Show a run: its status, what it waits for or what came of it."""
    _print(_call(state, lambda service: service.status(run, masked=True)), as_json, _shown)


def _shown(reply: dict[str, Any]) -> str:
    lines = [f"{reply.get('workflow', '')} {reply['workflow_id']}: {reply['status']}"]
    for action in (
        reply.get("actions") or [reply["action"]] if "action" in reply or "actions" in reply else []
    ):
        lines.append(f"waits in {action['step_id']} ({action['type']})")
    for key in ("result", "error", "reason"):
        if key in reply:
            lines.append(f"{key}: {json.dumps(reply[key], indent=2, ensure_ascii=False)}")
    return "\n".join([*lines, f"next: {reply['next']}"])


@command.command()
@click.argument("run")
@_json
@click.pass_obj
def history(state: Path | None, run: str, as_json: bool) -> None:
    """Show what happened in a run, when, and who answered."""
    _print(_call(state, lambda service: service.history(run, limit=10_000)), as_json, _timeline)


def _timeline(reply: dict[str, Any]) -> str:
    return "\n".join(_event(event) for event in reply["events"]) or "nothing has happened yet"


def _event(event: dict[str, Any]) -> str:
    words = [event["at"], event["event"], event.get("step_id") or ""]
    entered = event.get("entered") or []
    written = event.get("written") or []
    words += [f"-> {', '.join(entered)}"] if entered else []
    words += [f"writes {', '.join(written)}"] if written else []
    words += [f"by {event['actor']}"] if event.get("actor") else []
    return "  ".join(word for word in words if word)


@command.command()
@click.argument("run")
@click.option("--reason", default="", help="Why; it is kept in the history.")
@_json
@click.pass_obj
def cancel(state: Path | None, run: str, reason: str, as_json: bool) -> None:
    """End a run and everything that works for it."""
    reply = _call(state, lambda service: service.cancel(run, reason, actor=_ACTOR))
    _print(reply, as_json, lambda found: f"{found['workflow_id']} is {found['status']}")


@command.command()
@click.argument("run")
@_json
@click.pass_obj
def migrate(state: Path | None, run: str, as_json: bool) -> None:
    """Let a run go on with the current version of its workflow, if the steps it waits in are still there."""
    reply = _call(state, lambda service: service.migrate(run, actor=_ACTOR))
    _print(reply, as_json, lambda found: f"{found['workflow_id']} goes on with the current version")
