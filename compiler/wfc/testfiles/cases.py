"""The content of a test file, with positions. docs/testing.md is the reference.

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
have, with `contains` for parts of that text; or null for an action with any content. Mappings inside a parameter need
only have the keys that are named. In a list, they are ids or `id: action`. A `message` of a failure need only
be part of the real one. Without `failure` the run has to complete.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from datetime import UTC, datetime
from typing import Any

from wfc.language.values import plain
from wfc.struct import struct
from wfc.testfiles.reader import Reader
from wfc.testfiles.scripts import Given, Script, read_inputs, read_scripts
from wfc.yaml import Mapping, Node, Scalar, Sequence, Span

# Test files as data, with positions.


@struct(frozen=True)
class Expected:
    """A value that something must be."""

    value: Any
    span: Span
    key: Span | None = None
    """The position of its name."""


@struct(frozen=True)
class ExpectedAction:
    """The expectation for one action."""

    step: str
    span: Span
    value: Any = None
    """Text, a mapping, or None for anything."""
    keys: dict[str, Span] = field(default_factory=dict)
    """The positions of the keys of a mapping."""
    name: Span | None = None
    """The position of the step's name, in a list of `id: action`."""


@struct(frozen=True)
class Expectation:
    result: Expected | None = None
    state: dict[str, Expected] = field(default_factory=dict)
    failure: Expected | None = None
    failing_step: Expected | None = None
    in_order: list[ExpectedAction] | None = None
    """All actions of the run."""
    by_step: dict[str, list[ExpectedAction] | ExpectedAction] = field(default_factory=dict)
    """A list: one per visit, and no other. One alone: every visit."""
    spans: dict[str, Span] = field(default_factory=dict)
    """The positions of the keys of `by_step`, and of `actions` itself."""


@struct(frozen=True)
class Case:
    name: str
    span: Span
    """Of the name."""
    whole: Span
    given: dict[str, Given]
    """The inputs, those of the whole file among them."""
    scripts: dict[str, Script]
    own: frozenset[str]
    """The keys of `scripts` that are the case's own: all of them must be used."""
    expect: Expectation
    now: float
    now_span: Span | None

    @property
    def inputs(self) -> dict[str, Any]:
        return {name: one.value for name, one in self.given.items()}


@struct(frozen=True)
class TestFile:
    workflow: Expected | None
    """As the file names it; None: the one that the file is named after."""
    given: dict[str, Given]
    scripts: dict[str, Script]
    cases: list[Case]

    __test__ = False
    """For pytest, which collects every class whose name begins with Test."""


# Reading test files.

START = datetime(2026, 1, 1, tzinfo=UTC)
"""The result of now() if a test does not set it."""
_FILE = ("workflow", "inputs", "answers", "tests")
_CASE = ("name", "inputs", "answers", "now", "expect")
_EXPECT = ("result", "state", "failure", "actions")
_FAILURE = ("step", "code", "message")


def read_tests(reader: Reader) -> TestFile:
    """The cases of a file. `reader.reports` has its mistakes."""
    if reader.root is None and not reader.reports:
        reader.wrong(reader.start, "the file is empty; it needs the key `tests`", code="WF005")
    found = reader.mapping(reader.root, "a test file", _FILE, required=("tests",))
    inputs = read_inputs(reader, found.get("inputs"))
    scripts = read_scripts(reader, found.get("answers"))
    workflow = found.get("workflow")
    named = Expected(reader.text(workflow, "`workflow`"), workflow.span) if workflow is not None else None
    tests = found.get("tests")
    cases = [_case(reader, node, inputs, scripts) for node in reader.items(tests, "`tests`")]
    if isinstance(tests, Sequence) and not cases:
        reader.wrong(tests.span, "there is no test in the list", code="WF005")
    _look_for_same_names(reader, cases)
    return TestFile(named, inputs, scripts, cases)


def _look_for_same_names(reader: Reader, cases: Iterable[Case]) -> None:
    seen: set[str] = set()
    for case in cases:
        if case.name and case.name in seen:
            reader.wrong(case.span, f"there are two tests `{case.name}`", "give one another name", "WF101")
        seen.add(case.name)


def _case(reader: Reader, node: Node, inputs: dict[str, Given], scripts: dict[str, Script]) -> Case:
    found = reader.mapping(node, "a test", _CASE, required=("name",))
    own = read_scripts(reader, found.get("answers"))
    name = found.get("name")
    return Case(
        name=reader.text(name, "`name`"),
        span=name.span if name is not None else node.span,
        whole=node.span,
        given={**inputs, **read_inputs(reader, found.get("inputs"))},
        scripts={**scripts, **own},
        own=frozenset(own),
        expect=_expectation(reader, found.get("expect")),
        now=_moment(reader, found.get("now")),
        now_span=found["now"].span if "now" in found else None,
    )


def _moment(reader: Reader, node: Node | None) -> float:
    if node is None:
        return START.timestamp()
    try:
        moment = datetime.fromisoformat(node.text if isinstance(node, Scalar) else "")
    except ValueError:
        reader.wrong(node.span, "`now` must be a time such as 2026-01-05T09:00:00Z")
        return START.timestamp()
    # A time without a zone is UTC, so that a test has the same result on every machine.
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _expectation(reader: Reader, node: Node | None) -> Expectation:
    found = reader.mapping(node, "`expect`", _EXPECT)
    if "failure" in found and "result" in found:
        message = "a run that fails has no result: expect one of them"
        reader.wrong(found["failure"].span, message, code="WF120")
    fields = reader.entries(found.get("state"), "`state`")
    state = {name: Expected(reader.data(value), value.span, key) for name, (key, value) in fields.items()}
    result, actions, failure = found.get("result"), found.get("actions"), found.get("failure")
    failing = failure.get("step") if isinstance(failure, Mapping) else None
    common: dict[str, Any] = {
        "result": Expected(reader.data(result), result.span) if result is not None else None,
        "state": state,
        "failure": _failure(reader, failure),
        "failing_step": Expected(failing.text, failing.span) if isinstance(failing, Scalar) else None,
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
    [(step, (key, value))] = entries.items()
    return _action(reader, step, value, key)


def _action(reader: Reader, step: str, node: Node, name: Span | None = None) -> ExpectedAction:
    value = reader.data(node)
    if value is not None and not isinstance(value, (str, dict)):
        reader.wrong(node.span, "an expected action is text, a mapping of parameters, or null")
    keys: dict[str, Span] = {}
    if isinstance(node, Mapping):
        keys = {entry.key.text: entry.key.span for entry in node.entries}
        part = node.get("contains")
        if part is not None and not _is_texts(plain(part)):
            reader.wrong(part.span, "`contains` must be text or a list of texts")
    return ExpectedAction(step, node.span, value, keys, name)


def _is_texts(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value))
