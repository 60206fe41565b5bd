"""Compares a run with the expectations of its test, and computes the coverage of all runs. Does not access the
disk."""

from __future__ import annotations

import difflib
import json
from collections import abc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from wfc.author.driver import Asked
from wfc.ir import FINISHED, Chart, Edge, Module, State
from wfc.testfiles.cases import Case, Expectation, ExpectedAction
from wfc.yaml import Span

# Comparison of a run with the expectations of its test.

# The parameter that says what is asked, by kind of step.
_TEXTS = ("command", "message", "instructions", "tool")


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One mismatch, with the position of the expectation in the test file."""

    span: Span
    message: str
    expected: Any = None
    got: Any = None
    has_values: bool = True

    def diff(self) -> list[str]:
        """Expected and got, line by line."""
        if not self.has_values:
            return []
        lines = difflib.ndiff(_lines(self.expected), _lines(self.got))
        return [line.rstrip("\n") for line in lines if not line.startswith("?")]


def _lines(value: Any) -> list[str]:
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return text.split("\n")


def compare(
    case: Case, reply: abc.Mapping[str, Any], state: abc.Mapping[str, Any], asked: list[Asked]
) -> Iterator[Mismatch]:
    """All mismatches between an ended run and its case."""
    yield from _ending(case, reply)
    expect = case.expect
    for name, wanted in expect.state.items():
        if name not in state:
            yield Mismatch(wanted.span, f"the state has no field `{name}`", wanted.value, None)
        elif not same(wanted.value, state[name]):
            yield Mismatch(wanted.span, f"the field `{name}` is another", wanted.value, state[name])
    yield from _actions(expect, asked)


def _ending(case: Case, reply: abc.Mapping[str, Any]) -> Iterator[Mismatch]:
    expect, error = case.expect, reply.get("error", {})
    if expect.failure is None:
        if reply["status"] != "completed":
            step = f" in step `{error['step_id']}`" if error.get("step_id") else ""
            message = f"the run {reply['status']}{step}: {error.get('message', '')}"
            yield Mismatch(case.span, message, has_values=False)
        elif expect.result is not None and not same(expect.result.value, reply["result"]):
            yield Mismatch(expect.result.span, "the result is another", expect.result.value, reply["result"])
        return
    if reply["status"] != "failed":
        yield Mismatch(expect.failure.span, f"the run {reply['status']}, but should fail", has_values=False)
        return
    got = {
        "step": error.get("step_id", "").partition("@")[0],
        "code": error["code"],
        "message": error["message"],
    }
    for key, wanted in expect.failure.value.items():
        # A message may be given in part.
        if got[key] != wanted and not (key == "message" and wanted in got[key]):
            yield Mismatch(expect.failure.span, f"the run failed with another {key}", wanted, got[key])


def _actions(expect: Expectation, asked: list[Asked]) -> Iterator[Mismatch]:
    if expect.in_order is not None:
        yield from _compare_in_order(expect, expect.in_order, asked)
    for step, wanted in expect.by_step.items():
        got = [one for one in asked if step in (one.step_id.partition("@")[0], f"{one.scope}/{_step(one)}")]
        if not isinstance(wanted, list):
            # One expectation stands for every time that the step is asked, and for at least one.
            wanted = [wanted] * max(len(got), 1)
        if len(wanted) != len(got):
            times = f"asked {len(got)} times, and should be {len(wanted)} times"
            yield Mismatch(expect.spans[step], f"step `{step}` was {times}", has_values=False)
        for one, action in zip(wanted, got, strict=False):
            yield from _compare_action(one, action)


def _compare_in_order(
    expect: Expectation, wanted: list[ExpectedAction], asked: list[Asked]
) -> Iterator[Mismatch]:
    want = [one.step for one in wanted]
    got = [one.action["step_id"] for one in asked]
    names = [_name(step, one) for step, one in zip(want, asked, strict=False)] + [
        _step(one) for one in asked[len(want) :]
    ]
    if want != names:
        yield Mismatch(expect.spans["actions"], "the steps asked are others", "\n".join(want), "\n".join(got))
        return
    for one, action in zip(wanted, asked, strict=True):
        yield from _compare_action(one, action)


def _step(asked: Asked) -> str:
    return asked.step_id.partition("@")[0]


def _name(wanted: str, asked: Asked) -> str:
    """The name of the step in the form that the test uses: with its scope, with its visit, or bare."""
    names = (asked.step_id, f"{asked.scope}/{_step(asked)}")
    return wanted if wanted in names else _step(asked)


def _compare_action(wanted: ExpectedAction, asked: Asked) -> Iterator[Mismatch]:
    parameters = asked.parameters
    text = next((str(parameters[key]) for key in _TEXTS if key in parameters), "")
    if isinstance(wanted.value, str):
        # A block text in YAML ends with a newline, and the command usually does not.
        if wanted.value.rstrip("\n") != text.rstrip("\n"):
            yield Mismatch(wanted.span, f"step `{asked.step_id}` asks for something else", wanted.value, text)
    elif isinstance(wanted.value, dict):
        parts = wanted.value.get("contains", [])
        for part in [parts] if isinstance(parts, str) else parts:
            if part not in text:
                yield Mismatch(
                    wanted.span, f"what step `{asked.step_id}` asks does not contain it", part, text
                )
        for key, value in wanted.value.items():
            if key != "contains" and not _matches(value, parameters.get(key)):
                message = f"step `{asked.step_id}` has another `{key}`"
                yield Mismatch(wanted.span, message, value, parameters.get(key))


def _matches(wanted: Any, got: Any) -> bool:
    """Whether a parameter matches. A mapping needs only the keys that the test names; null means that the value is
    absent."""
    if isinstance(wanted, dict):
        if wanted.keys() == {"contains"} and isinstance(got, (str, list)):
            parts = wanted["contains"]
            return all(part in got for part in (parts if isinstance(parts, list) else [parts]))
        return isinstance(got, dict) and all(_matches(one, got.get(key)) for key, one in wanted.items())
    if isinstance(wanted, list) and isinstance(got, list):
        return len(wanted) == len(got) and all(map(_matches, wanted, got))
    return same(wanted, got)


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON. 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        # `is`: in Python, 1 == True.
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return (type(one) is type(other) and one == other) or (
        _is_number(one) and _is_number(other) and one == other
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


# Coverage: the steps and branches that runs have reached. A branch is an edge that leaves a state with more
# than one.

Hit = tuple[str, str | None, str]
"""Workflow, task, state."""
Taken = tuple[str, str | None, str, str, str | None]
"""Workflow, task, source, target, event."""


@dataclass
class Trace:
    """The states and edges that runs have passed."""

    entered: set[Hit] = field(default_factory=set)
    taken: set[Taken] = field(default_factory=set)

    def watch(self, row: Any, outcome: Any) -> None:
        """As `SqliteService.watch` calls it."""
        # A briefed task is one step of another machine, and has no states of its own.
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


@dataclass(frozen=True, slots=True)
class Missing:
    line: int
    text: str


@dataclass(frozen=True, slots=True)
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
        # An edge into a frame is the only sign that the frame was entered.
        known |= {target for _, target, _ in taken}
        # Frames around other states are not reported as entered, and no edge leads to the states entered at the start.
        known |= {chart.root.initial} if known else set()
        for state in states.values():
            if state.step is not None and state.kind == state.step.kind and state.id not in chart.added:
                _count(counts["steps"], state.id in known, missing, state.line, f"step `{state.title}`")
        for edge in _branches(chart, states):
            if _is_added(edge, chart, states):
                continue
            hit = (edge.source, edge.target, edge.event) in taken
            # For a step that was never reached, its branches are not listed as well.
            told = missing if edge.source in known or edge.source == chart.root.initial else []
            _count(counts["branches"], hit, told, states[edge.source].line, _words(edge, chart, states))
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
    """The tasks that a named agent gets as a whole, and those that are executed step by step."""
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
        # A `when` that can't be evaluated is not a branch that an author would test. Nor is a failure that ends a
        # branch of a parallel step: the step itself reacts to it, on edges of its own.
        is_own = states[edge.source].kind != "when" and edge.source not in chart.caught
        if edge.event != "recover" or is_own:
            out.setdefault(edge.source, []).append(edge)
    for edges in out.values():
        # Two edges with the same target and event are one branch.
        distinct = {(edge.target, edge.event): edge for edge in edges}
        if len(distinct) > 1:
            yield from distinct.values()


def _is_added(edge: Edge, chart: Chart, states: dict[str, State]) -> bool:
    """Whether a branch is one that a dialect has made: it is not the author's to test."""
    step = states[edge.source].step
    by_field = step is not None and edge.event == "recover" and "on_error" in step.added_fields
    return by_field or chart.added.get(edge.source) == ""


def _words(edge: Edge, chart: Chart, states: dict[str, State]) -> str:
    state = states[edge.source]
    source, targets = _titles(state, chart)[0], _titles(states.get(edge.target), chart)
    goal = " and ".join(f"`{target}`" for target in targets) or "the end"
    if edge.event == "recover":
        return f"`{source}` failing, and on_error continuing at {goal}"
    if edge.event == "retry":
        return f"`{source}` failing and being tried again"
    if state.kind == "when" or edge.source in chart.added:
        return f"`{source}` being " + ("done" if targets == [source] else f"skipped, on to {goal}")
    return f"`{source}` continuing at {goal}"


def _titles(state: State | None, chart: Chart) -> list[str]:
    """The name of a state in the source. A frame that a dialect has added stands for everything in it."""
    if state is None or state.id == FINISHED:
        return []
    if chart.added.get(state.id) == "" and state.regions:
        return [region.title for region in state.regions]
    return [chart.added.get(state.id) or state.title]


def total(found: Iterable[Coverage]) -> float:
    """The share of all steps and branches, in percent."""
    every = list(found)
    counted = sum(one.steps + one.branches for one in every)
    covered = sum(one.steps_covered + one.branches_covered for one in every)
    return 100 * covered / counted if counted else 100.0
