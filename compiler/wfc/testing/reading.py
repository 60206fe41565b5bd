"""From YAML to test cases, with every mistake in it at its place."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from wfc.answers import Script
from wfc.answers.nodes import Reader
from wfc.answers.reading import read_inputs, read_scripts
from wfc.testing.model import Case, Expectation, Expected, ExpectedAction, TestFile
from wfc.yaml import Mapping, Node, Scalar, Sequence

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
