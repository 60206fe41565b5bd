"""`wfc explore`."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wfc.cli.shared.names import FILES, WORKFLOWS
from wfc.cli.shared.output import no_progress_option, progress, say, to_json, write_out
from wfc.cli.shared.workflow import (
    compile_in_memory,
    find_workflow,
    missing_calls,
    print_errors,
    written_condition,
)
from wfc.config import load_config
from wfc.render.style import printable

if TYPE_CHECKING:
    from wfc.author.explore.explorer import Problem, Report, Seed
    from wfc.project import SourceFile
    from wfc.render.style import Style
    from wfc_runtime.machine.chart import Workflow

_WHY = {
    "not come to": "no run reached it",
    "not decided by answers": "its condition depends on no answer or input",
    "never true": "its condition was never true",
    "never false": "its condition was never false",
    "did not fail": "its step did not fail",
    "not used up": "its jumps were not used up",
}
_SHOWN = 100
"""Characters of a condition."""
_WORDS = {
    "expression": "an expression fails",
    "endless": "a run does not end",
    "items": "an item does not fit",
    "schema": "no result fits",
    "unreachable": "a branch can't be reached",
}


@click.command("explore")
@click.argument("workflow", shell_complete=WORKFLOWS)
@click.option("--input", "-i", "pairs", multiple=True, metavar="NAME=VALUE", help="Fixed value of an input.")
@click.option(
    "--answers",
    "answer_files",
    multiple=True,
    metavar="FILE",
    shell_complete=FILES,
    help="Answers file to try first and to vary. May be repeated.",
)
@click.option(
    "--runs", type=click.IntRange(1), default=1000, show_default=True, help="Maximum number of runs."
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    help="Time limit.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Random seed; the same seed gives the same runs."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write an answers file per problem and a test file to this folder, which must be empty or new.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@no_progress_option
def command(
    workflow: str,
    pairs: tuple[str, ...],
    answer_files: tuple[str, ...],
    runs: int,
    seconds: float,
    seed: int,
    out: Path | None,
    as_json: bool,
    no_progress: bool,
) -> int:
    """Drive every branch of a workflow with generated results and report what can fail.

    WORKFLOW is the name of a workflow of the project, or a file. Results are generated from the result schemas: first
    those that take a branch, then boundary values, then random ones. The tests beside the workflow and the files of
    --answers are tried first, and varied. Nothing is executed, asked or stored, and time is simulated.

    Problems are expressions that can fail, runs that do not end, items that do not fit their task, result schemas that
    no value satisfies, and unreachable branches; failures that on_error handles are not reported. For each problem, wfc
    prints the smallest answers that reproduce it: `wfc run --answers` replays them, and --out writes them as tests for
    `wfc test`. Branches that no run reached are listed with the reason. Exits with 1 if there is a problem.
    """
    file = find_workflow(workflow)
    files = file.project.with_called(file)
    if print_errors(files) or file.name is None or file.workflow is None:
        return 1
    # A call without a workflow could return anything.
    if missing := missing_calls(files):
        names = ", ".join(f"`{name}`" for name in missing)
        click.echo(f"{workflow} calls {names}: no such workflow, so its results are unknown", err=True)
        return 1
    # Files of an earlier exploration would be mistaken for results of this one.
    if out is not None and out.is_dir() and any(out.iterdir()):
        raise click.UsageError(f"`{out}` is not empty; name a new folder")
    from wfc.author.explore import Budget, NoInputsError, explore
    from wfc.cli.run.inputs import given_inputs
    from wfc_runtime.machine.values import Limits

    limits = Limits.of(file.config.run_limits)
    modules = compile_in_memory(files)
    given = given_inputs(modules[file.name].workflow, pairs, None, {})
    workflows = [module.workflow for module in modules.values()]
    # Scripts of people first: they reach deep into a workflow more quickly than generated values.
    seeds = [*_answers(answer_files, workflows), *_tests(Path(file.source.path))]
    try:
        with progress("exploring", not no_progress) as show:

            def tell(done: int, reached: int, problems: int) -> None:
                show(done, runs, f", {reached} branches reached, {problems} suspicious")

            budget = Budget(runs, seconds, seed, limits, tell)
            report = explore(modules, file.name, file.workflow.declared_inputs, budget, given, seeds)
    except NoInputsError as error:
        raise click.UsageError(f"no run can be started: {error}; give fitting values with --input") from error
    _use_written_conditions(report, files)
    if out is not None:
        _write(report, out, Path(file.source.path))
    _print(report, out, as_json)
    return 1 if report.problems else 0


def _answers(paths: tuple[str, ...], workflows: list[Workflow]) -> Iterator[Seed]:
    """The answers files that were named. A mistake in one ends the command."""
    from wfc.author.answers import questions_of, read_answers
    from wfc.author.explore import Seed
    from wfc.cli.run.inputs import read_input_file, refuse_findings
    from wfc.testfiles.questions import check_scripts
    from wfc.testfiles.reader import to_diagnostic

    for path in paths:
        found = read_answers(path, read_input_file(path))
        reports = check_scripts(found.scripts, questions_of(workflows))
        refuse_findings(found.problems or [to_diagnostic(report) for report in reports])
        yield Seed(found.inputs, found.scripts)


def _tests(workflow: Path) -> Iterator[Seed]:
    """The cases of the test files beside a workflow. Those that can't be read are left to `wfc check`."""
    from wfc.author.explore import Seed
    from wfc.cli.test_runner import tests_of
    from wfc.workspace.files import Selection
    from wfc.workspace.loading import load_project

    for path in tests_of(workflow):
        tests = load_project(Selection.of_file(load_config(path.parent), path))[1][path].tests
        for case in tests.cases if tests is not None else ():
            yield Seed(case.inputs, case.scripts)


