"""Explore one workflow: set up, search, shrink the failing trials, report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from wfc.author.answers import write_answers
from wfc.author.diff.compare import to_plain
from wfc.author.explore.branches import Branch, Pool, World
from wfc.author.explore.search import Attempt, Inputs, Key, Makers, Search
from wfc.author.explore.trial import Signature, Trace, signatures
from wfc.language.shape import InputDecl
from wfc.testfiles.scripts import Script
from wfc_runtime.machine.interpreter import structure_of
from wfc_runtime.machine.values import Limits
from wfc_runtime.plan.counting import Counter, condition_of
from wfc_runtime.registry import Module

# The report.


@dataclass(frozen=True, slots=True)
class Case:
    """Inputs and answers that reproduce a problem."""

    inputs: dict[str, Any]
    answers: dict[tuple[str, str], list[Any]]

    @property
    def size(self) -> tuple[int, int]:
        # Fewer answers first: a reader has to follow each of them, whatever its length.
        return (sum(map(len, self.answers.values())), len(self.text()))

    def by_key(self) -> dict[str, list[Any]]:
        """The keys of an answers file: the id of a step alone if it is unambiguous."""
        scopes: dict[str, set[str]] = {}
        for scope, step in self.answers:
            scopes.setdefault(step, set()).add(scope)
        return {
            # Every task that an agent executes as a whole has this step, so its scope is always written.
            step if len(scopes[step]) == 1 and step != "do-task" else f"{scope}/{step}": results
            for (scope, step), results in self.answers.items()
        }

    def text(self) -> str:
        return write_answers(self.inputs, self.by_key())


@dataclass(frozen=True, slots=True)
class Problem:
    kind: str
    """expression, endless, items, schema or unreachable."""
    scope: str
    step: str
    place: str
    """The position in the YAML."""
    message: str
    case: Case | None = None
    name: str = ""
    """The name of its file, without the suffix."""
    goes_on: bool = False
    """Whether its run never ends at all."""

    def to_data(self) -> dict[str, Any]:
        found: dict[str, Any] = {"kind": self.kind, "in": self.scope, "step": self.step}
        found |= {"place": self.place, "message": self.message}
        if self.case is not None:
            found |= {"inputs": self.case.inputs, "answers": self.case.by_key()}
        return found


@dataclass(frozen=True, slots=True)
class Unreached:
    scope: str
    step: str
    kind: str
    place: str
    why: str
    """not come to, not decided by answers, never true, never false, did not fail, or not used up."""
    condition: str = ""
    """The values that decide it, if a run reached it."""

    def to_data(self) -> dict[str, Any]:
        found = {
            "in": self.scope,
            "step": self.step,
            "branch": self.kind,
            "place": self.place,
            "why": self.why,
        }
        return {**found, "condition": self.condition} if self.condition else found


@dataclass
class Report:
    workflow: str
    seed: int
    runs: int = 0
    wanted: int = 0
    """The requested number of runs; fewer were executed if the time ran out."""
    seconds: float = 0.0
    branches: int = 0
    reached: int = 0
    unreached: list[Unreached] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def is_cut(self) -> bool:
        return self.runs < self.wanted

    def to_data(self) -> dict[str, Any]:
        return {
            "workflow": self.workflow,
            "seed": self.seed,
            "runs": self.runs,
            "cut_by_time": self.is_cut,
            "branches": {
                "all": self.branches,
                "reached": self.reached,
                "not_reached": [one.to_data() for one in self.unreached],
            },
            "problems": [problem.to_data() for problem in self.problems],
        }


# Shrinking: a trial is reduced as long as it still shows its problem.

_MOST_TRIALS = 400
_MOST_TRIED_EVENTS = 15_000
"""The limit over all trials: those of a run that does not end are long."""


def smallest_case(search: Search, which: Signature, trace: Trace) -> Case:
    """Reduce a trial to few, short and simple answers that show the same problem."""
    case = _case(trace)
    trials = events = 0
    attempt = Attempt(trace.inputs, trace.answers)
    improved = True
    while improved:
        improved = False
        for smaller in _smaller(attempt, which):
            # Any case that shows the problem is correct, so the reduction may stop early.
            if trials >= _MOST_TRIALS or events >= _MOST_TRIED_EVENTS:
                return case
            found = search.trace_of(smaller)
            trials += 1
            events += found.events if found is not None else 0
            if found is None or which not in signatures(found) or _case(found).size >= case.size:
                continue
            # Only recorded answers are reduced. A repeated answer is kept, since the run would otherwise end.
            attempt = smaller if smaller.always else Attempt(found.inputs, found.answers)
            case = _case(found)
            improved = True
            break
    return case


def _case(trace: Trace) -> Case:
    """Merge equal answers of a step into one, which then applies every time."""
    answers = {
        key: results[:1] if len(results) > 1 and _is_one(results) else results
        for key, results in trace.answers.items()
    }
    return Case(trace.inputs, answers)


def _is_one(results: list[Any]) -> bool:
    return not isinstance(results[0], list) and all(one == results[0] for one in results)


def _smaller(attempt: Attempt, which: Signature) -> Iterator[Attempt]:
    # A run that never ends needs an answer that is repeated forever, which also replaces its long list of
    # answers.
    if which[3] == "running" and not attempt.always:
        for key, results in attempt.answers.items():
            yield Attempt(attempt.inputs, {}, {key: results[-1]})
        yield Attempt(attempt.inputs, {}, {key: one[-1] for key, one in attempt.answers.items()})
    # From coarse to fine: whole inputs and steps first, then single answers, then parts of a value.
    for name in attempt.inputs:
        yield replace(attempt, inputs={key: one for key, one in attempt.inputs.items() if key != name})
    for key in attempt.answers:
        yield replace(attempt, answers={other: one for other, one in attempt.answers.items() if other != key})
    for key, results in attempt.answers.items():
        # Bounded, since each candidate is a run of the whole workflow.
        for number in range(min(len(results), 20)):
            yield replace(
                attempt, answers=_with(attempt.answers, key, [*results[:number], *results[number + 1 :]])
            )
    for key, results in attempt.answers.items():
        for number, result in enumerate(results[:20]):
            for value in _plainer(result):
                changed = [*results[:number], value, *results[number + 1 :]]
                yield replace(attempt, answers=_with(attempt.answers, key, changed))
    for name, given in attempt.inputs.items():
        for value in _plainer(given):
            yield replace(attempt, inputs={**attempt.inputs, name: value})


def _with(answers: Mapping[Key, Sequence[Any]], key: Key, results: list[Any]) -> dict[Key, Sequence[Any]]:
    return {**answers, key: results}


def _plainer(value: Any) -> Iterator[Any]:
    match value:
        case dict():
            for name in value:
                yield {key: one for key, one in value.items() if key != name}
            for name, inner in value.items():
                yield from ({**value, name: one} for one in _plainer(inner))
        case list():
            if value:
                yield []
            if len(value) > 1:
                yield value[:1]
                yield value[: len(value) // 2]
            for number, inner in enumerate(value[:3]):
                yield from ([*value[:number], one, *value[number + 1 :]] for one in _plainer(inner))
        case str() if value:
            yield ""
            if len(value) > 1:
                yield "x"
                yield value[: len(value) // 2]
        # Before the numbers: a boolean is an int in Python, and neither value is simpler than the other.
        case bool():
            return
        case int() | float() if value:
            yield 0
            if abs(value) > 1:
                yield 1


_ITEMS = 20
"""More items than generated lists ever have."""
_FEWEST_EVENTS, _MOST_EVENTS = 300, 60_000


def _silent(done: int, reached: int, problems: int) -> None:
    """The default callback, which ignores progress."""


@dataclass(frozen=True, slots=True)
class Budget:
    runs: int = 1000
    seconds: float = 60.0
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    progress: Callable[[int, int, int], None] = _silent
    """Called with the numbers of runs, reached branches and problems so far."""


def explore(
    modules: Mapping[str, Module],
    name: str,
    inputs: Mapping[str, InputDecl],
    budget: Budget,
    given: Mapping[str, Any] | None = None,
    seeds: Sequence[Seed] = (),
) -> Report:
    """Explore one of some workflows; the others are those that it calls.

    `given`: fixed inputs. `seeds`: answers to try first and to vary.
    """
    began = time.monotonic()
    search = make_search(modules, name, inputs, budget, given)
    # Answers that people wrote reach deep branches at once, which random ones may never do.
    search.seeds = [_attempt(seed, search, given or {}) for seed in seeds]
    search.go()
    report = Report(name, budget.seed, search.done, budget.runs)
    _count_branches(search, report)
    report.problems += [*_failures(search), *_misfits(search)]
    # In the order of the file, so that two reports can be compared.
    report.problems.sort(key=lambda problem: _order(problem.place))
    report.seconds = time.monotonic() - began
    return report


@dataclass(frozen=True, slots=True)
class Seed:
    """Inputs and answers that somebody wrote down, as answers files and tests have them."""

    inputs: Mapping[str, Any]
    scripts: Mapping[str, Script]


def _attempt(seed: Seed, search: Search, given: Mapping[str, Any]) -> Attempt:
    answers: dict[Key, list[Any]] = {}
    always: dict[Key, Any] = {}
    for key, script in seed.scripts.items():
        for place in _asked_as(key, search):
            values = [one.value for one in script.answers]
            if script.repeats:
                always[place] = values[0]
            else:
                answers[place] = values
    return Attempt({**seed.inputs, **given}, answers, always, is_short=True)


def _asked_as(key: str, search: Search) -> list[Key]:
    """The steps that a key of an answers file stands for."""
    scope, slash, step = key.rpartition("/")
    # Without a scope, a key means every step of that name, as in an answers file.
    if slash:
        return [(scope, step)]
    return [
        (name, key)
        for name, known in search.world.scopes.items()
        if any(node.name == key for node in structure_of(known.machine).nodes.values())
    ]


def make_search(
    modules: Mapping[str, Module],
    name: str,
    inputs: Mapping[str, InputDecl],
    budget: Budget,
    given: Mapping[str, Any] | None = None,
) -> Search:
    schema = input_schema(inputs)
    # The plan of the branches needs concrete inputs where the author gave some.
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
    """The number of events after which a run counts as endless: well above the maximum of actions, if there is one."""
    workflows = {key: module.workflow for key, module in modules.items()}
    count = Counter(workflows[name], workflows.get).main()
    # Without a bound on the actions, any limit is arbitrary.
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


# -- the results ---------------------------------------------------------------


def _count_branches(search: Search, report: Report) -> None:
    for branch in search.branches:
        report.branches += 1
        if search.is_reached(branch):
            report.reached += 1
        elif branch.is_possible:
            why, condition = _reason(search, branch)
            place = _place_of_branch(search, branch)
            report.unreached.append(
                Unreached(branch.scope.name, branch.step, branch.kind, place, why, condition)
            )
        else:
            message = f"this branch is unreachable ({branch.kind})"
            place = _place_of_branch(search, branch)
            report.problems.append(
                Problem("unreachable", branch.scope.name, branch.step, place, message, name=branch.step)
            )


def _reason(search: Search, branch: Branch) -> tuple[str, str]:
    """Why a branch was not reached, and the condition that decides it, if a run reached that."""
    source = branch.edge.source
    if not any(trace.entered[branch.scope.name, source.id] for trace in search.covered.values()):
        return "not come to", ""
    if branch.kind == "on error":
        return "did not fail", ""
    if branch.kind in ("jump", "used up"):
        return "not used up", ""
    condition = condition_of(source.eventless[0])
    if condition is None:
        return "not come to", ""
    text = condition.text if isinstance(condition.text, str) else ""
    if not any(search.world.wanted(branch.scope, condition, branch.kind == "then")):
        return "not decided by answers", text
    return ("never true" if branch.kind == "then" else "never false"), text


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
