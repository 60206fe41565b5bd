"""Finds test files and runs their cases without an agent."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wfc.author.answers import Answers, NoAnswerError
from wfc.author.driver import Asked, Worker, drive
from wfc.author.testing import Mismatch, Trace, compare
from wfc.checker import check_file, has_errors
from wfc.cli.run.sources import SourceRegistry
from wfc.config import load_config, real
from wfc.findings import Diagnostic, Severity
from wfc.testfiles import TEST_ENDINGS
from wfc.testfiles.cases import Case
from wfc.testfiles.questions import misfit
from wfc.workspace.files import Selection, as_typed, refuse_unread
from wfc.workspace.loading import load_project
from wfc_runtime.errors import RefusedError, WfcError
from wfc_runtime.machine.values import Limits
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wfc.project import SourceFile
    from wfc_runtime.registry import Module


def find_test_files(paths: tuple[str, ...]) -> list[Path]:
    """The test files in the given files and folders; without any, those of the project."""
    if not paths:
        config = load_config(Path("."))
        folders = [folder for folder in map(as_typed, config.workflow_dirs) if folder.is_dir()]
        if not folders:
            missing = as_typed(config.workflows_dir)
            raise click.UsageError(f"there is no folder `{missing}`; name test files or folders")
        return [file for folder in folders for file in _in_folder(folder)]
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        for file in _named(path):
            # By resolved path, so that a file that is named twice runs once.
            found.setdefault(real(file), file)
    return list(found.values())


def _named(path: Path) -> list[Path]:
    if path.is_dir():
        return _in_folder(path)
    if not path.exists():
        raise click.UsageError(f"there is no file or folder `{path}`")
    # A workflow may be named instead of its test file.
    if path.name.endswith(TEST_ENDINGS):
        return [path]
    there = tests_of(path)
    if not there:
        raise click.UsageError(
            f"`{path}` has no tests: there is no `{path.with_name(path.stem + TEST_ENDINGS[0])}`"
        )
    return there


def tests_of(workflow: Path) -> list[Path]:
    """The test files beside a workflow."""
    beside = [workflow.with_name(workflow.stem + ending) for ending in TEST_ENDINGS]
    return [one for one in beside if one.is_file()]


def _in_folder(folder: Path) -> list[Path]:
    found: list[Path] = []
    for place, folders, names in os.walk(folder, onerror=refuse_unread):
        folders[:] = [name for name in folders if not name.startswith(".")]
        # Hidden files are not tests, as hidden folders are not searched.
        found += [Path(place, name) for name in names if name.endswith(TEST_ENDINGS) and name[0] != "."]
    return sorted(found)


_MOST_ACTIONS = 10_000


@dataclass(frozen=True, slots=True)
class CaseReport:
    name: str
    line: int
    seconds: float
    mismatches: tuple[Mismatch, ...]

    @property
    def passed(self) -> bool:
        return not self.mismatches


@dataclass
class FileReport:
    path: str
    workflow: str = ""
    problems: list[Diagnostic] = field(default_factory=list)
    """Mistakes in the test file, and errors of the workflow: with one of those, nothing was run."""
    broken: list[str] = field(default_factory=list)
    """The names of cases with a mistake in them, which were not run."""
    cases: list[CaseReport] = field(default_factory=list)
    trace: Trace = field(default_factory=Trace)


class _EndedError(Exception):
    """Why a case can't continue."""

    def __init__(self, mismatch: Mismatch) -> None:
        super().__init__(mismatch.message)
        self.mismatch = mismatch


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class _Rehearsal(Worker):
    """Answers actions as the case specifies, and records them."""

    actor = "wfc test"

    def __init__(self, case: Case, clock: _Clock) -> None:
        self.answers = Answers(case.scripts)
        self.asked: list[Asked] = []
        self._case = case
        self._clock = clock

    def answer(self, asked: Asked) -> Any:
        skips = asked.parameters.get("otherwise") == "skip"
        if skips and not self.answers.knows(asked.scope, asked.step_id):
            # A server without a grant does the same, and asks nobody.
            return {"skipped": "a test executes nothing"}
        self.asked.append(asked)
        # A loop in the workflow must not keep a test from ending.
        if len(self.asked) > _MOST_ACTIONS:
            raise self._failed(f"the run asks for more than {_MOST_ACTIONS:,} results")
        try:
            found = self.answers.take(asked.scope, asked.step_id, asked.kind, asked.schema)
        except NoAnswerError as error:
            raise _EndedError(Mismatch(error.span or self._case.span, str(error), has_values=False)) from None
        # Checked here, because the machine would count it as an attempt and continue.
        wrong = misfit(found.value, asked.schema)
        if wrong:
            raise _EndedError(
                Mismatch(
                    found.span or self._case.span,
                    f"this can't be the result of `{asked.step_id}`: {wrong}",
                    has_values=False,
                )
            )
        return found.value

    def refused(self, asked: Asked, error: RefusedError) -> None:
        raise self._failed(f"the result of `{asked.step_id}` was refused: {error.message}")

    def _failed(self, message: str) -> _EndedError:
        return _EndedError(Mismatch(self._case.span, message, has_values=False))

    def moved(self, run: str) -> None:
        """Nothing to show: coverage is recorded by the service."""

    def ahead(self, pending: list[Asked]) -> None:
        """Answers are available immediately, so nothing is started early."""

    def busy(self, doing: list[dict[str, Any]]) -> None:
        """No action is executed in a test."""

    def wait(self, asked: Asked | None, seconds: float) -> None:
        # The next whole second, because `resume_at` and the remaining time are rounded up.
        self._clock.now += max(seconds, 1)


