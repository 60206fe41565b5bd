"""What exploring a workflow found, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from wfc.author.explore.explorer import Problem, Report
from wfc.render.style import Style

_WORDS = {
    "expression": "an expression fails",
    "endless": "a run does not end by itself",
    "items": "an item does not fit",
    "schema": "no result fits",
    "unreachable": "a branch can't be reached",
}


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
        yield "  answers that show it:"
        yield from (f"    {line}" for line in problem.case.text().splitlines())
    else:
        yield f"  {problem.name}.yaml"


def _coverage(report: Report) -> Iterator[str]:
    unreachable = sum(problem.kind == "unreachable" for problem in report.problems)
    possible = report.branches - unreachable
    for one in report.unreached:
        yield f"{one.place}: not reached in {report.runs} runs: step {one.step} of {one.scope}, {one.kind}"
    number = len(report.problems)
    problems = f"{number} problem{'s' if number != 1 else ''}" if number else "no problem"
    share = f"{report.reached} of {possible} branches reached"
    yield f"{report.workflow}: {problems}, {share}, {report.runs} runs with seed {report.seed}"
    if report.is_cut:
        yield (
            f"the time was up after {report.runs} of {report.wanted} runs: another time there may be more; "
            "--seconds gives it longer"
        )
