"""`wfc check`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import click

from wfc.check import check_project
from wfc.cli.files import ENDINGS, Selection, load_project, select
from wfc.cli.fixing import fix_files
from wfc.cli.output import FORMATS, counted, print_findings
from wfc.cli.staged import staged_option
from wfc.diagnostics import Diagnostic, Severity
from wfc.unit import Unit


def _writes(given: dict[str, Any]) -> str:
    return "leave --fix out, or stage what it writes" if given["fix"] and not given["show_diff"] else ""


@click.command("check", short_help="Check workflows and say what is wrong.")
@click.argument("paths", nargs=-1)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How to print findings.",
)
@click.option("--fix", is_flag=True, help="Mend what can be mended safely, in the files.")
@click.option("--unsafe-fixes", is_flag=True, help="Also mend what may change what a workflow does.")
@click.option("--diff", "show_diff", is_flag=True, help="Show what --fix would change, and write nothing.")
@click.option(
    "--types", "show_types", is_flag=True, help="Also show each state field: type, writers, readers."
)
@click.option("--quiet", "-q", is_flag=True, help="Print findings only, no summary.")
@staged_option(_writes)
def command(
    paths: tuple[str, ...],
    form: str,
    fix: bool,
    unsafe_fixes: bool,
    show_diff: bool,
    show_types: bool,
    quiet: bool,
) -> int:
    """Check workflows: every reference, type, state access, jump, loop bound and injection risk.

    PATHS are files and folders; without any, the project's workflows folder. Exits with 1 if there is an
    error or a warning, and with --diff if there is something to fix.
    """
    if unsafe_fixes and not (fix or show_diff):
        raise click.UsageError("--unsafe-fixes goes with --fix or --diff")
    if show_types and form != "text":
        raise click.UsageError("--types is text for people; it goes with --format text")
    selection = select(paths)
    if paths and not selection.files:
        raise click.UsageError(f"there are no workflows ({', '.join(ENDINGS)}) in {_named(paths)}")
    if show_diff:
        return _show(selection, unsafe_fixes, quiet)
    if fix:
        _write(selection, unsafe_fixes, quiet)
    project, units = load_project(selection, with_runs=True)
    found = check_project(project)
    print_findings(found, form)
    if show_types:
        _print_types(units.values())
    if form == "text" and not quiet:
        click.echo(_summary(found, len(units)))
    return 1 if any(diagnostic.severity is not Severity.INFO for diagnostic in found) else 0


def _print_types(units: Iterable[Unit]) -> None:
    from wfc.cli.types_view import print_types

    print_types(units)


def _named(paths: tuple[str, ...]) -> str:
    return ", ".join(f"`{path}`" for path in paths)


def _show(selection: Selection, unsafe: bool, quiet: bool) -> int:
    changed, settled = fix_files(selection, unsafe=unsafe)
    for file in changed:
        sys.stdout.writelines(file.diff())
    _report("would fix", settled, len(changed), quiet)
    return 1 if changed else 0


def _write(selection: Selection, unsafe: bool, quiet: bool) -> None:
    changed, settled = fix_files(selection, unsafe=unsafe)
    for file in changed:
        file.write()
    _report("fixed", settled, len(changed), quiet)


def _report(verb: str, settled: int, files: int, quiet: bool) -> None:
    """On standard error: findings, diffs and nothing else go to standard output."""
    if not quiet:
        click.echo(f"{verb} {counted(settled, 'finding')} in {counted(files, 'file')}", err=True)


def _summary(found: list[Diagnostic], files: int) -> str:
    counts = [
        counted(number, str(severity) if severity is not Severity.INFO else "note")
        for severity in Severity
        if (number := sum(diagnostic.severity is severity for diagnostic in found))
    ]
    return f"checked {counted(files, 'workflow')}: {', '.join(counts) or 'all clean'}"
