"""Which steps and branches of a workflow some runs have come through.

A branch is a way out of a state that has several: the sides of a condition, a `when` that holds or skips its step,
another turn of a loop or its end, and the ways that `retry` and `on_error` open where a step can be told to fail. Not
counted: that a `when` itself fails, and the inside of tasks that only named agents work, who get them as one brief.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from wfc.ir import FINISHED, Chart, Edge, Module, State

Hit = tuple[str, str | None, str]
"""Workflow, task, state."""
Taken = tuple[str, str | None, str, str, str | None]
"""Workflow, task, source, target, event."""


@dataclass
class Trace:
    """What runs have come through."""

    entered: set[Hit] = field(default_factory=set)
    taken: set[Taken] = field(default_factory=set)

    def watch(self, row: Any, outcome: Any) -> None:
        """As `SqliteService.watch` calls it."""
        if row.task is not None and row.agent is not None and row.agent != "@task":
            return
        self.entered.update((row.workflow, row.task, state) for state in outcome.entered)
        self.taken.update(
            (row.workflow, row.task, edge.source.id, edge.target.id, _event_of(edge))
            for edge in outcome.taken
        )

    def add(self, other: Trace) -> None:
        self.entered |= other.entered
        self.taken |= other.taken


def _event_of(edge: Any) -> str | None:
    """The event that an edge of a machine waits for."""
    return next((event for event, edges in edge.source.on.items() if edge in edges), None)


@dataclass(frozen=True)
class Missing:
    line: int
    text: str


@dataclass(frozen=True)
class Coverage:
    workflow: str
    path: str
    steps: int
    steps_covered: int
    branches: int
    branches_covered: int
    missing: tuple[Missing, ...]

    @property
    def percent(self) -> float:
        total = self.steps + self.branches
        return 100 * (self.steps_covered + self.branches_covered) / total if total else 100.0


def measure(module: Module, path: str, trace: Trace) -> Coverage:
    counts = {"steps": [0, 0], "branches": [0, 0]}
    missing: list[Missing] = []
    for task, chart in _counted(module):
        states = {state.id: state for state in chart.states()}
        known = {
            state for workflow, where, state in trace.entered if (workflow, where) == (module.name, task)
        }
        taken = {edge[2:] for edge in trace.taken if edge[:2] == (module.name, task)}
        known |= {target for _, target, _ in taken}
        # Frames around other states are not reported as entered; those at the very beginning no edge leads to.
        known |= {chart.root.initial} if known else set()
        for state in states.values():
            if state.step is not None and state.kind == state.step.kind:
                _count(counts["steps"], state.id in known, missing, state.line, f"step `{state.title}`")
        for edge in _branches(chart, states):
            hit = (edge.source, edge.target, edge.event) in taken
            # Of a step that nobody came to, that is enough to say.
            told = missing if edge.source in known or edge.source == chart.root.initial else []
            _count(counts["branches"], hit, told, states[edge.source].line, _words(edge, states))
    missing.sort(key=lambda one: one.line)
    steps, branches = counts["steps"], counts["branches"]
    return Coverage(module.name, path, steps[0], steps[1], branches[0], branches[1], tuple(missing))


def _count(counter: list[int], hit: bool, missing: list[Missing], line: int, text: str) -> None:
    counter[0] += 1
    counter[1] += hit
    if not hit:
        missing.append(Missing(line, text))


def _counted(module: Module) -> Iterator[tuple[str | None, Chart]]:
    yield None, module.main
    briefed, stepped = _users(module)
    for name, chart in module.tasks.items():
        if name in stepped or name not in briefed:
            yield name, chart


def _users(module: Module) -> tuple[set[str], set[str]]:
    """The tasks that are given whole to a named agent, and those that are worked step by step."""
    briefed: set[str] = set()
    stepped: set[str] = set()
    for chart in module.charts:
        for state in chart.states():
            if state.effect is not None and state.effect.name == "Spawn":
                agent, task = state.effect.arguments.get("agent"), state.effect.arguments.get("task")
                (stepped if agent in (None, "@task") else briefed).add(str(task))
    return briefed, stepped


def _branches(chart: Chart, states: dict[str, State]) -> Iterator[Edge]:
    out: dict[str, list[Edge]] = {}
    for edge in chart.edges():
        if edge.event != "recover" or states[edge.source].kind != "when":
            out.setdefault(edge.source, []).append(edge)
    for edges in out.values():
        distinct = {(edge.target, edge.event): edge for edge in edges}
        if len(distinct) > 1:
            yield from distinct.values()


def _words(edge: Edge, states: dict[str, State]) -> str:
    source = states[edge.source]
    target = states[edge.target].title if edge.target in states else ""
    goal = f"`{target}`" if target and edge.target != FINISHED else "the end"
    if edge.event == "recover":
        return f"`{source.title}` failing, and on_error going on to {goal}"
    if edge.event == "retry":
        return f"`{source.title}` failing and being tried again"
    if source.kind == "when":
        return f"`{source.title}` being " + ("done" if target == source.title else f"skipped, on to {goal}")
    return f"`{source.title}` going on to {goal}"


def total(found: Iterable[Coverage]) -> float:
    """The share of all steps and branches, in percent."""
    every = list(found)
    counted = sum(one.steps + one.branches for one in every)
    covered = sum(one.steps_covered + one.branches_covered for one in every)
    return 100 * covered / counted if counted else 100.0
