"""`wfc test`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click

from wfc.author.testing import Coverage, Trace, measure, total
from wfc.cli import test_report as report
from wfc.cli.shared.names import FILES
from wfc.cli.shared.output import no_progress_option, progress, say, to_json, write_out
from wfc.cli.test_runner import FileReport, find_test_files, run_file
from wfc.render.style import style_for
from wfc.workspace.files import select, writing
from wfc.workspace.loading import load_project


@click.command("test")
@click.argument("paths", nargs=-1, shell_complete=FILES)
@click.option("-k", "pattern", metavar="TEXT", help="Only tests whose name or workflow contains this.")
@click.option(
    "-n", "--jobs", metavar="N", default="1", help="Processes to run files in; `auto`: one per core."
)
@click.option(
    "--min-coverage",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Fail if the coverage of a workflow is lower.",
)
@click.option(
    "--junit", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Also write JUnit XML."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--quiet", "-q", is_flag=True, help="Print failures only.")
@no_progress_option
def command(
    paths: tuple[str, ...],
    pattern: str | None,
    jobs: str,
    min_coverage: float | None,
    junit: Path | None,
    as_json: bool,
    quiet: bool,
    no_progress: bool,
) -> int:
    """Run tests of workflows, with scripted results and simulated time.

    A test compares the actions and the outcome of a run with the expected ones. PATHS are test files (*.test.yaml),
    folders, or workflows, which select the tests beside them; without any, the project's workflows folder. Exits with 1
    if a test fails, a test file has errors, or the coverage of a workflow's steps and branches is below --min-coverage.
    """
    if pattern is not None and min_coverage is not None:
        raise click.UsageError("-k leaves tests out, so it can't be combined with --min-coverage")
    files = find_test_files(paths)
    if not files:
        raise click.UsageError("there are no tests (*.test.yaml)")
    begin = time.perf_counter()
    running = _run(files, pattern, _processes(jobs, len(files)))
    reports = _watched(running, len(files), wanted=not (quiet or no_progress))
    if pattern is not None and not any(one.cases or one.problems for one in reports):
        raise click.UsageError(f"no test has `{pattern}` in its name or its workflow's")
    covered = [] if pattern is not None else _coverage(reports, paths)
    if junit is not None:
        with writing(junit):
            junit.write_text(report.to_junit(reports), encoding="utf-8")
    low = [one for one in covered if min_coverage is not None and one.percent < min_coverage]
    failed = any(one.problems or not all(case.passed for case in one.cases) for one in reports)
    if as_json:
        say(to_json(report.to_data(reports, covered)))
    else:
        _print(reports, covered, quiet, time.perf_counter() - begin)
        for one in low:
            click.echo(f"`{one.workflow}` has coverage {one.percent:.1f}%, below {min_coverage:g}%", err=True)
    return 1 if failed or low else 0


def _watched(running: Iterator[FileReport], files: int, wanted: bool) -> list[FileReport]:
    """Run all test files, with a progress bar on a terminal."""
    found: list[FileReport] = []
    with progress("testing", wanted) as show:
        for one in running:
            found.append(one)
            show(len(found), files)
    return found


def _processes(jobs: str, files: int) -> int:
    if jobs == "auto":
        return min(os.cpu_count() or 1, files)
    if not jobs.isdecimal() or not 1 <= int(jobs) <= 256:
        raise click.UsageError(f"--jobs takes a number from 1 to 256, or auto, not `{jobs}`")
    return min(int(jobs), files)


def _wanted(pattern: str | None, workflow: str, name: str) -> bool:
    return pattern is None or pattern.lower() in f"{workflow} {name}".lower()


def _run(files: list[Path], pattern: str | None, processes: int) -> Iterator[FileReport]:
    work = partial(_run_one, pattern)
    if processes == 1:
        yield from map(work, files)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_all_start_methods, get_context

    # A forked process has all modules imported already.
    how = "fork" if "fork" in get_all_start_methods() else "spawn"
    with ProcessPoolExecutor(processes, mp_context=get_context(how)) as pool:
        yield from pool.map(work, files)


def _run_one(pattern: str | None, path: Path) -> FileReport:
    try:
        return run_file(path, partial(_wanted, pattern))
    except OSError as error:
        raise click.ClickException(f"can't read `{error.filename or path}`: {error.strerror}") from error


def _coverage(reports: list[FileReport], paths: tuple[str, ...]) -> list[Coverage]:
    """The coverage of the tested workflows; of all workflows if the whole project was tested."""
    trace = Trace()
    for one in reports:
        trace.add(one.trace)
    if paths:
        names = {one.workflow for one in reports if one.workflow and not one.problems}
        folders = tuple(dict.fromkeys(str(Path(one.path).parent) for one in reports))
        _, files = load_project(select(folders))
    else:
        _, files = load_project(select(()))
        names = {str(file.name) for file in files.values() if file.name is not None}
    found = [
        measure(file.scheduled_module, str(path), trace)
        for path, file in files.items()
        if file.scheduled_module is not None and file.name in names
    ]
    return sorted(found, key=lambda one: one.path)


def _print(reports: list[FileReport], covered: list[Coverage], quiet: bool, seconds: float) -> None:
    style = style_for(sys.stdout)
    write_out("".join(report.render_failures(reports, style)))
    if quiet:
        return
    write_out("".join(report.render_coverage(covered, style)))
    share = f", {total(covered):.1f}% of steps and branches" if covered else ""
    say(f"{report.summary(reports, seconds)}{share}")
