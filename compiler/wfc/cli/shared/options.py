"""Options that several commands take."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from wfc.config import Config
from wfc.workspace.files import named_templates

state_option = click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="WFC_STATE",
    help="The file that keeps the runs; by default .wfc/state.db in the project. Also WFC_STATE.",
)
ENGINE = "wfc.engine"
"""Where a group of commands leaves the choice for its members."""
engine_option = click.option(
    "--engine",
    type=click.Choice(["sqlite", "temporal"]),
    envvar="WFC_ENGINE",
    help="What keeps the runs: a file, or a Temporal server. By default what [tool.wfc] says, else sqlite. Also "
    "WFC_ENGINE.",
)


def file_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --allow-read and --allow-write to a command."""
    for access, doing in (("write", "Write"), ("read", "Read")):
        command = click.option(
            f"--allow-{access}",
            multiple=True,
            metavar="PATTERN",
            help=f"{doing} files that match where a workflow asks for it, without asking anyone. The pattern is a glob "
            "relative to the project, or absolute inside an --exec-root; `*` stays within a folder, `**` does not. May "
            "be repeated.",
        )(command)
    return command


def refuse_on_temporal() -> click.UsageError:
    """What a grant is answered with where no process executes steps."""
    return click.UsageError(
        "on Temporal the agent does every step: --allow-exec, --allow-read and --allow-write go with --engine sqlite"
    )


def check_patterns(option: str, patterns: Iterable[str], root: Path, more_roots: Iterable[Path]) -> None:
    """Raises a usage error for a pattern that could never match what its author means."""
    from wfc_runtime.execute.file_patterns import pattern_problem

    roots = tuple(more_roots)
    for pattern in patterns:
        if problem := pattern_problem(pattern, root, roots):
            raise click.UsageError(f"{option} `{pattern[:80]}`: {problem}")


def source_folders(config: Config) -> tuple[Path, ...]:
    """Where workflow sources are read from: no file step writes there."""
    return (config.workflows_dir, *named_templates())
