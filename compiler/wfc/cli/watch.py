"""`wfc watch`."""

from __future__ import annotations

import sys
import time
from datetime import datetime
from pathlib import Path

import click

from wfc.caching import clear_file_caches
from wfc.cli.shared.names import FILES
from wfc.cli.test_runner import tests_of
from wfc.config import ConfigError
from wfc.render.style import counted, style_for
from wfc.testfiles import TEST_ENDINGS
from wfc.workspace.files import Selection, as_typed, modules_folder, select

_PAUSE = 0.2
"""The polling interval in seconds: short enough to seem immediate, long enough to cost nothing."""
_CLEAR = "\x1b[2J\x1b[H"

Stamps = dict[Path, tuple[int, int]]


@click.command("watch")
@click.argument("paths", nargs=-1, shell_complete=FILES)
@click.option("--no-tests", is_flag=True, help="Check and compile only.")
def command(paths: tuple[str, ...], no_tests: bool) -> int:
    """Check, compile and test workflows whenever they change, until Ctrl-C.

    PATHS are files and folders; without any, the project's workflows folder. In a terminal, each report replaces the
    one before; elsewhere, reports are appended.
    """
    known: Stamps = {}
    trouble = ""
    while True:
        try:
            selection = select(paths)
            now = _stamps(selection)
            changed = sorted(path for path in {*known, *now} if known.get(path) != now.get(path))
            # After an error, the same files are checked again, since the cause may be elsewhere.
            if changed or trouble:
                report = _report(selection, changed, first=not known, tests=not no_tests)
                click.echo(f"{_CLEAR if sys.stdout.isatty() else ''}{report}")
                # Otherwise every version of every file would stay in memory.
                clear_file_caches()
            known, trouble = now, ""
        except (click.ClickException, ConfigError) as error:
            if not known and isinstance(error, click.UsageError):
                raise  # An error at the start is wrong usage; later it may be a file that is being edited.
            # The same error is printed once.
            if trouble != str(error):
                trouble = str(error)
                click.echo(f"wfc: {trouble}; waiting for a change", err=True)
        time.sleep(_PAUSE * 5 if trouble else _PAUSE)


def _stamps(selection: Selection) -> Stamps:
    """The values by which a change of a file is detected. A file that disappears in the meantime is left out."""
    folders = {*selection.folders, *(path.parent for path in (*selection.files, *selection.tests))}
    tests = (path for folder in folders for ending in TEST_ENDINGS for path in folder.rglob(f"*{ending}"))
    found: Stamps = {}
    # Settings decide what is checked, so a change of them counts as well.
    for path in (*selection.files, *tests, selection.config.root / "pyproject.toml"):
        try:
            status = path.stat()
        except OSError:
            continue
        found[path] = (status.st_mtime_ns, status.st_size)
    return found


def _report(selection: Selection, changed: list[Path], *, first: bool, tests: bool) -> str:
    """The text to show after a change: the findings, the tests and what is watched."""
    from wfc.cli.compile import Task, compile_selection

    what = "everything" if first else ", ".join(str(as_typed(path)) for path in changed)
    title = style_for(sys.stdout).paint(f"{datetime.now():%H:%M:%S}  {what}", "bold")
    compiled = compile_selection(Task(selection, modules_folder(selection.config))).text
    tested = _test(selection, _tests_of(selection, changed, everything=first)) if tests else ""
    watching = f"watching {counted(len(selection.files), 'workflow')}; stop with Ctrl-C"
    return f"{title}\n{compiled}{tested}{watching}"


def _tests_of(selection: Selection, changed: list[Path], *, everything: bool) -> list[Path]:
    """The test files beside the workflows that changed, and those that changed themselves."""
    settings = selection.config.root / "pyproject.toml"
    # A change of the settings may affect every test.
    sources = [*selection.files, *selection.tests] if everything or settings in changed else changed
    found: dict[Path, None] = {}
    for path in sources:
        is_test = path.name.endswith(TEST_ENDINGS) and path.is_file()
        found |= dict.fromkeys([path] if is_test else tests_of(path))
    return list(found)


def _test(selection: Selection, files: list[Path]) -> str:
    if not files:
        return ""
    from wfc.cli import test_report as report
    from wfc.cli.test_runner import run_file

    began = time.perf_counter()
    try:
        reports = [run_file(path, lambda workflow, name: True) for path in files]
    except OSError as error:
        raise click.ClickException(f"can't read `{error.filename}`: {error.strerror}") from error
    summary = report.summary(reports, time.perf_counter() - began)
    printed = {str(path) for path in (*selection.files, *selection.tests)}
    for one in reports:  # The findings in these files were printed when they were compiled.
        one.problems = [problem for problem in one.problems if problem.path not in printed]
    return "".join(report.render_failures(reports, style_for(sys.stdout))) + f"{summary}\n"
