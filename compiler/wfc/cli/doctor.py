"""`wfc doctor`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from wfc.cli.shared.output import say
from wfc.doctor import examine
from wfc.render.style import style_for

_MARKS = {"ok": ("ok", "green"), "note": ("note", "yellow"), "problem": ("PROBLEM", "red")}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
def command(as_json: bool) -> int:
    """Check the setup of a project: wfc itself, settings, workflows, modules, runs, the agent's server, hooks.

    Starts the server in .mcp.json as an agent would and lists its tools. Changes nothing. Exits with 1 if there is a
    problem.
    """
    results = []
    style = style_for(sys.stdout)
    for result in examine(Path(".")):
        results.append(result)
        if not as_json:
            mark, colour = _MARKS[result.status]
            say(f"{style.paint(f'{mark:<8}', colour)}{result.part:<11}{result.message}")
            if result.help:
                say(f"{'':<19}{result.help}")
    problems = sum(result.status == "problem" for result in results)
    if as_json:
        data = {"results": [asdict(result) for result in results], "problems": problems}
        say(json.dumps(data, indent=2))
    elif not problems:
        say("no problem found")
    return 1 if problems else 0
