"""`wfc compile`. What it takes to say "nothing has changed" is all that is imported until something has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from wfc.cli.shared.memory import Memory
from wfc.cli.shared.names import FILES
from wfc.cli.shared.output import FORMATS, write_out
from wfc.cli.shared.progress import no_progress_option
from wfc.cli.shared.selection import Selection, modules_folder, select
from wfc.cli.shared.staged import staged_option
from wfc.config import real


def _writes(given: dict[str, Any]) -> str:
    return "" if given["check_only"] or given["show_diff"] else "add --check or --diff"


@click.command("compile")
@click.argument("paths", nargs=-1, shell_complete=FILES)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for modules; by default the project's generated folder, without a project `generated` here.",
)
@click.option(
    "--check", "check_only", is_flag=True, help="Write nothing; exit with 1 if a module would change."
)
@click.option("--diff", "show_diff", is_flag=True, help="Write nothing; show what would change.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How to print findings.",
)
@click.option("--quiet", "-q", is_flag=True, help="Print findings and diffs only.")
@click.option("--no-cache", is_flag=True, help="With --check: ignore the cache.")
@no_progress_option
@staged_option(_writes)
def command(
    paths: tuple[str, ...],
    output: Path | None,
    check_only: bool,
    show_diff: bool,
    form: str,
    quiet: bool,
    no_cache: bool,
    no_progress: bool,
) -> int:
    """Compile workflows into one typed statechart module each.

    PATHS are files and folders; without any, the project's workflows folder. Only modules that change are written, and
    modules whose source has gone are removed. A workflow with an error is reported, and its module left as it was.
    """
    selection = select(paths)
    folder = output or modules_folder(selection.config)
    memory = None
    if check_only and not no_cache and _is_within_project(selection):
        question = ("compile --check", paths, str(folder), show_diff, form, quiet)
        memory = Memory.of(question, selection, lambda: _modules(folder))
    answer = memory.recall() if memory else None
    if answer is None:
        from wfc.cli.shared.compiling import Task, compile_selection

        shown = not (no_progress or quiet)
        answer = compile_selection(Task(selection, folder, check_only, show_diff, form, quiet, shown))
        if memory and answer.status == 0:
            memory.keep(answer)
    write_out(answer.text)
    return answer.status


def _is_within_project(selection: Selection) -> bool:
    """What files outside a project are called in their modules depends on what lies around them."""
    root = selection.config.root
    places = [*selection.folders, *selection.files]
    return selection.config.configured and all(real(path).is_relative_to(root) for path in places)


def _modules(folder: Path) -> Iterator[bytes]:
    for module in sorted(folder.glob("*.py")) if folder.is_dir() else ():
        yield from (module.name.encode("utf-8", "surrogateescape"), module.read_bytes())
