"""Workflow tests: what a test file says, what a run did, and how the two differ. Nothing here touches the disk.

```yaml
# workflows/release-notes.test.yaml
workflow: release-notes.yaml       # by default the file that the test file is named after
inputs: {since: v1.2}              # for every test, unless it says otherwise
answers: {read-log: "abc123 Add"}  # the same; see `wfc.author.answers` for the format
tests:
  - name: notes are written again until they are approved
    now: 2026-01-05T09:00:00Z      # what now() says when the run starts; waits and retries pass in no time
    answers:
      write-notes: [First draft., Better.]
      approve: [false, true]
    expect:
      result: Better.
      state: {approval: {confirmed: true}}   # these fields; others may be there too
      actions:                               # by step, or as a list: all of them, in order
        read-log: git log --oneline v1.2..HEAD --
        approve: [{contains: First draft.}, {contains: Better.}]
        publish: []                          # never asked
  - name: a log that can't be read ends it
    answers: {read-log: {error: no git here}}
    expect:
      failure: {step: read-log, code: agent_error, message: no git here}
```

An expected action is the text of its command, message, instructions or tool; or a mapping of parameters that it must
have, with `contains` for parts of that text; or null: it is asked, whatever it says. In a list they stand as ids or as
`id: action`. A `message` of a failure need only be part of the real one. Without `failure` the run has to complete.
"""

from __future__ import annotations

import difflib
import json
from collections import abc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from wfc.author.answers import Script, read_inputs, read_scripts
from wfc.author.driver import Asked
from wfc.author.files import Reader
from wfc.ir import FINISHED, Chart, Edge, Module, State
from wfc.yaml import Mapping, Node, Scalar, Sequence, Span

# Test files as data, with positions.


@dataclass(frozen=True, slots=True)
class Expected:
    """A value that something must be."""

    value: Any
    span: Span


@dataclass(frozen=True, slots=True)
class ExpectedAction:
    """What one asked action must look like."""

    step: str
    span: Span
    value: Any = None
    """Text, a mapping, or None for anything."""


@dataclass(frozen=True, slots=True)
class Expectation:
    result: Expected | None = None
    state: dict[str, Expected] = field(default_factory=dict)
    failure: Expected | None = None
    in_order: list[ExpectedAction] | None = None
    """All actions of the run."""
    by_step: dict[str, list[ExpectedAction] | ExpectedAction] = field(default_factory=dict)
    """A list: one per visit, and no other. One alone: every visit."""
    spans: dict[str, Span] = field(default_factory=dict)
    """Where the keys of `by_step`, and `actions` itself, stand."""


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    span: Span
    inputs: dict[str, Any]
    scripts: dict[str, Script]
    own: frozenset[str]
    """The keys of `scripts` that are the case's own: all of them must be used."""
    expect: Expectation
    now: float


@dataclass(frozen=True, slots=True)
class TestFile:
    workflow: Expected | None
    """As the file names it; None: the one that the file is named after."""
    cases: list[Case]

    __test__ = False
    """For pytest, which takes everything called Test for one of its own."""


# Reading test files.

START = datetime(2026, 1, 1, tzinfo=UTC)
"""What now() says where a test does not."""
_FILE = ("workflow", "inputs", "answers", "tests")
_CASE = ("name", "inputs", "answers", "now", "expect")
_EXPECT = ("result", "state", "failure", "actions")
_FAILURE = ("step", "code", "message")


def read_tests(reader: Reader) -> TestFile:
    """The cases of a file. `reader.found` has what is wrong with it."""
    if reader.root is None and not reader.found:
        reader.wrong(reader.start, "the file is empty; it needs the key `tests`")
    found = reader.mapping(reader.root, "a test file", _FILE, required=("tests",))
    inputs = read_inputs(reader, found.get("inputs"))
    scripts = read_scripts(reader, found.get("answers"))
    workflow = found.get("workflow")
    named = Expected(reader.text(workflow, "`workflow`"), workflow.span) if workflow is not None else None
    tests = found.get("tests")
    cases = [_case(reader, node, inputs, scripts) for node in reader.items(tests, "`tests`")]
    if tests is not None and not cases and not reader.found:
        reader.wrong(tests.span, "there is no test in the list")
    _look_for_same_names(reader, cases)
    return TestFile(named, cases)


def _look_for_same_names(reader: Reader, cases: Iterable[Case]) -> None:
    seen: set[str] = set()
    for case in cases:
        if case.name in seen:
            reader.wrong(case.span, f"there are two tests `{case.name}`")
        seen.add(case.name)


def _case(reader: Reader, node: Node, inputs: dict[str, Any], scripts: dict[str, Script]) -> Case:
    found = reader.mapping(node, "a test", _CASE, required=("name",))
    own = read_scripts(reader, found.get("answers"))
    name = found.get("name")
    return Case(
        name=reader.text(name, "`name`"),
        span=name.span if name is not None else node.span,
        inputs={**inputs, **read_inputs(reader, found.get("inputs"))},
        scripts={**scripts, **own},
        own=frozenset(own),
        expect=_expectation(reader, found.get("expect")),
        now=_moment(reader, found.get("now")),
    )


