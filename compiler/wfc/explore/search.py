"""The search: branches aimed at first, then every edge value at every question, then chance. Same seed, same trials."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from wfc.explore.attempts import FAILED, TIMED_OUT, Attempt, Chooser, Inputs, Key, Makers
from wfc.explore.branches import Branch, Chart
from wfc.explore.findings import Findings
from wfc.explore.scopes import BRIEF, Aim, Scope, World
from wfc.explore.trial import Question, Trace, Trial
from wfc_runtime.errors import RequestError
from wfc_runtime.machine.ask import Ask
from wfc_runtime.machine.inputs import check_inputs
from wfc_runtime.machine.limits import Limits
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.machine.structure import Edge
from wfc_runtime.plan.ways import condition_of
from wfc_runtime.service.children import is_briefed

_MODES = ("always", "varied", "later", "first")
_TURNS = 3
_LEFT_TO_CHANCE = 0.3
"""The share of the runs that is random however much there is to try."""


class _OutOfRunsError(Exception):
    """No more trials."""


class NoInputsError(Exception):
    """No inputs were found that a run can be started with."""


@dataclass
class Search:
    world: World
    makers: Makers
    inputs: Inputs
    limits: Limits
    runs: int
    deadline: float
    seed: int
    most_events: int
    progress: Callable[[int, int, int], None]
    findings: Findings = field(default_factory=Findings)
    done: int = 0
    covered: dict[tuple[str, Edge], Trace] = field(default_factory=dict)
    """Each edge that was taken, with the first trial that took it."""
    unfit: dict[Key, Question] = field(default_factory=dict)
    _tried: set[str] = field(default_factory=set)
    _random: Random = field(default_factory=Random)

    def __post_init__(self) -> None:
        self._random.seed(self.seed)
        self._charts = {name: Chart(scope) for name, scope in self.world.scopes.items()}
        self.branches = [branch for chart in self._charts.values() for branch in chart.branches()]

    def go(self) -> None:
        try:
            self._start()
            self._aim()
            self._fail_where_asked()
            self._edges(int(self.runs * (1 - _LEFT_TO_CHANCE)))
            self._chance()
        except _OutOfRunsError:
            pass

    def _start(self) -> None:
        """The plainest trial of all; where its inputs do not fit, others."""
        why = ""
        for inputs in (self.inputs.plain(), *self.inputs.edges()):
            try:
                check_inputs(self.world.scopes[self.world.name].machine, inputs, self.limits)
            except RequestError as error:
                why = why or error.message
                continue
            self._try(Attempt(inputs))
            return
        raise NoInputsError(why)

    def trace_of(self, attempt: Attempt, random: Random | None = None) -> Trace | None:
        """A trial. None: its inputs do not fit."""
        chooser = Chooser(attempt, self.makers, random or Random(0))
        trial = Trial(self.world.modules, self.limits, chooser, self.most_events)
        try:
            trace = trial.run(self.world.name, dict(attempt.inputs))
        except RequestError:
            return None
        for question in chooser.unfit:
            self.unfit.setdefault(question.key, question)
        return trace

    def _try(self, attempt: Attempt) -> Trace | None:
        if not attempt.chance:
            # A trial that was made already would only be made again.
            text = _text(attempt)
            if text in self._tried:
                return None
            self._tried.add(text)
        if self.done >= self.runs or time.monotonic() > self.deadline:
            raise _OutOfRunsError
        self.done += 1
        trace = self.trace_of(attempt, self._random)
        if trace is None:
            return None
        for place in trace.taken:
            self.covered.setdefault(place, trace)
        self.findings.add(trace)
        self.progress(self.done, sum(map(self.is_reached, self.branches)), len(self.findings.traces))
        return trace

    def is_reached(self, branch: Branch) -> bool:
        return (branch.scope.name, branch.edge) in self.covered

    # -- branches ----------------------------------------------------------------

    def _aim(self) -> None:
        """Each branch that nothing has led to yet, by the shortest way there."""
        for branch in self.branches:
            for attempt in self._attempts_at(branch) if branch.is_possible else ():
                if self.is_reached(branch):
                    break
                self._try(attempt)

    def _attempts_at(self, branch: Branch) -> Iterator[Attempt]:
        scope, edge = branch.scope, branch.edge
        failing: dict[Key, Any] = {}
        if branch.kind == "on error":
            failing = self._failing(scope, edge)
            edges = self._charts[scope.name].way_to(edge.source.id)
        elif branch.kind == "used up":
            edges = [*self._charts[scope.name].way_to(edge.source.id), edge.source.eventless[0]]
        else:
            edges = [*self._charts[scope.name].way_to(edge.source.id), edge]
        above = self._way_down(scope, ())
        for turn in range(_TURNS):
            aims = (*above, *self._aims_of(scope, edges, turn, failing))
            for mode in _MODES:
                inputs = self.inputs.aimed(aims, turn)
                yield Attempt(inputs, aims=aims, mode=mode, turn=turn, always=failing)

    def _aims_of(self, scope: Scope, edges: list[Edge], turn: int, failing: dict[Key, Any]) -> Iterator[Aim]:
        for edge in edges:
            if edge in edge.source.on.get("recover", ()):
                failing |= self._failing(scope, edge)
            for other in edge.source.eventless:
                condition = condition_of(other)
                if condition is not None and condition.text is not True and edge in edge.source.eventless:
                    ways = self.world.wanted(scope, condition, other is edge)
                    yield from ways[turn % len(ways)]
                if other is edge:
                    break

    def _failing(self, scope: Scope, edge: Edge) -> dict[Key, Any]:
        """Who has to fail for the way out of a failure to be taken: the step, or whatever its children ask."""
        effect = scope.machine.steps.get(edge.source.id)
        if isinstance(effect, Ask):
            return {(scope.name, edge.source.name): FAILED}
        if not isinstance(effect, Spawn):
            return {}
        child = effect.task or effect.workflow or ""
        if child not in self._charts or (effect.task is not None and is_briefed(effect.agent)):
            return {(child, BRIEF): FAILED}
        inner = self._charts[child].structure
        asks = [state for state, one in inner.steps.items() if isinstance(one, Ask)]
        return {(child, inner.nodes[state].name): FAILED for state in asks}

    def _way_down(self, scope: Scope, seen: tuple[str, ...]) -> list[Aim]:
        """What leads from the workflow to a task, or to one that is called, with an item to work on."""
        if scope.name == self.world.name or not scope.parents or scope.name in seen:
            return []
        parent, spawn = scope.parents[0]
        state = next(state for state, effect in parent.machine.steps.items() if effect is spawn)
        found = self._way_down(parent, (*seen, scope.name))
        found += self._aims_of(parent, self._charts[parent.name].way_to(state), 0, {})
        term = parent.term(spawn.items) if isinstance(spawn, Spawn) else None
        if term is not None:
            shape = scope.shapes.of(("item",)) or "x"
            found += self.world.aims(scope, {("item",): [shape]})
        return found

    def _pursue(self, attempt: Attempt) -> None:
        """A trial, and where it has come to something new, what can fail there."""
        known = len(self.covered)
        self._try(attempt)
        if len(self.covered) > known:
            self._fail_where_asked()

    def _fail_where_asked(self) -> None:
        """Each way out of a failure that nothing has led to yet, in the trials that have come to its step."""
        for branch in self.branches:
            failing = self._failing(branch.scope, branch.edge) if branch.kind == "on error" else {}
            for trace in list({id(one): one for one in self.covered.values()}.values()):
                if self.is_reached(branch):
                    break
                if not failing.keys().isdisjoint(trace.answers):
                    answers = {key: known for key, known in trace.answers.items() if key not in failing}
                    self._try(Attempt(trace.inputs, answers, failing))

    # -- edges -------------------------------------------------------------------

    def _edges(self, most: int) -> None:
        """At every question of every trial that found something new, each value at the edge of what fits."""
        for inputs in self.inputs.edges():
            if self.done >= most:
                return
            self._try(Attempt(inputs))
        bases: dict[int, Trace] = {}
        todo: list[Trace] = []
        while True:
            for trace in self.covered.values():
                if id(trace) not in bases:
                    bases[id(trace)] = trace
                    todo.append(trace)
            if not todo:
                return
            trace = todo.pop(0)
            for attempt in self._mutations(trace):
                if self.done >= most:
                    return
                self._pursue(attempt)

    def _mutations(self, trace: Trace) -> Iterator[Attempt]:
        asked = {question.key: question for question, _ in reversed(trace.asked)}
        for key, question in asked.items():
            known = trace.answers
            for value in (*self.makers.of(question).edges(), FAILED, TIMED_OUT):
                answers = {**known, key: [value, *known[key][1:]]}
                yield Attempt(trace.inputs, answers)
                if len(known[key]) > 1:
                    yield Attempt(trace.inputs, {**known, key: [value] * len(known[key])}, {key: value})
            if question.can_recover:
                rest = {other: results for other, results in known.items() if other != key}
                yield Attempt(trace.inputs, rest, {key: FAILED})

    # -- chance ------------------------------------------------------------------

    def _chance(self) -> None:
        while True:
            traces = list(dict.fromkeys(map(id, self.covered.values())))
            by_id = {id(trace): trace for trace in self.covered.values()}
            base = by_id[self._random.choice(traces)]
            cut = self._random.randint(0, len(base.asked))
            answers: dict[Key, list[Any]] = {}
            for question, result in base.asked[:cut]:
                answers.setdefault(question.key, []).append(result)
            inputs = self.inputs.random(self._random) if self._random.random() < 0.3 else base.inputs
            self._pursue(Attempt(inputs, answers, chance=self._random.choice((0.3, 0.6, 1.0))))


def _text(attempt: Attempt) -> str:
    parts = [attempt.inputs, list(attempt.answers.items()), list(attempt.always.items())]
    return json.dumps([*parts, repr(attempt.aims), attempt.mode, attempt.turn], sort_keys=True, default=str)
