"""`wfc compile`. If no file has changed, the last answer is repeated without importing the compiler."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wfc.cli.shared.git import is_staged, staged_option, staging
from wfc.cli.shared.names import FILES
from wfc.cli.shared.output import FORMATS, no_progress_option, progress, rendered, write_out
from wfc.cli.shared.stdin import STDIN, read_stdin, refuse_name, stdin_option
from wfc.config import real
from wfc.render.style import counted
from wfc.testfiles import is_test_file
from wfc.workspace.cache import Answer, Memory, Snapshot
from wfc.workspace.files import Selection, modules_folder, select
from wfc_runtime.trust import generated_paths

if TYPE_CHECKING:
    from wfc.compiler import Compilation
    from wfc.project import Drift


def _writes(given: dict[str, Any]) -> str:
    return "" if given["check_only"] or given["show_diff"] else "add --check or --diff"


@click.command("compile")
@click.argument("paths", nargs=-1, shell_complete=FILES)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for modules; defaults to the project's generated folder, or `generated` here without a project.",
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
@click.option("--no-cache", is_flag=True, help="With --check: ignore the cache.")
@stdin_option
@no_progress_option
@staged_option(_writes)
def command(
    paths: tuple[str, ...],
    output: Path | None,
    check_only: bool,
    show_diff: bool,
    form: str,
    quiet: bool,
    no_cache: bool,
    stdin_filename: Path | None,
    no_progress: bool,
) -> int:
    """Compile workflows into one typed statechart module each.

    PATHS are files and folders; without any, the project's workflows folder. Each module gets a line map,
    which records the YAML line of each state. Only files that change are written, and files whose source no longer
    exists are removed. If a workflow has an error, its findings are reported and its module stays unchanged. Test files
    are checked against their workflows. `-` is standard input: its module is printed, and findings go to standard
    error.
    """
    if STDIN in paths:
        if len(paths) > 1 or output or check_only or show_diff or is_staged():
            raise click.UsageError(
                "`-` can't be combined with other paths, --output, --check, --diff or --staged"
            )
        return _compile_stdin(stdin_filename, form)
    refuse_name(stdin_filename)
    selection = select(paths)
    folder = output or modules_folder(selection.config)
    memory = snapshot = None
    # Only `--check` is cached: writing has effects that a cached answer would not repeat.
    if check_only and not no_cache and _is_within_project(selection):
        question = ("compile --check", paths, str(folder), show_diff, form, quiet)
        snapshot = Snapshot.of(selection)
        memory = Memory.of(question, snapshot, lambda: _generated(folder))
    answer = memory.recall() if memory else None
    if answer is None:
        shown = not (no_progress or quiet)
        task = Task(selection, folder, check_only, show_diff, form, quiet, shown, snapshot)
        answer = compile_selection(task)
        # With drift, the next call has to find out whether it is still there.
        if memory and answer.status == 0:
            memory.keep(answer)
    write_out(answer.text)
    return answer.status


def _compile_stdin(stdin_filename: Path | None, form: str) -> int:
    """Print the module of the workflow on standard input."""
    from wfc.checker import exit_status
    from wfc.compiler import compile_project
    from wfc.findings import Severity
    from wfc.workspace.files import recorded_path
    from wfc.workspace.loading import load_project

    selection, path, text = read_stdin(stdin_filename)
    project, files = load_project(selection, {path: text})
    made = compile_project(project, {files[path]: recorded_path(path, selection.config.root)})
    click.echo(rendered(made.findings, form, sys.stderr), err=True, nl=False)
    write_out("".join(module.text for module in made.modules))
    return exit_status(made.findings, Severity.ERROR)


def _is_within_project(selection: Selection) -> bool:
    """Whether the result may be cached. Outside a project, the paths in module headers depend on the files around."""
    root = selection.config.root
    places = [*selection.folders, *selection.files, *selection.tests]
    return selection.config.configured and all(real(path).is_relative_to(root) for path in places)


def _generated(folder: Path) -> Iterator[bytes]:
    for path in generated_paths(folder):
        yield from (path.name.encode("utf-8", "surrogateescape"), path.read_bytes())


@dataclass(frozen=True, slots=True)
class Task:
    """The options of one command."""

    selection: Selection
    folder: Path
    check_only: bool = False
    show_diff: bool = False
    form: str = "text"
    quiet: bool = False
    with_progress: bool = False
    snapshot: Snapshot | None = None
    """The files as read for the cache."""


def compile_selection(task: Task) -> Answer:
    """Compile, and write or compare."""
    from wfc.checker import exit_status
    from wfc.findings import Severity
    from wfc.workspace.modules import apply_drift, build

    with progress("compiling", task.with_progress) as show:
        built = build(
            task.selection,
            task.folder,
            check_only=task.check_only,
            progress=show,
            snapshot=task.snapshot,
            remedy=staging,
        )
    # `--check` and `--diff` write nothing.
    dry = task.check_only or task.show_diff
    text = rendered(built.findings, task.form)
    if dry and task.form == "text":
        text += _diff(built.drift)
    if not dry:
        apply_drift(built.drift, task.folder)
    if task.form == "text" and not task.quiet:
        text += _summary(built.compilation, built.drift, task.folder, dry=dry) + "\n"
    return Answer(text, exit_status(built.findings, Severity.ERROR))


def _diff(drift: list[Drift]) -> str:
    import difflib

    from wfc.project import without_repeats

    lines: list[str] = []
    # A line map that differs only because its module does would double the diff.
    for item in without_repeats(drift):
        before, after = (item.before or "").splitlines(True), (item.after or "").splitlines(True)
        lines += difflib.unified_diff(before, after, item.path, item.path)
    return "".join(lines)


def _summary(compilation: Compilation, drift: list[Drift], folder: Path, *, dry: bool) -> str:
    """The number of modules written; a line map counts with its module."""
    from wfc.findings import Severity
    from wfc.project import DriftKind

    wanted = [item for item in drift if item.after is not None]
    # A file of somebody else is never overwritten, so it is not counted.
    changed = {item.module_path for item in wanted if item.condition is not DriftKind.FOREIGN}
    removed = {item.module_path for item in drift if item.after is None}
    same = len(compilation.modules) - len({item.module_path for item in wanted})
    verbs = ("would write", "would remove") if dry else ("wrote", "removed")
    parts = [f"{verbs[0]} {len(changed)}"] if changed else []
    parts += [f"{verbs[1]} {len(removed)}"] if removed else []
    parts += [f"{same} unchanged"] if same else []
    broken = {found.path for found in compilation.findings if found.severity is Severity.ERROR}
    tests = {path for path in broken if is_test_file(path)}
    parts += [f"{counted(len(broken - tests), 'workflow')} with errors"] if broken - tests else []
    parts += [f"{counted(len(tests), 'test file')} with errors"] if tests else []
    edited = sorted(item.path for item in drift if _was_edited(item) and not dry)
    note = f"\nnote: {', '.join(edited)} was edited by hand; the edit has been overwritten" if edited else ""
    return f"{folder}: {', '.join(parts) or 'nothing to do'}{note}"


def _was_edited(item: Drift) -> bool:
    from wfc.project import DriftKind
    from wfc_runtime.header import read_header
    from wfc_runtime.line_map import read_line_map

    if item.before is None or item.condition is DriftKind.FOREIGN:
        return False
    found = read_header(item.before) if item.is_module else read_line_map(item.before)
    return found is not None and found.edited
