"""How what a run did differs from what a test expects."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from wfc.driver import Asked
from wfc.testing.model import Case, Expectation, ExpectedAction
from wfc.yaml import Span

_TEXTS = ("command", "message", "instructions", "tool")


@dataclass(frozen=True)
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
    case: Case, reply: Mapping[str, Any], state: Mapping[str, Any], asked: list[Asked]
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


def _ending(case: Case, reply: Mapping[str, Any]) -> Iterator[Mismatch]:
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
        yield from _in_order(expect, expect.in_order, asked)
    for step, wanted in expect.by_step.items():
        got = [one for one in asked if step in (one.step_id.partition("@")[0], f"{one.scope}/{_step(one)}")]
        if not isinstance(wanted, list):
            wanted = [wanted] * max(len(got), 1)
        if len(wanted) != len(got):
            times = f"asked {len(got)} times, and should be {len(wanted)} times"
            yield Mismatch(expect.spans[step], f"step `{step}` was {times}", has_values=False)
        for one, action in zip(wanted, got, strict=False):
            yield from _action(one, action)


def _in_order(expect: Expectation, wanted: list[ExpectedAction], asked: list[Asked]) -> Iterator[Mismatch]:
    want = [one.step for one in wanted]
    got = [one.action["step_id"] for one in asked]
    names = [_name(step, one) for step, one in zip(want, asked, strict=False)] + [
        _step(one) for one in asked[len(want) :]
    ]
    if want != names:
        yield Mismatch(expect.spans["actions"], "the steps asked are others", "\n".join(want), "\n".join(got))
        return
    for one, action in zip(wanted, asked, strict=True):
        yield from _action(one, action)


def _step(asked: Asked) -> str:
    return asked.step_id.partition("@")[0]


def _name(wanted: str, asked: Asked) -> str:
    """What the step is called, in the way that the test calls it: with its scope, with its visit, or bare."""
    names = (asked.step_id, f"{asked.scope}/{_step(asked)}")
    return wanted if wanted in names else _step(asked)


def _action(wanted: ExpectedAction, asked: Asked) -> Iterator[Mismatch]:
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
