"""A run waits in a step that this version of the workflow no longer has.

A run continues with the version that it was started with, so nothing breaks at once. But it can't be moved to this
version, and if the old module is lost, the run can't continue at all. Let such runs end, or cancel them, before you
remove the step. The check reads the project's store of runs, if there is one.

Bad: the step `approve` is renamed to `sign-off` while a run waits in it.

Good: the run has ended, or `approve` keeps its id.
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.control_flow import is_waiting
from wfc.findings import Severity
from wfc.language.ast import Scope
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.suggest import nearest
from wfc.yaml import Span


@rule("WF703", "breaks-running-instances", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    if file.workflow is None or file.name is None:
        return
    gone: dict[tuple[str | None, str], list[str]] = {}
    for waiting in file.project.waiting(file.name):
        known = _waiting_steps(file, waiting.task)
        for step in waiting.steps:
            if step not in known and not (waiting.is_brief and known):
                gone.setdefault((waiting.task, step), []).append(waiting.run)
    for (task, step), runs in gone.items():
        yield _finding(file, task, step, runs)


def _waiting_steps(file: SourceFile, task: str | None) -> set[str]:
    """The steps that a run can wait in."""
    assert file.module is not None
    chart = file.module.main if task is None else file.module.tasks.get(task)
    return {state.title for state in chart.states() if is_waiting(state)} if chart else set()


def _finding(file: SourceFile, task: str | None, step: str, runs: list[str]) -> Finding:
    scope = _scope(file, task)
    who = f"run `{runs[0]}` waits" if len(runs) == 1 else f"run `{runs[0]}` and {len(runs) - 1} more wait"
    names = [one.name for one in scope.walk()] if scope else []
    near = nearest(step, names) if step not in names else None
    what = "which no longer exists" if step not in names else "which no longer waits"
    return Finding(
        _place(file, scope),
        f"{who} in step `{step}`, {what}",
        help=(f"if `{near}` is the same step, keep its old id; otherwise " if near else "")
        + f"let it end, or `wfc runs cancel {runs[0]}`",
    )


def _scope(file: SourceFile, task: str | None) -> Scope | None:
    assert file.workflow is not None
    return file.workflow if task is None else file.workflow.declared_tasks.get(task)


def _place(file: SourceFile, scope: Scope | None) -> Span:
    """The list of steps that no longer has it."""
    assert file.workflow is not None
    return (scope or file.workflow).key_span("steps")
