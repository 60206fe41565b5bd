"""`wfc graph`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wfc.cli.shared.names import WORKFLOWS
from wfc.cli.shared.stdin import stdin_option
from wfc.cli.shared.workflow import find_workflow_or_stdin, print_errors
from wfc.ir import Module
from wfc.suggest import did_you_mean
from wfc.workspace.files import writing

if TYPE_CHECKING:
    from wfc.picture import Graph, Outline

_FORMATS = ("mermaid", "dot", "svg")
_ENDINGS = {".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot", ".svg": "svg"}


@click.command("graph")
@click.argument("workflow", shell_complete=WORKFLOWS)
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), help="Defaults to the suffix of -o, else mermaid."
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.")
@click.option("--task", metavar="NAME", help="Draw only this task.")
@stdin_option
def command(
    workflow: str, form: str | None, output: Path | None, task: str | None, stdin_filename: Path | None
) -> int:
    """Draw a workflow and its tasks as Mermaid, Graphviz or SVG.

    WORKFLOW is the name of a workflow of the project, a file, or `-` for standard input. The picture goes to standard
    output, or to a file with -o. Exits with 1 and prints the findings if the workflow has an error.
    """
    chosen = form or _format_of(output)
    file = find_workflow_or_stdin(workflow, stdin_filename)
    if print_errors([file]) or file.module is None:
        return 1
    module = file.module
    if task is not None and task not in module.tasks:
        raise click.UsageError(_no_task(module, task))
    graph = file.parsed.graph if file.parsed else None
    outline = file.parsed.outline if file.parsed else None
    _write(_draw(module, chosen, task, graph, outline), output)
    return 0


def _format_of(output: Path | None) -> str:
    if output is None:
        return "mermaid"
    form = _ENDINGS.get(output.suffix.lower())
    if form is None:
        raise click.UsageError(
            f"unknown format of `{output}`; use --format, or a name that ends with .mmd, .dot or .svg"
        )
    return form


def _no_task(module: Module, task: str) -> str:
    hint = did_you_mean(task, module.tasks) or "it has none"
    return f"`{module.name}` has no task `{task}`; {hint}"


def _draw(module: Module, form: str, task: str | None, graph: Graph | None, outline: Outline | None) -> str:
    from wfc.picture import to_picture
    from wfc_runtime.picture import RENDERERS

    return RENDERERS[form](to_picture(module, task, graph, outline))


def _write(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text.encode(), nl=False)
        return
    with writing(output):
        output.write_text(text, encoding="utf-8", newline="")
