"""`--allow-read`, `--allow-write` and `--exec-root`: files that a server may work on by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from wfc.cli.shared.selection import named_templates
from wfc.config import Config


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
