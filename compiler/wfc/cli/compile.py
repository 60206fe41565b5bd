"""`wfc compile`."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

import click

from wfc.cli.files import Selection, load_project, select
from wfc.cli.modules import apply_drift, find_drift, recorded_path
from wfc.cli.output import FORMATS, counted, print_findings
from wfc.diagnostics import Diagnostic, Severity
from wfc.generated import Condition, Drift
from wfc.pipeline import Compilation, compile_project
from wfc.rules import BY_CODE
from wfc.unit import Unit


@click.command("compile", short_help="Compile workflows into typed Python statecharts.")
@click.argument("paths", nargs=-1)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for modules; by default the project's generated folder.",
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
def command(
    paths: tuple[str, ...], output: Path | None, check_only: bool, show_diff: bool, form: str, quiet: bool
) -> int:
    """Compile workflows into one typed statechart module each.

    PATHS are files and folders; without any, the project's workflows folder. Only modules that change are written, and
    modules whose source has gone are removed. A workflow with an error is reported, and its module left as it was.
    """
    selection = select(paths)
    folder = output or _generated_folder(selection)
    project, units = load_project(selection)
    recorded = {unit: recorded_path(path, selection.config.root) for path, unit in units.items()}
    compilation = compile_project(project, recorded)
    drift = find_drift(compilation, folder, selection, set(recorded.values()))
    dry = check_only or show_diff
    findings = compilation.findings + _drift_findings(units, drift, check_only)
    print_findings(findings, form)
    if dry and form == "text":
        _print_diff(drift)
    if not dry:
        apply_drift(drift, folder)
    if form == "text" and not quiet:
        click.echo(_summary(compilation, drift, folder, dry=dry))
    return 1 if any(found.severity is Severity.ERROR for found in findings) else 0


def _generated_folder(selection: Selection) -> Path:
    """The project's folder, written as the user would type it."""
    folder = selection.config.generated_dir
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder


def _drift_findings(units: dict[Path, Unit], drift: list[Drift], check_only: bool) -> list[Diagnostic]:
    """With --check every difference is a finding; without it only a file in the way is."""
    if not check_only:
        for unit in units.values():
            unit.drift = [item for item in unit.drift if item.condition is Condition.FOREIGN]
    elif units:
        next(iter(units.values())).drift += [item for item in drift if item.condition is Condition.ORPHANED]
    rules = (BY_CODE["WF701"], BY_CODE["WF702"])
    return [found for unit in units.values() for rule in rules for found in rule.run(unit)]


def _print_diff(drift: list[Drift]) -> None:
    for item in drift:
        before, after = (item.before or "").splitlines(True), (item.after or "").splitlines(True)
        sys.stdout.writelines(difflib.unified_diff(before, after, item.path, item.path))


def _summary(compilation: Compilation, drift: list[Drift], folder: Path, *, dry: bool) -> str:
    changed = [item for item in drift if item.after is not None and item.condition is not Condition.FOREIGN]
    removed = [item for item in drift if item.after is None]
    same = len(compilation.modules) - sum(item.after is not None for item in drift)
    verbs = ("would write", "would remove") if dry else ("wrote", "removed")
    parts = [f"{verbs[0]} {len(changed)}"] if changed else []
    parts += [f"{verbs[1]} {len(removed)}"] if removed else []
    parts += [f"{same} unchanged"] if same else []
    broken = {found.path for found in compilation.findings if found.severity is Severity.ERROR}
    parts += [f"{counted(len(broken), 'workflow')} with errors"] if broken else []
    edited = [item.path for item in drift if item.condition is Condition.EDITED and not dry]
    note = f"\nnote: {', '.join(edited)} had been edited by hand; the edit is gone" if edited else ""
    return f"{folder}: {', '.join(parts) or 'nothing to do'}{note}"
