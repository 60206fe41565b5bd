"""`wfc compile`."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

import click

from wfc.cli.files import Selection, load_project, select
from wfc.cli.modules import Drift, recorded_path, stale_modules, write_atomically
from wfc.cli.output import FORMATS, counted, print_findings
from wfc.diagnostics import Severity
from wfc.pipeline import Compilation, Compiled, compile_project
from wfc.rules.generated import drift_findings


@click.command("compile", short_help="Compile workflows into typed Python statecharts.")
@click.argument("paths", nargs=-1)
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), help="Where modules go; default: the project's generated folder.")
@click.option("--check", "check_only", is_flag=True, help="Write nothing; exit with 1 if a module is not what its source says.")
@click.option("--diff", "show_diff", is_flag=True, help="Write nothing; show what would change.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="How to print findings.")
@click.option("--quiet", "-q", is_flag=True, help="Print findings and diffs only.")
def command(paths: tuple[str, ...], output: Path | None, check_only: bool, show_diff: bool, form: str, quiet: bool) -> int:
    """Compile workflows into one typed statechart module each.

    PATHS are files and folders; without any, the project's workflows folder. Only modules that change are written, and
    modules whose source has gone are removed. A workflow with an error is reported and left as it was.
    """
    selection = select(paths)
    folder = output or _generated(selection)
    project, units = load_project(selection)
    recorded = {unit: recorded_path(path, selection) for path, unit in units.items()}
    compilation = compile_project(project, recorded)
    drift = _drift(compilation, folder, selection)
    findings = list(compilation.findings)
    if check_only:
        findings += drift_findings(drift, folder)
    print_findings(findings, form)
    if (check_only or show_diff) and form == "text":
        _print_diff(drift)
    failed = any(found.severity is Severity.ERROR for found in findings)
    if not check_only and not show_diff:
        _write(drift, folder)
    if not quiet and form == "text":
        click.echo(_summary(compilation, drift, folder, written=not (check_only or show_diff)))
    return 1 if failed else 0
