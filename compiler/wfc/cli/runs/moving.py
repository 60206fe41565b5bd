"""`wfc runs migrate --to temporal`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from wfc.cli.runs.store import ACTOR, print_reply, whole_id
from wfc.cli.shared.service import opened
from wfc.config import load_config
from wfc.render.style import counted
from wfc.workspace.runtime import engine_of
from wfc_runtime.errors import WfcError


def move_all(state: Path | None, run: str | None, as_json: bool) -> int:
    """One run, or all that are under way."""
    config = load_config(Path("."))
    source, target = engine_of(config, "sqlite", state), engine_of(config, "temporal", state)
    if not source.state.exists():
        raise click.ClickException(f"there are no runs: `{source.state}` does not exist")
    moved: list[str] = []
    left: dict[str, str] = {}
    with opened(source.open) as old, opened(target.open) as new:
        from wfc_runtime.engines.temporal_import import move_run

        for one in [whole_id(old, run)] if run is not None else list(_under_way(old)):
            try:
                move_run(old, new, one, ACTOR)  # type: ignore[arg-type]  # a file and a server, as opened above
                moved.append(one)
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
