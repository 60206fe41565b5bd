"""`wfc hook`."""

from __future__ import annotations

import click

from wfc.hooks import HOOKS, run


@click.command("hook")
@click.argument("event", type=click.Choice(list(HOOKS)))
def command(event: str) -> int:
    """Answer a hook of Claude Code. The plugin and `wfc init --claude` register these commands.

    Reads the client's JSON on stdin and prints its answer as JSON, or nothing.

    \b
    session-start  lists the open runs of the project, so that the agent can offer to continue one
    stop           lets an agent stop in the middle of a run that it drives only at its second attempt
    subagent-stop  does the same for a sub-agent and the child run in its prompt

    Does nothing if the project has no store. `hooks = false` in [tool.wfc] turns all of them off.
    """
    return run(event)
