"""One case against one implementation: what is expected, held against what it says and does."""

from __future__ import annotations

import re
import time
from typing import Any, Protocol

from conformance.suite import Case, Event, Expanded, Finding

Reply = dict[str, Any]
PATIENCE = 300.0
"""Seconds to wait for a step that ends without an answer. No case is about speed."""
ENDED = ("completed", "failed", "cancelled")


class RefusedError(Exception):
    """The text of a refusal."""


class DifferenceError(Exception):
    """What was expected, and what was found."""


class Implementation(Protocol):
    """What a case needs. `conformance.client` has it over MCP."""

    def check(self, text: str) -> list[Finding]: ...
    def start(self, text: str, inputs: dict[str, Any] | None) -> Reply: ...
    def submit(self, run: str, step: str, result: Any) -> Reply: ...
    def status(self, run: str) -> Reply: ...
    def state(self, run: str, fields: list[str]) -> Reply: ...
    def retry(self, run: str) -> Reply: ...
    def cancel(self, run: str) -> Reply: ...


def try_case(implementation: Implementation, expanded: Expanded) -> None:
    """Nothing, or a DifferenceError that describes the difference."""
    if expanded.case.check is not None:
        _verdict(implementation, expanded)
    else:
        Trial(implementation, expanded).work()


def _verdict(implementation: Implementation, expanded: Expanded) -> None:
    """Errors and warnings are exactly those that are marked; information counts only where it is marked."""
    found = implementation.check(expanded.text)
    severities = {(one.code, one.line, one.column): one.severity for one in expanded.findings}
    marked = {one.code for one in expanded.findings}
    seen = [one for one in found if one.severity != "info" or one.code in marked]
    expected = sorted(severities)
    actual = sorted({(one.code, one.line, one.column) for one in seen})
    if actual != expected:
        raise DifferenceError(f"expected {_places(expected)}, found {_places(actual)}")
    for one in seen:
        wanted = severities[one.code, one.line, one.column]
        if wanted and wanted != one.severity:
            raise DifferenceError(f"expected {one} to be {wanted}, found {one.severity}")


def _places(findings: list[tuple[str, int, int]]) -> str:
    return ", ".join(f"{code} at {line}:{column}" for code, line, column in findings) or "no findings"