def run_file(path: Path, wanted: Callable[[str, str], bool]) -> FileReport:
    """Run the cases of a file whose workflow and name are wanted, except those with a mistake in them."""
    report = FileReport(str(path))
    file = load_project(Selection.of_file(load_config(path.parent), path))[1][path]
    report.problems = [one for one in check_file(file) if one.severity is Severity.ERROR]
    source_file = file.project.tested_by(file) if file.tests else None
    if file.tests is None or source_file is None:
        return report
    report.workflow = str(source_file.name)
    files = file.project.with_called(source_file)
    findings = [one for each in files for one in check_file(each)]
    if has_errors(findings):
        # Without a correct workflow no case means anything.
        report.problems += findings
        return report
    registry = SourceRegistry(source_file.config)
    # The tested files are compiled from their sources, not taken from the folder of modules.
    registry.prefer(files)
    module = registry.find(report.workflow)
    cases = [case for case in file.tests.cases if wanted(report.workflow, case.name)]
    report.broken = [case.name for case in cases if _is_broken(case, report.problems)]
    sound = [case for case in cases if not _is_broken(case, report.problems)]
    if sound:
        with _stage(registry, source_file) as (service, clock):
            service.watch = report.trace.watch
            report.cases = [_run(case, service, module, clock) for case in sound]
    return report


def _is_broken(case: Case, problems: list[Diagnostic]) -> bool:
    whole = case.whole
    inside = [one for one in problems if one.span.source is whole.source]
    # A mistake in one case does not keep the others from running.
    return any(whole.start <= one.span.start and one.span.end <= whole.end for one in inside)


@contextmanager
def _stage(registry: SourceRegistry, file: SourceFile) -> Iterator[tuple[SqliteService, _Clock]]:
    clock, count = _Clock(), iter(range(1, 10**9))
    limits = Limits.of(file.config.run_limits)
    with tempfile.TemporaryDirectory(prefix="wfc-test-") as folder:
        # Nothing has to survive a power failure, and fsync takes most of the time of a run.
        store = Store(Path(folder) / "state.db", durable=False)
        # Fixed ids, so that uuid() and the ids of children, which are derived from them, are the same in each run.
        service = SqliteService(store, registry, limits, clock, lambda: f"test-{next(count)}")
        try:
            yield service, clock
        finally:
            service.close()


def _run(case: Case, service: SqliteService, module: Module, clock: _Clock) -> CaseReport:
    begin, clock.now = time.perf_counter(), case.now
    worker = _Rehearsal(case, clock)
    try:
        run = service.start_module(module, case.inputs, actor=worker.actor)["workflow_id"]
        reply = drive(service, run, worker)
        names = list(service.state(run)["fields"])
        state = service.definition(run)[2].state if names else {}
        mismatches = [*compare(case, reply, state, worker.asked), *_unused(case, worker.answers)]
    except _EndedError as ended:
        mismatches = [ended.mismatch]
    except WfcError as error:
        mismatches = [Mismatch(case.span, str(error), has_values=False)]
    return CaseReport(case.name, case.span.line, time.perf_counter() - begin, tuple(mismatches))


def _unused(case: Case, answers: Answers) -> Iterator[Mismatch]:
    for key, script in answers.unused():
        if key in case.own and script.answers:
            count = (
                f"{answers.taken[key]} of {len(script.answers)} answers"
                if not script.repeats
                else "the answer"
            )
            message = f"{count} for `{key}` " + ("were used" if not script.repeats else "was never used")
            yield Mismatch(script.span or case.span, message, has_values=False)
