"""The file is larger, or more deeply nested, than wfc allows.

A workflow has at most 1,000 steps, including those of its tasks, and its conditions, loops and parallel branches are
nested at most five levels deep: a larger workflow is hard to review, and its machine gets slow. Runs are also nested
at most five levels deep, by calls and by the tasks of foreach steps, or as deep as the `max_depth` of a call allows. A
workflow or task has at most 2,000 inputs and state fields. A file has at most 1 MiB and 100,000 values (an alias
counts as the values that it stands for), nested at most 64 levels deep. Each limit can be set in pyproject.toml, under
[tool.wfc.limits]: `steps`, `fields`, `nesting`, `call_depth`, `source_bytes`, `yaml_nodes`, `yaml_depth`. A run has at
most 50 pending actions, so more parallel branches can't start at the same time; that limit is `pending_actions`, under
[tool.wfc.run_limits]. In a language without limits of its own, steps that are nested too deeply are only a warning.

Bad: six conditions, each in the `then` of the one before.

```yaml
- {id: c1, type: condition, if: "{{ inputs.a }}", then: [
    {id: c2, type: condition, if: "{{ inputs.b }}", then: [
      {id: c3, type: condition, if: "{{ inputs.c }}", then: [
        {id: c4, type: condition, if: "{{ inputs.d }}", then: [
          {id: c5, type: condition, if: "{{ inputs.e }}", then: [
            {id: c6, type: condition, if: "{{ inputs.f }}", then: [
              {id: ship, type: shell, command: make ship}]}]}]}]}]}]}
```

Good: one condition that combines the six.

```yaml
- id: c1
  type: condition
  if: "{{ inputs.a and inputs.b and inputs.c and inputs.d and inputs.e and inputs.f }}"
  then:
    - {id: ship, type: shell, command: make ship}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.call_graph import Descent, nesting_of
from wfc.analysis.control_flow import is_waiting
from wfc.config import AT_ONCE
from wfc.findings import Note, Severity
from wfc.ir import State
from wfc.language.ast import Scope
from wfc.language.steps.base import Step
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.yaml import Problem

_SHOWN = 8


@rule("WF010", "limit-exceeded")
def check(file: SourceFile) -> Iterator[Finding]:
    for problem in file.problems:
        if problem.kind == "limit":
            yield _of_reader(problem)
    yield from _too_many_steps(file)
    for scope in file.scopes:
        yield from _too_many_fields(scope, file.limits.fields)
        yield from _too_deep(scope.block, file.limits.nesting, file.language.deep_nesting)
    yield from _runs_too_deep(file)
    yield from _too_many_at_once(file)


def _of_reader(problem: Problem) -> Finding:
    parts = [problem.help, _raise(problem.setting) if problem.setting else ""]
    notes = tuple(Note(text, span) for span, text in problem.related)
    return Finding(problem.span, problem.message, help=", or ".join(filter(None, parts)), notes=notes)


def _too_many_steps(file: SourceFile) -> Iterator[Finding]:
    count, limit = len(file.steps), file.limits.steps
    if count > limit:
        yield Finding(
            file.steps[limit].span,
            f"the workflow has {count:,} steps, including those of its tasks; at most {limit:,} are allowed",
            help=f"move some to their own workflow and `call` it, or {_raise('steps')}",
            notes=(Note(f"this is step number {limit + 1:,}"),),
            step=file.steps[limit].name,
        )


def _too_many_fields(scope: Scope, limit: int) -> Iterator[Finding]:
    fields = {*(scope.initial_state or ()), *(one.field for one in scope.computed)}
    fields |= {name for step in scope.walk() for name in step.writes()}
    count = len(scope.declared_inputs) + len(fields)
    if count > limit:
        yield Finding(
            scope.key_span("steps"),
            f"{scope.known_as} has {count:,} inputs and state fields; at most {limit:,} are allowed",
            help=f"combine related fields in one object or list, or {_raise('fields')}",
        )


def _too_deep(block: list[Step], limit: int, severity: Severity) -> Iterator[Finding]:
    pending = [(step, 1) for step in reversed(block)]
    while pending:
        step, depth = pending.pop()
        inner = [nested for steps in step.blocks() for nested in steps]
        # One finding for each place where the nesting becomes too deep: the steps inside are only measured.
        if depth > limit and inner:
            yield _deep(step, depth + _height(inner), limit, severity)
        else:
            pending += [(nested, depth + 1) for nested in reversed(inner)]


def _deep(step: Step, depth: int, limit: int, severity: Severity) -> Finding:
    return Finding(
        step.span,
        f"conditions, loops and parallel branches are nested {depth} levels deep; at most {limit} are allowed",
        help=f"join conditions with `and`, move the inner steps to their own workflow and `call` it, or "
        f"{_raise('nesting')}",
        severity=severity,
        step=step.name,
    )


def _height(steps: list[Step]) -> int:
    """The number of further levels of steps that contain other steps."""
    height = 0
    while steps := [nested for step in steps for block in step.blocks() for nested in block]:
        height += 1
    return height


def _runs_too_deep(file: SourceFile) -> Iterator[Finding]:
    if file.workflow is None or not any(step.child() for step in file.workflow.walk()):
        return
    runs = nesting_of(file.project)
    for descent in runs.descents(file.workflow):
        # The depth alone is cheap. The path is needed for the message, and for the `max_depth` of its calls.
        if runs.depth(descent) <= file.limits.call_depth:
            continue
        way = runs.way_down(descent)
        # A call may go as deep as its own `max_depth` allows.
        limit = max(file.limits.call_depth, *(one.child.max_depth for one in way))
        if len(way) > limit:
            yield _runs_deep(way, limit)


def _runs_deep(way: list[Descent], limit: int) -> Finding:
    names = [way[0].outer, *(one.inner for one in way)]
    shown = [*names[: _SHOWN - 2], "...", names[-1]] if len(names) > _SHOWN else names
    notes = (
        Note(f"`{one.outer}` {'runs' if one.child.is_task else 'calls'} `{one.inner}`", one.span)
        for one in way[1:_SHOWN]
    )
    return Finding(
        way[0].span,
        f"runs started here are nested {len(way)} levels deep; at most {limit} are allowed: {' -> '.join(shown)}",
        help=f"run some of them in sequence instead, or {_raise('call_depth')}",
        notes=tuple(notes),
        step=way[0].child.step.name,
    )


def _too_many_at_once(file: SourceFile) -> Iterator[Finding]:
    if file.is_hopeless or not any(step.concurrent() for step in file.steps):
        return
    limit = file.config.run_limits.get("pending_actions", AT_ONCE)
    for chart in file.module.charts if file.module else ():
        for state in chart.states():
            count = _asked_at_once(state)
            if state.step is not None and count > limit:
                yield Finding(
                    state.step.span,
                    f"the branches begin with {count:,} actions at once, and a run may have {limit:,} at most",
                    help=f"put some branches into a second parallel step after this one, use a foreach, or "
                    f"{_raise('pending_actions', 'run_limits')}",
                    step=state.step.name,
                )


def _asked_at_once(state: State) -> int:
    """The actions that a state requests as soon as it is entered."""
    if state.regions:
        by_id = {inner.id: inner for region in state.regions for inner in region.states}
        return sum(
            _asked_at_once(by_id[region.initial]) for region in state.regions if region.initial in by_id
        )
    return int(is_waiting(state))


def _raise(setting: str, table: str = "limits") -> str:
    return f"raise `{setting}` in [tool.wfc.{table}] of pyproject.toml"
