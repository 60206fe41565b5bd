"""What `wfc check --fix` and `--diff` do with the fixes."""

from __future__ import annotations

import sys

import click

from wfc.cli.fixing import fix_files
from wfc.cli.output import counted
from wfc.cli.selection import Selection


def show_fixes(selection: Selection, unsafe: bool, quiet: bool) -> int:
    """Print what would change. Something to fix is a finding."""
    changed, settled = fix_files(selection, unsafe=unsafe)
    for file in changed:
        sys.stdout.writelines(file.diff())
    more = 0 if unsafe or quiet else fix_files(selection, unsafe=True)[1] - settled
    _report(
        "would fix", settled, len(changed), quiet, f"; {more} more with --unsafe-fixes" if more > 0 else ""
    )
    return 1 if changed else 0


def write_fixes(selection: Selection, unsafe: bool, quiet: bool) -> None:
    """Mend the files."""
    changed, settled = fix_files(selection, unsafe=unsafe)
    for file in changed:
        file.write()
    _report("fixed", settled, len(changed), quiet)


def _report(verb: str, settled: int, files: int, quiet: bool, more: str = "") -> None:
    """On standard error: findings, diffs and nothing else go to standard output."""
    if not quiet:
        click.echo(f"{verb} {counted(settled, 'finding')} in {counted(files, 'file')}{more}", err=True)
