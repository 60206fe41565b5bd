"""`wfc graph`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from wfc.check import check_unit, has_errors
from wfc.cli.files import load_project, select
from wfc.diagnostics import Diagnostic
from wfc.ir import Module
from wfc.suggest import did_you_mean
from wfc.unit import Unit

_FORMATS = ("mermaid", "dot", "svg")
_ENDINGS = {".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot", ".svg": "svg"}


@click.command("graph", short_help="Draw a workflow.")
@click.argument("workflow")
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), help="Default: by the ending of -o, else mermaid."
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Where to write it.")
@click.option("--task", metavar="NAME", help="Draw only this task.")
def command(workflow: str, form: str | None, output: Path | None, task: str | None) -> int:
    """Draw a workflow and its tasks as Mermaid, Graphviz or SVG.

    WORKFLOW is the name of a workflow of the project, or a file. The picture goes to standard output, or to a
    file with -o. Exits with 1 and prints the findings if the workflow has an error.
    """
    chosen = form or _format_of(output)
    unit = _find(workflow)
    found = sorted(check_unit(unit), key=lambda diagnostic: diagnostic.sort_key)
    module = unit.module if not has_errors(found) else None
    if module is None:
        _print_findings(found)
        return 1
    if task is not None and task not in module.tasks:
        raise click.UsageError(_no_task(module, task))
    _write(_draw(module, chosen, task), output)
    return 0


def _format_of(output: Path | None) -> str:
    if output is None:
        return "mermaid"
    form = _ENDINGS.get(output.suffix.lower())
    if form is None:
        raise click.UsageError(
            f"can't tell the format from `{output}`; say --format, or end it with .mmd, .dot or .svg"
        )
    return form


def _find(workflow: str) -> Unit:
    """The workflow of a file, or the one of that name in the project."""
    path = Path(workflow)
    if os.path.exists(path) and not os.path.isdir(path):
        return load_project(select((workflow,)))[1][path]
    _, units = load_project(select(()))
    named = {path: unit for path, unit in units.items() if unit.name == workflow}
    if len(named) == 1:
        return next(iter(named.values()))
    if named:
        files = " or ".join(f"`{path}`" for path in named)
        raise click.UsageError(f"there are several workflows `{workflow}`; name the file: {files}")
    if os.path.isdir(path):
        raise click.UsageError(f"`{workflow}` is a folder; name a workflow or a file")
    names = [unit.name for unit in units.values() if unit.name is not None]
    hint = did_you_mean(workflow, names) or "the project has none"
    raise click.UsageError(f"there is no workflow or file `{workflow}`; {hint}")


def _no_task(module: Module, task: str) -> str:
    hint = did_you_mean(task, module.tasks) or "it has none"
    return f"`{module.name}` has no task `{task}`; {hint}"


def _print_findings(found: list[Diagnostic]) -> None:
    from wfc.render.style import style_for
    from wfc.render.text import render_text

    click.echo(render_text(found, style_for(sys.stderr)), err=True, nl=False)


def _draw(module: Module, form: str, task: str | None) -> str:
    from wfc.graph import RENDERERS, to_picture

    return RENDERERS[form](to_picture(module, task))


def _write(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text.encode(), nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise click.ClickException(f"can't write `{output}`: {error.strerror}") from error
