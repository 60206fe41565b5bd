"""`wfc check`."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

import click

from wfc.check import check_project
from wfc.cli.files import Selection, load_project, select
from wfc.cli.output import FORMATS, counted, print_findings
from wfc.diagnostics import Diagnostic, Severity
from wfc.fixes import apply_fixes

_ROUNDS = 10
"""A fix may uncover another finding; each round settles at least one, and this many are plenty."""


@click.command("check", short_help="Check workflows and say what is wrong.")
@click.argument("paths", nargs=-1)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="How to print findings.")
@click.option("--fix", is_flag=True, help="Mend what can be mended safely, in the files.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix: also changes that may alter what a workflow does.")
@click.option("--diff", "show_diff", is_flag=True, help="With --fix: show the changes instead of writing them.")
@click.option("--quiet", "-q", is_flag=True, help="Print findings only, no summary.")
def command(paths: tuple[str, ...], form: str, fix: bool, unsafe_fixes: bool, show_diff: bool, quiet: bool) -> int:
    """Check workflows: every reference, type, state access, jump, loop bound and injection risk.

    PATHS are files and folders; without any, the project's workflows folder. Exits with 1 if there is an error or a
    warning.
    """
    if (unsafe_fixes or show_diff) and not fix:
        raise click.UsageError("--unsafe-fixes and --diff go with --fix")
    selection = select(paths)
    if fix:
        changed, settled = _fix(selection, unsafe_fixes, show_diff)
        if show_diff:
            return 1 if changed else 0
        if not quiet:
            click.echo(f"fixed {counted(settled, 'finding')} in {counted(changed, 'file')}", err=True)
    project, units = load_project(selection)
    found = check_project(project)
    print_findings(found, form)
    if form == "text" and not quiet:
        click.echo(_summary(found, len(units)))
    return 1 if any(diagnostic.severity is not Severity.INFO for diagnostic in found) else 0


def _summary(found: list[Diagnostic], files: int) -> str:
    counts = [
        counted(number, str(severity) if severity is not Severity.INFO else "note")
        for severity in Severity
        if (number := sum(diagnostic.severity is severity for diagnostic in found))
    ]
    return f"checked {counted(files, 'workflow')}: {', '.join(counts) or 'all clean'}"


def _fix(selection: Selection, unsafe: bool, show_diff: bool) -> tuple[int, int]:
    """Fix until nothing more can be, and write what has changed. Returns how many files and findings."""
    before = {path: unit.source.text for path, unit in load_project(selection)[1].items()}
    after, settled = dict(before), 0
    for _ in range(_ROUNDS):
        after, number = _fix_once(selection, after, unsafe)
        settled += number
        if not number:
            break
    changed = [path for path in after if after[path] != before[path]]
    for path in changed:
        if show_diff:
            sys.stdout.writelines(_diff(str(path), before[path], after[path]))
        else:
            path.write_text(after[path], encoding="utf-8", newline="")
    return len(changed), settled


def _fix_once(selection: Selection, texts: dict[Path, str], unsafe: bool) -> tuple[dict[Path, str], int]:
    project, units = load_project(selection, texts)
    found = check_project(project)
    fixed: dict[Path, str] = {}
    settled = 0
    for path, unit in units.items():
        mine = [diagnostic for diagnostic in found if diagnostic.span.source is unit.source]
        fixed[path], number = apply_fixes(texts[path], mine, unsafe=unsafe)
        settled += number
    return fixed, settled


def _diff(path: str, before: str, after: str) -> list[str]:
    return list(difflib.unified_diff(before.splitlines(True), after.splitlines(True), path, path))