def _moment(reader: Reader, node: Node | None) -> float:
    if node is None:
        return START.timestamp()
    try:
        moment = datetime.fromisoformat(node.text if isinstance(node, Scalar) else "")
    except ValueError:
        reader.wrong(node.span, "`now` must be a time such as 2026-01-05T09:00:00Z")
        return START.timestamp()
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _expectation(reader: Reader, node: Node | None) -> Expectation:
    found = reader.mapping(node, "`expect`", _EXPECT)
    if "failure" in found and "result" in found:
        reader.wrong(found["failure"].span, "a run that fails has no result: expect one of them")
    fields = reader.entries(found.get("state"), "`state`")
    state = {name: Expected(reader.data(value), value.span) for name, (_, value) in fields.items()}
    result, actions = found.get("result"), found.get("actions")
    common: dict[str, Any] = {
        "result": Expected(reader.data(result), result.span) if result is not None else None,
        "state": state,
        "failure": _failure(reader, found.get("failure")),
    }
    if isinstance(actions, Sequence):
        in_order = [_in_order(reader, item) for item in actions.items]
        return Expectation(**common, in_order=in_order, spans={"actions": actions.span})
    entries = reader.entries(actions, "`actions`")
    by_step: dict[str, list[ExpectedAction] | ExpectedAction] = {}
    for step, (_, value) in entries.items():
        if isinstance(value, Sequence):
            by_step[step] = [_action(reader, step, item) for item in value.items]
        else:
            by_step[step] = _action(reader, step, value)
    return Expectation(**common, by_step=by_step, spans={step: span for step, (span, _) in entries.items()})


def _failure(reader: Reader, node: Node | None) -> Expected | None:
    if node is None:
        return None
    if isinstance(node, Mapping):
        found = reader.mapping(node, "`failure`", _FAILURE)
        return Expected({key: reader.text(value, f"`{key}`") for key, value in found.items()}, node.span)
    return Expected({"message": reader.text(node, "`failure`")}, node.span)


def _in_order(reader: Reader, node: Node) -> ExpectedAction:
    if isinstance(node, Scalar):
        return ExpectedAction(reader.text(node, "an action in the list"), node.span)
    entries = reader.entries(node, "an action in the list")
    if len(entries) != 1:
        reader.wrong(node.span, "an action in the list is a step's id, or `id: what it asks`")
        return ExpectedAction("", node.span)
    [(step, (_, value))] = entries.items()
    return _action(reader, step, value)


def _action(reader: Reader, step: str, node: Node) -> ExpectedAction:
    value = reader.data(node)
    if value is not None and not isinstance(value, (str, dict)):
        reader.wrong(node.span, "an expected action is text, a mapping of parameters, or null")
    if isinstance(value, dict) and not _is_texts(value.get("contains", "")):
        reader.wrong(node.span, "`contains` must be text or a list of texts")
    return ExpectedAction(step, node.span, value)


def _is_texts(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value))


# Comparing a run with what its test expects.

_TEXTS = ("command", "message", "instructions", "tool")


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One thing that is not as expected, at the place of the test file that expects it."""

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
    """Everything in which a run that has ended is not what the case expects."""
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
        yield Mismatch(expect.failure.span, f"the run {reply['status']}, and should fail", has_values=False)
        return
    got = {
        "step": error.get("step_id", "").partition("@")[0],
        "code": error["code"],
        "message": error["message"],
    }
    for key, wanted in expect.failure.value.items():
        if got[key] != wanted and not (key == "message" and wanted in got[key]):
            yield Mismatch(expect.failure.span, f"the run failed with another {key}", wanted, got[key])


def _actions(expect: Expectation, asked: list[Asked]) -> Iterator[Mismatch]:
    if expect.in_order is not None:
        yield from _compare_in_order(expect, expect.in_order, asked)
    for step, wanted in expect.by_step.items():
        got = [one for one in asked if step in (one.step_id.partition("@")[0], f"{one.scope}/{_step(one)}")]
        if not isinstance(wanted, list):
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
    """What the step is called, in the way that the test calls it: with its scope, with its visit, or bare."""
    names = (asked.step_id, f"{asked.scope}/{_step(asked)}")
    return wanted if wanted in names else _step(asked)


def _compare_action(wanted: ExpectedAction, asked: Asked) -> Iterator[Mismatch]:
    parameters = asked.parameters
    text = next((str(parameters[key]) for key in _TEXTS if key in parameters), "")
    if isinstance(wanted.value, str):
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
            if key != "contains" and not same(value, parameters.get(key)):
                message = f"step `{asked.step_id}` has another `{key}`"
                yield Mismatch(wanted.span, message, value, parameters.get(key))


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON. 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
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
        known |= {target for _, target, _ in taken}
        # Frames around other states are not reported as entered; those at the very beginning no edge leads to.
        known |= {chart.root.initial} if known else set()
        for state in states.values():
            if state.step is not None and state.kind == state.step.kind and state.id not in chart.added:
                _count(counts["steps"], state.id in known, missing, state.line, f"step `{state.title}`")
        for edge in _branches(chart, states):
            hit = (edge.source, edge.target, edge.event) in taken
            # Of a step that nobody came to, that is enough to say.
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


def _words(edge: Edge, chart: Chart, states: dict[str, State]) -> str:
    state = states[edge.source]
    source, targets = _titles(state, chart)[0], _titles(states.get(edge.target), chart)
    goal = " and ".join(f"`{target}`" for target in targets) or "the end"
    if edge.event == "recover":
        return f"`{source}` failing, and on_error going on to {goal}"
    if edge.event == "retry":
        return f"`{source}` failing and being tried again"
    if state.kind == "when" or edge.source in chart.added:
        return f"`{source}` being " + ("done" if targets == [source] else f"skipped, on to {goal}")
    return f"`{source}` going on to {goal}"


def _titles(state: State | None, chart: Chart) -> list[str]:
    """What the author calls a state. A frame that a dialect has added stands for all that is in it."""
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
