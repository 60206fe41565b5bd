"""`wfc convert`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from wfc.cli.shared.names import WORKFLOWS
from wfc.cli.shared.workflow import find_workflow, print_errors
from wfc.workspace.files import writing


@click.command("convert")
@click.argument("workflow", shell_complete=WORKFLOWS)
@click.option(
    "--to",
    "language",
    type=click.Choice(("steps",)),
    default="steps",
    show_default=True,
    help="Target language.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file, which must not exist.",
)
def command(workflow: str, language: str, output: Path | None) -> int:
    """Convert a workflow of another language, such as blocks, to the steps language.

    WORKFLOW is a file or the name of a workflow of the project. The output compiles to an equivalent machine with the
    same states, actions and results. Comments are lost. Exits with 1 if the workflow has errors.
    """
    source_file = find_workflow(workflow)
    if source_file.workflow is not None and not source_file.is_translated:
        raise click.UsageError(f"`{source_file.source.path}` is written in the {language} language already")
    if print_errors([source_file]):
        return 1
    from wfc.convert import to_steps

    text = to_steps(source_file)
    if output is None:
        sys.stdout.write(text)
        return 0
    with writing(output):
        try:
            with output.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            raise click.UsageError(f"`{output}` is there already; name a new file") from None
    return 0
