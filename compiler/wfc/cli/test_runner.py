"""Test files: found, and their cases run without an agent."""

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

from wfc.author.answers import Answers, NoAnswerError, Questions, check_scripts, misfit
from wfc.author.driver import Asked, Worker, drive
from wfc.author.files import Reader
from wfc.author.testing import Case, Mismatch, TestFile, Trace, compare, read_tests
from wfc.checker import check_file, has_errors
from wfc.cli.run.sources import SourceRegistry, called_by
from wfc.cli.shared.workflow import with_called
from wfc.config import load_config, real
from wfc.findings import Diagnostic
from wfc.suggest import did_you_mean
from wfc.workspace.files import ENDINGS, as_typed, refuse_unread, select
from wfc.workspace.loading import load_project
from wfc_runtime.errors import RefusedError, WfcError
from wfc_runtime.machine.values import Limits
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wfc.project import SourceFile
    from wfc_runtime.registry import Module

TEST_ENDINGS = tuple(f".test{ending}" for ending in ENDINGS)


def find_test_files(paths: tuple[str, ...]) -> list[Path]:
    """The test files of some files and folders; without any, those of the project."""
    if not paths:
        folder = as_typed(load_config(Path(".")).workflows_dir)
        if not folder.is_dir():
            raise click.UsageError(f"there is no folder `{folder}`; name test files or folders")
        return _in_folder(folder)
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        for file in _named(path):
            found.setdefault(real(file), file)
    return list(found.values())


def _named(path: Path) -> list[Path]:
    if path.is_dir():
        return _in_folder(path)
    if not path.exists():
        raise click.UsageError(f"there is no file or folder `{path}`")
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
        found += [Path(place, name) for name in names if name.endswith(TEST_ENDINGS) and name[0] != "."]
    return sorted(found)


def tested_file(path: Path, named: str | None) -> Path:
    """The workflow file that a test file is about."""
    if named is not None:
        return path.parent / named
    stem = next(path.name.removesuffix(ending) for ending in TEST_ENDINGS if path.name.endswith(ending))
    beside = [path.with_name(stem + ending) for ending in ENDINGS]
    return next((one for one in beside if one.is_file()), beside[0])


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
    """Mistakes in the test file, or errors of the workflow: then nothing was run."""
    cases: list[CaseReport] = field(default_factory=list)
    trace: Trace = field(default_factory=Trace)


class _EndedError(Exception):
    """A case that can't go on."""

    def __init__(self, mismatch: Mismatch) -> None:
        super().__init__(mismatch.message)
        self.mismatch = mismatch


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class _Rehearsal(Worker):
    """Answers as the case says, and remembers what was asked."""

    actor = "wfc test"

    def __init__(self, case: Case, clock: _Clock) -> None:
        self.answers = Answers(case.scripts)
        self.asked: list[Asked] = []
        self._case = case
        self._clock = clock

    def answer(self, asked: Asked) -> Any:
        self.asked.append(asked)
        if len(self.asked) > _MOST_ACTIONS:
            raise self._failed(f"the run asks for more than {_MOST_ACTIONS:,} results")
        try:
            found = self.answers.take(asked.scope, asked.step_id, asked.kind, asked.schema)
        except NoAnswerError as error:
            raise _EndedError(Mismatch(error.span or self._case.span, str(error), has_values=False)) from None
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
        """What a run comes through is watched at the service."""

    def ahead(self, pending: list[Asked]) -> None:
        """Answers are there at once: nothing is to be begun early."""

    def busy(self, doing: list[dict[str, Any]]) -> None:
        """Nothing does anything by itself here."""

    def wait(self, asked: Asked | None, seconds: float) -> None:
        # The next whole second: `resume_at` and what is left of it are rounded up.
        self._clock.now += max(seconds, 1)


def run_file(path: Path, wanted: Callable[[str, str], bool]) -> FileReport:
    """The cases of a file whose workflow and name are wanted."""
    report = FileReport(str(path))
    reader = Reader(str(path), path.read_bytes(), load_config(path.parent).limits)
    file = read_tests(reader)
    source_file = None if reader.found else _file(path, file, reader)
    report.problems = reader.found
    if source_file is None:
        return report
    report.workflow = str(source_file.name)
    files = with_called(source_file)
    findings = [one for source_file in files for one in check_file(source_file)]
    if has_errors(findings):
        report.problems = findings
        return report
    registry = SourceRegistry(source_file.config)
    registry.prefer(files)
    module = registry.find(report.workflow)
    report.problems = _mistakes(file, reader, registry, module)
    cases = [] if report.problems else [case for case in file.cases if wanted(report.workflow, case.name)]
    if cases:
        with _stage(registry, source_file) as (service, clock):
            service.watch = report.trace.watch
            report.cases = [_run(case, service, module, clock) for case in cases]
    return report


def _file(path: Path, file: TestFile, reader: Reader) -> SourceFile | None:
    """The workflow that the file is about."""
    named = file.workflow
    target = tested_file(path, named.value if named else None)
    span = named.span if named else reader.start
    if not target.is_file():
        beside = [one.name for one in target.parent.glob("*.y*ml") if ".test." not in one.name]
        hint = did_you_mean(target.name, beside) or "name it with `workflow:`, relative to the test file"
        reader.wrong(span, f"there is no workflow `{target}`", hint)
        return None
    [source_file] = load_project(select((str(target),)))[1].values()
    if source_file.name is None and not has_errors(check_file(source_file)):
        reader.wrong(span, f"`{target}` holds no workflow")
        return None
    return source_file


def _mistakes(file: TestFile, reader: Reader, registry: SourceRegistry, module: Module) -> list[Diagnostic]:
    """What is wrong in the test file, seen from the workflow."""
    questions = Questions.of(called_by(module, registry))
    steps = {step for _, step in questions.asks} | {f"{scope}/{step}" for scope, step in questions.asks}
    fields = set(module.workflow.machine.fields.model_fields)
    aliases = {field.alias for field in module.workflow.machine.fields.model_fields.values() if field.alias}
    found: dict[Any, Diagnostic] = {}
    for case in file.cases:
        for one in check_scripts(case.scripts, questions):
            found.setdefault(one.sort_key, one)
        expect = case.expect
        named = [(step, expect.spans[step]) for step in expect.by_step]
        named += [(action.step, action.span) for action in expect.in_order or ()]
        for step, span in named:
            if step.partition("@")[0] not in steps:
                reader.wrong(
                    span, f"there is no step `{step}` that asks for anything", did_you_mean(step, steps)
                )
        for name, wanted in expect.state.items():
            if name not in fields | aliases:
                reader.wrong(
                    wanted.span, f"the state has no field `{name}`", did_you_mean(name, fields | aliases)
                )
    return [*found.values(), *reader.found]


@contextmanager
def _stage(registry: SourceRegistry, file: SourceFile) -> Iterator[tuple[SqliteService, _Clock]]:
    clock, count = _Clock(), iter(range(1, 10**9))
    limits = Limits.of(file.config.run_limits)
    with tempfile.TemporaryDirectory(prefix="wfc-test-") as folder:
        store = Store(Path(folder) / "state.db", durable=False)
        # Ids of their own kind, the same each time: uuid() and the ids of children are made from them.
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