class Trial:
    """A run of a case, from its start to its end."""

    def __init__(self, implementation: Implementation, expanded: Expanded) -> None:
        self._implementation = implementation
        self._text = expanded.text
        self._case: Case = expanded.case
        self._children: dict[str, str] = {}
        self._reply: Reply = {}
        """The last reply, of whichever run."""
        self._now: Reply | None = None
        """The state of the run itself, if the last reply shows all of it."""

    def work(self) -> None:
        case = self._case
        try:
            self._reply = self._implementation.start(self._text, case.inputs)
        except RefusedError as refused:
            if case.start_refused is None:
                raise DifferenceError(f"the run does not start: {refused}") from None
            _contains(str(refused), case.start_refused, "the refusal of the start")
            return
        if case.start_refused is not None:
            raise DifferenceError(f"the run starts: {_short(self._reply)}")
        self._children[""] = self._reply["workflow_id"]
        self._now = self._reply
        for number, event in enumerate(case.script, 1):
            try:
                self._happen(event)
            except DifferenceError as difference:
                raise DifferenceError(f"event {number}: {difference}") from None
        self._end()

    # -- events --------------------------------------------------------------------

    def _happen(self, event: Event) -> None:
        run = self._run_of(event.within)
        if event.messages is not None:
            self._messages(event.messages)
        status = self._look(event.within)
        if event.status is not None and status["status"] != event.status:
            raise DifferenceError(f"expected the status {event.status}, found {_short(status)}")
        actions = {action["step_id"]: action for action in actions_of(status)}
        if event.pending is not None and sorted(actions) != sorted(event.pending):
            raise DifferenceError(f"expected {event.pending} to be pending, found {_short(status)}")
        if event.state is not None:
            self._state(run, event.state)
        if event.step is not None and not event.repeated:
            if event.step in actions:
                self._action(event, actions[event.step])
            elif event.refused is None:
                raise DifferenceError(f"expected {event.step} to be pending, found {_short(status)}")
        self._act(event, run)

    def _action(self, event: Event, action: Reply) -> None:
        if event.type is not None and action["type"] != event.type:
            raise DifferenceError(f"expected an action of type {event.type}, found {action['type']}")
        compare(event.has, action["parameters"], f"the parameters of {event.step}")
        if found := set(event.lacks) & set(action["parameters"]):
            raise DifferenceError(f"{event.step} has {', '.join(sorted(found))}")

    def _look(self, within: str) -> Reply:
        if within or self._now is None:
            return self._implementation.status(self._run_of(within))
        return self._now

    def _act(self, event: Event, run: str) -> None:
        if event.do is None and not event.submits and not event.passes:
            return
        self._now = None
        try:
            if event.do == "retry":
                self._reply = self._implementation.retry(run)
            elif event.do == "cancel":
                self._reply = self._implementation.cancel(run)
            elif event.submits:
                assert event.step is not None
                self._reply = self._implementation.submit(run, event.step, event.answer)
            elif event.passes:
                self._pass(run, str(event.step))
        except RefusedError as refused:
            if event.refused is None:
                raise DifferenceError(f"{event.step} is refused: {refused}") from None
            _contains(str(refused), event.refused, "the refusal")
            return
        if event.refused is not None:
            raise DifferenceError(f"it is not refused: {_short(self._reply)}")
        if not event.within and "still_pending" not in self._reply:
            self._now = self._reply
        if event.repeated and self._reply.get("repeated") is not True:
            raise DifferenceError(f"it does not count as repeated: {_short(self._reply)}")

    def _pass(self, run: str, step: str) -> None:
        end = time.monotonic() + PATIENCE
        while True:
            self._reply = self._implementation.status(run)
            if step not in [action["step_id"] for action in actions_of(self._reply)]:
                return
            if time.monotonic() > end:
                raise DifferenceError(f"{step} does not end by itself")
            time.sleep(0.01)

    def _run_of(self, path: str) -> str:
        """The id of a run that is named by the steps that lead to it."""
        if path not in self._children:
            outer, _, last = path.rpartition("/")
            found = re.fullmatch(r"([^\[]+)\[(\d+)\]", last)
            assert found is not None, f"{last} is not like step[0]"
            reply = self._implementation.status(self._run_of(outer))
            actions = {action["step_id"]: action for action in actions_of(reply)}
            listed = actions.get(found[1], {}).get("parameters", {}).get("children", [])
            index = int(found[2])
            run = next((one["workflow_id"] for one in listed if one.get("index", 0) == index), None)
            if run is None:
                raise DifferenceError(f"no child {path}: {_short(reply)}")
            self._children[path] = run
        return self._children[path]

    # -- the end -------------------------------------------------------------------

    def _end(self) -> None:
        case = self._case
        run = self._children[""]
        reply = self._look("")
        if case.ends_as and reply["status"] != case.ends_as:
            raise DifferenceError(f"expected the run to end as {case.ends_as}, found {_short(reply)}")
        if "result" in case.model_fields_set:
            compare(case.result, reply.get("result"), "the result", exact=True)
        if "result_has" in case.model_fields_set:
            compare(case.result_has, reply.get("result"), "the result")
        if case.error is not None:
            compare(case.error.model_dump(exclude_none=True), reply.get("error", {}), "the error")
        if case.messages is not None:
            self._messages(case.messages)
        if case.state:
            self._state(run, case.state)
        if reply["status"] not in ENDED:
            self._implementation.cancel(run)

    def _state(self, run: str, expected: dict[str, Any]) -> None:
        compare(expected, self._implementation.state(run, list(expected)), "the state", exact=True)

    def _messages(self, expected: list[Any]) -> None:
        found = [one["message"] for one in self._reply.get("messages", [])]
        compare(expected, found, "the messages")


def actions_of(reply: Reply) -> list[Reply]:
    return reply.get("actions") or ([reply["action"]] if "action" in reply else [])


def compare(expected: Any, found: Any, what: str, *, exact: bool = False) -> None:
    """Equality as JSON: true is not 1, and 1 is 1.0. Unless it is exact, an object may have more keys than expected.
    `{$contains: text}` and `{$matches: pattern}` stand for texts."""
    match expected:
        case {"$contains": text}:
            _contains(str(found), text, what)
        case {"$matches": pattern}:
            if not (isinstance(found, str) and re.search(pattern, found)):
                raise DifferenceError(f"{what}: {_short(found)} does not match {pattern}")
        case dict():
            if not isinstance(found, dict) or (exact and set(found) != set(expected)):
                raise DifferenceError(f"{what}: expected {_short(expected)}, found {_short(found)}")
            for key, value in expected.items():
                if key not in found:
                    raise DifferenceError(f"{what} has no {key}: {_short(found)}")
                compare(value, found[key], f"{what}.{key}", exact=exact)
        case list():
            if not isinstance(found, list) or len(found) != len(expected):
                raise DifferenceError(f"{what}: expected {_short(expected)}, found {_short(found)}")
            for place, (one, other) in enumerate(zip(expected, found, strict=True)):
                compare(one, other, f"{what}[{place}]", exact=exact)
        case _:
            same_kind = isinstance(expected, bool) == isinstance(found, bool)
            if not same_kind or expected != found:
                raise DifferenceError(f"{what}: expected {_short(expected)}, found {_short(found)}")


def _contains(found: str, text: str, what: str) -> None:
    if text not in found:
        raise DifferenceError(f"{what} does not contain {text!r}: {_short(found)}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 400 else f"{text[:400]} ..."
