"""A budget of steps is smaller than what every run needs.

`budget.steps` counts the answered actions of a run, without prompts and waits. If even the shortest path through the
workflow needs more, every run stops and asks a person for more. `wfc plan` shows how many actions a run asks for.

Bad:

```yaml
budget: {steps: 1}
steps:
  - {id: review, type: delegate, instructions: Review the changes on this branch.}
  - {id: test, type: delegate, instructions: Run the tests.}
```

Good:

```yaml
budget: {steps: 10}
steps:
  - {id: review, type: delegate, instructions: Review the changes on this branch.}
  - {id: test, type: delegate, instructions: Run the tests.}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

from wfc.ir import Chart, Module, Region, State
from wfc.language.shape import Budget
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF603", "budget-too-small")
def check(file: SourceFile) -> Iterator[Finding]:
    if file.workflow is None or file.module is None:
        return
    # The least number of actions is computed only where there is a budget to compare it with.
    if file.workflow.budget is not None:
        yield from _finding(file.workflow.budget, _least_of(file.module.main, file.module), "a run")
    for scope, chart in zip(file.scopes, file.module.charts, strict=False):
        limited = [step for step in scope.walk() if isinstance(step.values.get("budget"), Budget)]
        states = chart.states() if limited else ()
        spawns = {state.step.name: state for state in states if state.step is not None and state.effect}
        for step in limited:
            state = spawns.get(step.name)
            if state is not None:
                least = _weight(state, file.module)
                yield from _finding(step.values["budget"], least, file.language.call(step), step.name)


def _finding(budget: Budget, least: int, what: str, step: str = "") -> Iterator[Finding]:
    most = budget.setting("steps") if "steps" in budget.values else None
    if isinstance(most, int) and most < least:
        yield Finding(
            budget.steps.span if budget.steps else budget.span,
            f"budget of {most} steps is used up in every run: {what} needs at least {least} actions",
            help=f"raise it to {least} or more",
            step=step,
        )


def _least_of(chart: Chart | None, module: Module, within: tuple[str, ...] = ()) -> int:
    return _least(chart.root, module, within) if chart is not None else 0


def _least(region: Region, module: Module, within: tuple[str, ...]) -> int:
    """The actions on the cheapest path from the beginning of a region to its end; 0 if there is none."""
    states = {state.id: state for state in region.states}
    leaving: dict[str, list[str]] = {}
    for edge in region.edges:
        if edge.event != "retry":
            leaving.setdefault(edge.source, []).append(edge.target)
    # Dijkstra's algorithm: the first end taken from the queue is the cheapest one.
    queue, done = [(0, region.initial)], set[str]()
    while queue:
        cost, name = heappop(queue)
        if name not in states:
            # The end of the region, or a jump out of it.
            return cost
        if name not in done:
            done.add(name)
            after = cost + _weight(states[name], module, within)
            for target in leaving.get(name, ()):
                heappush(queue, (after, target))
    return 0


def _can_leave(region: Region) -> bool:
    inside = {state.id for inner in region.regions() for state in inner.states}
    ends = {inner.end for inner in region.regions()}
    edges = [edge for inner in region.regions() for edge in inner.edges]
    effects = [state.effect.name for state in region.walk() if state.effect is not None]
    return not {"Return", "Fail"}.isdisjoint(effects) or any(
        edge.target not in inside | ends for edge in edges
    )


def _weight(state: State, module: Module, within: tuple[str, ...] = ()) -> int:
    """The least number of actions of one visit, inside these tasks."""
    if state.regions:
        # A branch that returns, fails or jumps out ends the others.
        can_leave = any(_can_leave(region) for region in state.regions)
        return (min if can_leave else sum)([_least(region, module, within) for region in state.regions])
    effect = state.effect
    arguments = effect.arguments if effect is not None else {}
    if effect is not None and effect.name == "Ask":
        return int(arguments.get("kind") not in ("prompt", "wait"))
    items = arguments.get("items")
    if effect is not None and effect.name == "Spawn" and isinstance(items, list):
        # The first child that succeeds is enough.
        needed = min(1, len(items)) if arguments.get("join") == "any" else len(items)
        if str(arguments.get("agent") or "@task") != "@task":
            return needed
        task = str(arguments.get("task"))
        if task in within:
            # Tasks that run each other recursively never end; WF409 reports them.
            return 0
        return needed * _least_of(module.tasks.get(task), module, (*within, task))
    return 0
