"""`wfc check`. If no file has changed, the last answer is repeated without importing the compiler."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from wfc.cli.shared.git import is_staged, staged_option
from wfc.cli.shared.names import FILES
from wfc.cli.shared.output import FORMATS, no_progress_option, progress, rendered, write_out
from wfc.cli.shared.stdin import STDIN, read_stdin, refuse_name, stdin_option
from wfc.render.style import counted
from wfc.struct import struct
from wfc.workspace.cache import Answer, Memory, Snapshot
from wfc.workspace.files import ENDINGS, Selection, select

if TYPE_CHECKING:
    from wfc.findings import Diagnostic


def _writes(given: dict[str, Any]) -> str:
    return "omit --fix, or stage what it writes" if given["fix"] and not given["show_diff"] else ""


@click.command("check")
@click.argument("paths", nargs=-1, shell_complete=FILES)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How to print findings.",
)
@click.option("--fix", is_flag=True, help="Apply safe fixes in place.")
@click.option("--unsafe-fixes", is_flag=True, help="Also apply fixes that may change behaviour.")
@click.option("--diff", "show_diff", is_flag=True, help="Show what --fix would change, and write nothing.")
@click.option(
    "--types", "show_types", is_flag=True, help="Also show each state field: type, writers, readers."
)
@click.option("--quiet", "-q", is_flag=True, help="Print findings only, no summary.")
@click.option("--no-cache", is_flag=True, help="Ignore the cache.")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "info"]),
    default="warning",
    show_default=True,
    help="Exit with 1 if there is a finding of this severity or a higher one.",
)
@stdin_option
@no_progress_option
@staged_option(_writes)
def command(
    paths: tuple[str, ...],
    form: str,
    fix: bool,
    unsafe_fixes: bool,
    show_diff: bool,
    show_types: bool,
    quiet: bool,
    no_cache: bool,
    fail_on: str,
    stdin_filename: Path | None,
    no_progress: bool,
) -> int:
    """Check workflows: every reference, type, state access, jump, loop bound and injection risk.

    Test files (*.test.yaml) are checked against their workflows.

    PATHS are files and folders; without any, the project's workflows folder; `-` is standard input, of which --fix
    prints the fixed text, and the findings on standard error. Exits with 1 if there is an error or a warning (see
    --fail-on), or with --diff something to fix, and with 2 if there is no workflow to check. With --staged, a commit
    without workflows is not an error.
    """
    if unsafe_fixes and not (fix or show_diff):
        raise click.UsageError("--unsafe-fixes requires --fix or --diff")
    if show_types and form != "text":
        raise click.UsageError("--types requires --format text")
    report = Report(form, show_types, quiet, fail_on)
    if STDIN in paths:
        if len(paths) > 1 or is_staged():
            raise click.UsageError("`-` can't be combined with other paths or --staged")
        return _check_stdin(stdin_filename, report, fix=fix, show_diff=show_diff, unsafe=unsafe_fixes)
    refuse_name(stdin_filename)
    selection = select(paths)
    # A commit without workflows is fine; a folder without workflows is probably the wrong one.
    if not (selection.files or selection.tests or is_staged()):
        folders = paths or [str(folder) for folder in selection.folders]
        raise click.UsageError(f"there are no workflows ({', '.join(ENDINGS)}) in {_named(folders)}")
    if fix or show_diff:
        from wfc.cli.fixing import show_fixes, write_fixes

        if show_diff:
            return show_fixes(selection, unsafe_fixes, quiet)
        # Before the check, whose findings are about the fixed files.
        write_fixes(selection, unsafe_fixes, quiet)
    watched = not (no_progress or quiet)
    if no_cache or not all(
        map(os.path.isfile, [*selection.files, *selection.tests])
    ):  # A pipe can be read only once, so its content can't be hashed for the cache first.
        answer = check_selection(selection, report, with_progress=watched)
    else:
        snapshot = Snapshot.of(selection)
        memory = Memory.of(("check", paths, form, show_types, quiet, fail_on), snapshot)
        recalled = memory.recall()
        answer = recalled or check_selection(
            selection, report, with_progress=watched, snapshot=snapshot, question=paths
        )
        # Failures of wfc itself are not remembered: their cause may be outside the files.
        if recalled is None and answer.status < 2:
            memory.keep(answer)
    write_out(answer.text)
    return answer.status


@struct(frozen=True, slots=True)
class Report:
    """How findings are reported."""

    form: str
    show_types: bool
    quiet: bool
    fail_on: str


def _check_stdin(
    stdin_filename: Path | None, report: Report, *, fix: bool, show_diff: bool, unsafe: bool
) -> int:
    selection, path, text = read_stdin(stdin_filename)
    if show_diff:
        from wfc.cli.fixing import show_fixes

        return show_fixes(selection, unsafe, report.quiet, {path: text})
    if fix:
        from wfc.cli.fixing import fix_stdin

        text = fix_stdin(selection, path, text, unsafe, report.quiet)
        click.echo(text, nl=False)
    # Fixed text goes to standard output, so the findings go elsewhere.
    answer = check_selection(selection, report, texts={path: text}, out=sys.stderr if fix else sys.stdout)
    if fix:
        click.echo(answer.text, err=True, nl=False)
    else:
        write_out(answer.text)
    return answer.status


def _named(paths: Sequence[str]) -> str:
    return ", ".join(f"`{path}`" for path in paths)


def check_selection(
    selection: Selection,
    report: Report,
    *,
    texts: Mapping[Path, bytes] | None = None,
    out: TextIO | None = None,
    with_progress: bool = False,
    snapshot: Snapshot | None = None,
    question: tuple[str, ...] = (),
) -> Answer:
    """Every finding of the selected files, or of the texts given for them, as text for standard output or `out`.

    `snapshot`: the files as read for the cache; findings of unchanged files then come from the cache. `question`: the
    paths as given, which are part of the key in the cache.
    """
    from wfc.checker import check_project, exit_status
    from wfc.findings import Severity
    from wfc.workspace.loading import load_project

    types = ""
    with progress("checking", with_progress) as show:
        # Types need every file parsed, which the incremental check avoids.
        if snapshot is not None and not report.show_types:
            from wfc.workspace.incremental import check_incrementally

            found = check_incrementally(question, selection, snapshot, show)
        else:
            project, files = load_project(selection, texts, with_runs=True, snapshot=snapshot)
            project.progress = show
            found = check_project(project)
    if report.show_types:
        from wfc.render.types import render_types

        types = "".join(f"{render_types(file)}\n" for file in files.values() if not file.is_test)
    text = rendered(found, report.form, out) + types
    if report.form == "text" and not report.quiet:
        text += f"{_summary(found, selection)}\n"
    severities = list(Severity)
    # Severities are ordered from error to info, so that this is the chosen one and all above it.
    failing = severities[: severities.index(Severity(report.fail_on)) + 1]
    return Answer(text, exit_status(found, *failing))


def _summary(found: list[Diagnostic], selection: Selection) -> str:
    from wfc.findings import Severity

    counts = [
        counted(number, str(severity) if severity is not Severity.INFO else "note")
        for severity in Severity
        if (number := sum(diagnostic.severity is severity for diagnostic in found))
    ]
    checked = [counted(len(selection.files), "workflow")] if selection.files or not selection.tests else []
    checked += [counted(len(selection.tests), "test file")] if selection.tests else []
    return f"checked {' and '.join(checked)}: {', '.join(counts) or 'all clean'}"
