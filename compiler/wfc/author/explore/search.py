"""The search: first branches as targets, then boundary values for every question, then random values.

The same seed gives the same trials.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from wfc.author.explore.branches import BRIEF, Aim, Branch, Chart, Pool, Scope, World, both
from wfc.author.explore.solve import Path
from wfc.author.explore.trial import Findings, Question, Trace, Trial
from wfc.author.explore.values import Maker, Unfit
from wfc.testfiles.scripts import fill, reports_failure
from wfc_runtime.errors import RequestError
from wfc_runtime.machine.effects import Ask
from wfc_runtime.machine.inputs import check_inputs
from wfc_runtime.machine.interpreter import Edge
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.machine.values import Limits
from wfc_runtime.plan.counting import condition_of
from wfc_runtime.service.children import is_briefed

# Attempts: recorded answers first, then those that lead to the target, then the simplest value.

Key = tuple[str, str]
FAILED = {"error": "could not be done"}
TIMED_OUT = {"timed_out": True}
_NO_RESULT = {"error": "no result fits the schema"}


@dataclass(frozen=True, slots=True)
class Attempt:
    """Answers by scope and step. Other answers are the simplest valid values, or random ones with `chance`."""

    inputs: Mapping[str, Any] = field(default_factory=dict)
    answers: Mapping[Key, Sequence[Any]] = field(default_factory=dict)
    always: Mapping[Key, Any] = field(default_factory=dict)
    """The answer after all others are used."""
    base: Mapping[Key, Sequence[Any]] = field(default_factory=dict)
    """Answers of an earlier trial, which aims change in places."""
    aims: tuple[Aim, ...] = ()
    mode: str = "always"
    """Whether aims apply to every visit of a step (`varied`: with different texts), only to the first, or from the
    second on."""
    turn: int = 0
    """The index of the value to use among the suitable ones."""
    chance: float = 0.0
    is_short: bool = False
    """Whether answers may be in the short forms that people write."""


class Makers:
    """The value generators by action, each created once."""

    def __init__(self, world: World, pool: Pool) -> None:
        self._world = world
        self._pool = pool
        self._known: dict[tuple[str, str, str], Maker] = {}
        self._plain: dict[tuple[str, str, str], Any] = {}

    def of(self, question: Question) -> Maker:
        key = self._key(question)
        if key not in self._known:
            name = self.field_of(question)
            scope = self._world.scopes.get(question.scope)
            shape = scope.shapes.of(("state", name)) if scope is not None and name is not None else None
            if name == BRIEF:
                shape = self._world.brief_shape(question.scope)
            self._known[key] = Maker(question.schema, self._pool.of(question.scope, name), shape)
        return self._known[key]

    def plain(self, question: Question) -> Any:
        """The simplest result; `Unfit` if none is found."""
        key = self._key(question)
        if key not in self._plain:
            self._plain[key] = self.of(question).plain()
        return self._plain[key]

    def field_of(self, question: Question) -> str | None:
        scope = self._world.scopes.get(question.scope)
        effect = scope.machine.steps.get(question.state) if scope is not None else None
        if effect is None and question.step == BRIEF:
            return BRIEF
        return effect.writes if isinstance(effect, Ask) else None

    def _key(self, question: Question) -> tuple[str, str, str]:
        return (question.scope, question.state, question.demands)


class Chooser:
    """Answers for one trial."""

    def __init__(self, attempt: Attempt, makers: Makers, random: Random) -> None:
        self._attempt = attempt
        self._makers = makers
        self._random = random
        self.unfit: list[Question] = []

    def __call__(self, question: Question) -> Any:
        attempt = self._attempt
        given = attempt.answers.get(question.key, ())
        if question.number < len(given):
            return self._whole(question, given[question.number])
        if question.key in attempt.always:
            return self._whole(question, attempt.always[question.key])
        earlier = attempt.base.get(question.key, ())
        # A reported failure has no parts that aims could change.
        if question.number < len(earlier) and not reports_failure(earlier[question.number]):
            return self._aimed(question, earlier[question.number])
        base = self._makers.plain(question)
        if base is Unfit:
            self.unfit.append(question)
            return _NO_RESULT
        if attempt.chance and self._random.random() < attempt.chance:
            if question.can_recover and self._random.random() < 0.15:
                return FAILED
            return self._makers.of(question).random(self._random)
        return self._aimed(question, base)

    def _whole(self, question: Question, answer: Any) -> Any:
        return fill(question.kind, question.schema, answer) if self._attempt.is_short else answer

    def _aimed(self, question: Question, base: Any) -> Any:
        attempt = self._attempt
        if attempt.mode == ("later" if question.number == 0 else "first"):
            return base
        name = self._makers.field_of(question)
        if name is None:
            return base
        maker = self._makers.of(question)
        if attempt.mode == "varied":
            other = _varied(base, question.number)
            base = other if maker.fits(other) else base
        for place, values in _by_place(attempt.aims, question.scope, name).items():
            fitting = [made for value in values if maker.fits(made := maker.with_value(base, place, value))]
            if fitting:
                base = fitting[attempt.turn % len(fitting)]
        return base


def _varied(value: Any, number: int) -> Any:
    match value:
        case dict():
            return {key: _varied(one, number) for key, one in value.items()}
        case list():
            return [_varied(one, number) for one in value]
        case "x":
            return f"x{number}"
    return value


def _by_place(aims: Sequence[Aim], scope: str, name: str | None) -> dict[Path, list[Any]]:
    """The aims for one result. Aims for later branches come first."""
    found: dict[Path, list[Any]] = {}
    for aim in aims:
        if (aim.scope, aim.field) == (scope, name):
            found[aim.place] = [*aim.values, *found.get(aim.place, ())]
    return found


class Inputs:
    """The inputs of runs."""

    def __init__(self, schema: Mapping[str, Any], given: Mapping[str, Any], pool: Pool, scope: str) -> None:
        self._schema = schema
        self._given = given
        self._scope = scope
        hints = pool.of(scope, None)
        self._makers = {
            name: Maker(inner, {path[1:]: values for path, values in hints.items() if path[0] == name})
            for name, inner in schema.get("properties", {}).items()
            if name not in given
        }

    def plain(self) -> dict[str, Any]:
        """Only the required inputs."""
        needed = [name for name in self._schema.get("required", ()) if name in self._makers]
        made = {name: self._makers[name].plain() for name in needed}
        return {**{name: value for name, value in made.items() if value is not Unfit}, **self._given}

    def edges(self) -> list[dict[str, Any]]:
        base = self.plain()
        return [{**base, name: value} for name, maker in self._makers.items() for value in maker.edges()]

    def aimed(self, aims: Sequence[Aim], turn: int, base: Mapping[str, Any] | None = None) -> dict[str, Any]:
        found = self.plain() if base is None else dict(base)
        for place, values in _by_place(aims, self._scope, None).items():
            name, rest = str(place[0]), place[1:]
            maker = self._makers.get(name)
            if maker is None:
                continue
            known = found.get(name, None if not rest else maker.plain())
            fitting = [made for value in values if maker.fits(made := maker.with_value(known, rest, value))]
            if fitting:
                found[name] = fitting[turn % len(fitting)]
        return found

    def random(self, random: Random) -> dict[str, Any]:
        found = self.plain()
        for name, maker in self._makers.items():
            if name in found or random.random() < 0.3:
                value = maker.random(random)
                if value is not Unfit:
                    found[name] = value
        return found


_MODES = ("always", "varied", "later", "first")
_TURNS = 3
_TURNED, _WAYS = 4, 6
"""How many trials are turned at a decision, and in how many ways each."""
_LEFT_TO_CHANCE = 0.3
"""The minimum share of random runs."""


class _OutOfRunsError(Exception):
    """No more trials."""


class NoInputsError(Exception):
    """No valid inputs were found."""


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
    seeds: Sequence[Attempt] = ()
    """Answers that people have written down, in tests and answers files: tried first, and then varied."""
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
            # Directed trials reach most branches in few runs, so they come first; chance gets what is left.
            self._start()
            for seed in self.seeds:
                self._try(seed)
            self._aim()
            self._fail_where_asked()
            self._edges(int(self.runs * (1 - _LEFT_TO_CHANCE)))
            self._chance()
        except _OutOfRunsError:
            pass

    def _start(self) -> None:
        """The simplest trial; with other inputs if the simplest are not valid."""
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
        """Run a trial; None if its inputs are not valid."""
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
            # The same trial would give the same result.
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
        """Aim at each branch that has not been reached, from trials that reached its decision or along a shortest path.

        A branch that is reached may lead to others, so this is repeated until nothing new is reached.
        """
        known = -1
        while known < len(self.covered):
            known = len(self.covered)
            for branch in self.branches:
                for attempt in self._ways_into(branch) if branch.is_possible else ():
                    if self.is_reached(branch):
                        break
                    self._try(attempt)

    def _ways_into(self, branch: Branch) -> Iterator[Attempt]:
        yield from self._turned(branch)
        yield from self._attempts_at(branch)

    def _turned(self, branch: Branch) -> Iterator[Attempt]:
        """Trials that reached a decision, with the deciding values changed so that it has the other outcome."""
        scope, edge = branch.scope, branch.edge
        if branch.kind not in ("then", "else"):
            return
        traces = {id(one): one for one in self.covered.values() if one.entered[scope.name, edge.source.id]}
        for trace in list(traces.values())[:_TURNED]:
            for turn in range(_WAYS):
                aims = tuple(self._aims_of(scope, [edge], turn, {}))
                inputs = self.inputs.aimed(aims, turn, trace.inputs)
                # In a loop, the decision may have to be different in the first iteration than in later ones.
                for mode in ("always", "later"):
                    yield Attempt(inputs, base=trace.answers, aims=aims, mode=mode, turn=turn)

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
            # The conditions of a state are tried in order, so those before this edge must be false.
            for other in edge.source.eventless:
                condition = condition_of(other)
                if condition is not None and condition.text is not True and edge in edge.source.eventless:
                    ways = self.world.wanted(scope, condition, other is edge)
                    yield from ways[turn % len(ways)]
                if other is edge:
                    break

    def _failing(self, scope: Scope, edge: Edge) -> dict[Key, Any]:
        """The actions that must fail for a recovery edge to be taken: that of the step, or those of its children."""
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
        """The aims that lead from the workflow to a task or a called workflow, with at least one item."""
        if scope.name == self.world.name or not scope.parents or scope.name in seen:
            return []
        parent, spawn = scope.parents[0]
        state = next(state for state, effect in parent.machine.steps.items() if effect is spawn)
        found = self._way_down(parent, (*seen, scope.name))
        found += self._aims_of(parent, self._charts[parent.name].way_to(state), 0, {})
        term = parent.term(spawn.items) if isinstance(spawn, Spawn) else None
        if term is not None:
            shape = both(scope.shapes.of(("item",)), parent.shapes.of(("item",))) or "x"
            found += self.world.aims(scope, {("item",): [shape]})
        return found

    def _pursue(self, attempt: Attempt) -> None:
        """Run a trial, and if it reaches something new, also try the failures there."""
        known = len(self.covered)
        self._try(attempt)
        if len(self.covered) > known:
            self._fail_where_asked()

    def _fail_where_asked(self) -> None:
        """Try each recovery edge that has not been taken, in trials that have reached its step."""
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
        """For every action of every trial that found something new, try each boundary value."""
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
        # In reverse, so that the first visit of each step remains.
        asked = {question.key: question for question, _ in reversed(trace.asked)}
        for key, question in asked.items():
            known = trace.answers
            for value in (*self.makers.of(question).edges(), FAILED, TIMED_OUT):
                # First only one visit changes, then all visits of the step.
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
            # The beginning of a known trial leads deep into the workflow; chance decides the rest.
            cut = self._random.randint(0, len(base.asked))
            answers: dict[Key, list[Any]] = {}
            for question, result in base.asked[:cut]:
                answers.setdefault(question.key, []).append(result)
            inputs = self.inputs.random(self._random) if self._random.random() < 0.3 else base.inputs
            self._pursue(Attempt(inputs, answers, chance=self._random.choice((0.3, 0.6, 1.0))))


def _text(attempt: Attempt) -> str:
    given = (attempt.answers, attempt.always, attempt.base)
    parts = [attempt.inputs, *(list(one.items()) for one in given)]
    return json.dumps([*parts, repr(attempt.aims), attempt.mode, attempt.turn], sort_keys=True, default=str)
