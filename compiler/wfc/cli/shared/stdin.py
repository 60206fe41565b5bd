"""Reads standard input instead of a file: `-`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from wfc.workspace.files import Selection

STDIN = "-"
_UNNAMED = Path("stdin.yaml")

stdin_option = click.option(
    "--stdin-filename",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Path to report for standard input (`-`); also selects the project.",
)


def refuse_name(stdin_filename: Path | None) -> None:
    """Raise a usage error for a name that goes with no text."""
    if stdin_filename is not None:
        raise click.UsageError("--stdin-filename requires `-`")


def read_stdin(stdin_filename: Path | None) -> tuple[Selection, Path, bytes]:
    """The text on standard input, as the only selected file of its project."""
    from wfc.config import load_config

    path = stdin_filename or _UNNAMED
    config = load_config(path.parent)
    # One byte more than allowed is enough for the check to see that it is too long.
    text = sys.stdin.buffer.read(config.limits.source_bytes + 1)
    return Selection.of_file(config, path), path, text