def _use_written_conditions(report: Report, files: list[SourceFile]) -> None:
    """A condition of blocks is shown as the file has it."""
    graphs = {file.name: file.parsed.graph for file in files if file.parsed and file.parsed.graph}
    for number, one in enumerate(report.unreached):
        vertex = graphs.get(one.scope, {}).get(one.step)
        if one.condition and vertex is not None:
            report.unreached[number] = replace(one, condition=written_condition(vertex))


def _print(report: Report, out: Path | None, as_json: bool) -> None:
    if as_json:
        say(to_json(report.to_data()))
        return
    from wfc.render.style import style_for

    write_out(render_report(report, style_for(sys.stdout), with_answers=out is None))
    if out is not None and any(problem.case for problem in report.problems):
        say(f"answers are in {out}")


def _write(report: Report, folder: Path, source: Path) -> None:
    """Write an answers file for each problem, and all problems as tests, which fail until the workflow is fixed."""
    from wfc.author.answers import write_tests

    cases = [(problem, problem.case) for problem in report.problems if problem.case is not None]
    # The other problems are reproduced by running to the end.
    # A test of a run that never ends would never end either.
    tests = [
        (f"{problem.step}: {problem.message}", case.inputs, case.by_key())
        for problem, case in cases
        if not problem.goes_on
    ]
    try:
        if cases:
            folder.mkdir(parents=True, exist_ok=True)
        for problem, case in cases:
            (folder / f"{problem.name}.yaml").write_text(case.text(), encoding="utf-8")
        if tests:
            workflow = os.path.relpath(source, folder)
            text = write_tests(Path(workflow).as_posix(), tests)
            (folder / f"{report.workflow}.test.yaml").write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"can't write `{error.filename or folder}`: {error.strerror}") from error


def render_report(report: Report, style: Style, *, with_answers: bool = True) -> str:
    lines: list[str] = []
    for problem in report.problems:
        lines += [*_problem(problem, style, with_answers), ""]
    lines += _coverage(report)
    return "\n".join(lines) + "\n"


def _problem(problem: Problem, style: Style, with_answers: bool) -> Iterator[str]:
    title = style.paint(_WORDS[problem.kind], "red", "bold")
    yield f"{problem.place}: {title}: step {problem.step} of {problem.scope}"
    yield f"  {problem.message}"
    if problem.case is None:
        return
    if with_answers:
        yield "  answers that reproduce it:"
        yield from (f"    {line}" for line in problem.case.text().splitlines())
    else:
        yield f"  {problem.name}.yaml"


def _coverage(report: Report) -> Iterator[str]:
    # Branches that no run can take don't count as missed.
    unreachable = sum(problem.kind == "unreachable" for problem in report.problems)
    possible = report.branches - unreachable
    for one in report.unreached:
        why = _WHY[one.why] + (f": {_line(one.condition)}" if one.condition else "")
        yield f"{one.place}: not reached in {report.runs} runs: step {one.step} of {one.scope}, {one.kind}: {why}"
    number = len(report.problems)
    problems = f"{number} problem{'s' if number != 1 else ''}" if number else "no problem"
    share = f"{report.reached} of {possible} branches reached{_missing(report)}"
    yield f"{report.workflow}: {problems}, {share}, {report.runs} runs with seed {report.seed}"
    if report.is_cut:
        yield (
            f"stopped at the time limit after {report.runs} of {report.wanted} runs, so results may differ; "
            "raise it with --seconds"
        )


def _missing(report: Report) -> str:
    """How many branches were not reached, by reason."""
    counts = Counter(one.why for one in report.unreached)
    reasons = [f"{counts[why]} because {words}" for why, words in _WHY.items() if counts[why]]
    return f" ({len(report.unreached)} not: {', '.join(reasons)})" if reasons else ""


def _line(text: str) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
