"""`wfc plan`."""

from __future__ import annotations

import sys

import click

from wfc.cli.shared.names import WORKFLOWS
from wfc.cli.shared.output import to_json
from wfc.cli.shared.workflow import compile_in_memory, find_workflow, print_errors, with_called


@click.command("plan")
@click.argument("workflow", shell_complete=WORKFLOWS)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(workflow: str, as_json: bool) -> int:
    """Show the actions that a run of a workflow can ask for and the tools that it needs.

    WORKFLOW is the name of a workflow of the project, or a file. Shows the minimum and maximum number of actions of a
    run (including retries, loops and items), the tools, agents and commands that it needs, the steps that wait for a
    person or for time, and its steps and branches. An action is a unit of work that the run waits for: a shell command,
    a tool call, a delegated task or a prompt. Exits with 1 and prints the findings if the workflow, or one that it
    calls, has an error.
    """
    file = find_workflow(workflow)
    files = with_called(file)
    if print_errors(files) or file.name is None:
        return 1
    from wfc.render.plan import render_plan
    from wfc.render.style import style_for
    from wfc_runtime.plan import explain_plan

    modules = {name: module.workflow for name, module in compile_in_memory(files).items()}
    plan = {**explain_plan(modules[file.name], modules.get), "source": file.source.path}
    if as_json:
        click.echo(to_json(plan))
    else:
        click.echo(render_plan(plan, style_for(sys.stdout)), nl=False)
    return 0
