"""Explore a workflow: set up, search, shrink, report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

from wfc.core.inputs import InputDecl
from wfc.diff.plain import to_plain
from wfc.explore.attempts import Inputs, Makers
from wfc.explore.branches import Branch
from wfc.explore.hints import Pool
from wfc.explore.report import Problem, Report, Unreached
from wfc.explore.scopes import World
from wfc.explore.search import Search
from wfc.explore.shrink import smallest_case
from wfc_runtime.machine.limits import Limits
from wfc_runtime.machine.structure import structure_of
from wfc_runtime.plan.counting import Counter
from wfc_runtime.registry import Module

_ITEMS = 20
"""More than lists that are made up ever have."""
_FEWEST_EVENTS, _MOST_EVENTS = 300, 60_000


def _silent(done: int, reached: int, problems: int) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True)
class Budget:
    runs: int = 1000
    seconds: float = 60.0
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    progress: Callable[[int, int, int], None] = _silent
    """Told the runs so far, the branches reached and the problems found."""


def explore(
    modules: Mapping[str, Module],
    name: str,
    inputs: Mapping[str, InputDecl],
    budget: Budget,
    given: Mapping[str, Any] | None = None,
) -> Report:
    """Explore one of some workflows; the others are those that it calls. `given`: inputs that stay as they are."""
    began = time.monotonic()
    search = make_search(modules, name, inputs, budget, given)
    search.go()
    report = Report(name, budget.seed, search.done, budget.runs)
    _count_branches(search, report)
    report.problems += [*_failures(search), *_misfits(search)]
    report.problems.sort(key=lambda problem: _order(problem.place))
    report.seconds = time.monotonic() - began
    return report


def make_search(
    modules: Mapping[str, Module],
    name: str,
    inputs: Mapping[str, InputDecl],
    budget: Budget,
    given: Mapping[str, Any] | None = None,
) -> Search:
    schema = input_schema(inputs)
    defaults = {name: one["default"] for name, one in schema["properties"].items() if "default" in one}
    world = World(modules, name, {**defaults, **(given or {})})
    pool = Pool(world)
    return Search(
        world,
        Makers(world, pool),
        Inputs(schema, given or {}, pool, name),
        budget.limits,
        budget.runs,
        time.monotonic() + budget.seconds,
        budget.seed,
        _most_events(modules, name),
        budget.progress,
    )


def _order(place: str) -> tuple[str, int]:
    path, _, line = place.rpartition(":")
    return (path, int(line)) if line.isdecimal() else (place, 0)


def _most_events(modules: Mapping[str, Module], name: str) -> int:
    """Past this a run counts as endless: well above what any run can ask for, where that has a limit."""
    workflows = {key: module.workflow for key, module in modules.items()}
    count = Counter(workflows[name], workflows.get).main()
    if count.most == inf:
        return _FEWEST_EVENTS
    most = count.most + sum(one.most for one in count.per_item if one.most < inf) * _ITEMS
    return int(min(max(4 * most, _FEWEST_EVENTS), _MOST_EVENTS))


def input_schema(inputs: Mapping[str, InputDecl]) -> dict[str, Any]:
    """Declared inputs as JSON Schema."""
    return {
        "type": "object",
        "properties": {name: _declared(decl) for name, decl in inputs.items()},
        "required": [name for name, decl in inputs.items() if decl.is_required],
    }


_RULES = {
    "pattern": "pattern",
    "min_length": "minLength",
    "max_length": "maxLength",
    "enum": "enum",
    "min": "minimum",
    "max": "maximum",
    "min_items": "minItems",
    "max_items": "maxItems",
    "required_keys": "required",
}


def _declared(decl: InputDecl) -> dict[str, Any]:
    found: dict[str, Any] = {"type": decl.kind} if decl.kind != "any" else {}
    for rule, keyword in _RULES.items():
        value = to_plain(decl.rule(rule))
        if value is not None:
            found[keyword] = value
    if decl.rule("item_type"):
        found["items"] = {"type": decl.rule_value("item_type")}
    properties = decl.rule("properties")
    if properties:
        found["properties"] = {name: _declared(inner) for name, inner in properties.items()}
    if "default" in decl.values:
        found["default"] = to_plain(decl.values["default"])
    return found


# -- what came of it -----------------------------------------------------------


def _count_branches(search: Search, report: Report) -> None:
    for branch in search.branches:
        report.branches += 1
        if search.is_reached(branch):
            report.reached += 1
        elif branch.is_possible:
            report.unreached.append(
                Unreached(branch.scope.name, branch.step, branch.kind, _place_of_branch(search, branch))
            )
        else:
            message = f"nothing can lead to this branch ({branch.kind})"
            place = _place_of_branch(search, branch)
            report.problems.append(
                Problem("unreachable", branch.scope.name, branch.step, place, message, name=branch.step)
            )


def _failures(search: Search) -> Iterator[Problem]:
    for number, (which, trace) in enumerate(search.findings.problems().items(), 1):
        kind, scope, state, _ = which
        known = search.world.scopes.get(scope)
        node = structure_of(known.machine).nodes.get(state) if known is not None else None
        step = node.name if node is not None else state
        yield Problem(
            kind,
            scope,
            step,
            _place(search, scope, state),
            search.findings.messages[which],
            smallest_case(search, which, trace),
            f"{number:02}-{kind}-{step}",
            goes_on=trace.status == "running",
        )


def _misfits(search: Search) -> Iterator[Problem]:
    for (scope, step), question in search.unfit.items():
        message = "no result was found that fits its result_schema"
        yield Problem(
            "schema", scope, step, _place(search, scope, question.state), message, name=f"schema-{step}"
        )


def _place_of_branch(search: Search, branch: Branch) -> str:
    return _place(search, branch.scope.name, branch.edge.source.id)


def _place(search: Search, scope: str, state: str) -> str:
    for module in search.world.modules.values():
        if scope == module.workflow.name or scope in module.workflow.tasks:
            return module.place_of(scope, state)
    return ""
