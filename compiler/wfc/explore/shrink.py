"""A trial made as small as it gets while it still shows its problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from wfc.explore.attempts import Attempt, Key
from wfc.explore.findings import Signature, signatures
from wfc.explore.report import Case
from wfc.explore.search import Search
from wfc.explore.trial import Trace

_MOST_TRIALS = 400
_MOST_EVENTS = 15_000
"""In all trials together: those of a run that does not end are long."""


def smallest_case(search: Search, which: Signature, trace: Trace) -> Case:
    """Answers that are few, short and plain, and lead to the same problem."""
    case = _case(trace)
    trials = events = 0
    attempt = Attempt(trace.inputs, trace.answers)
    improved = True
    while improved:
        improved = False
        for smaller in _smaller(attempt, which):
            if trials >= _MOST_TRIALS or events >= _MOST_EVENTS:
                return case
            found = search.trace_of(smaller)
            trials += 1
            events += found.events if found is not None else 0
            if found is None or which not in signatures(found) or _case(found).size >= case.size:
                continue
            # What was asked is what counts; what is always said stays so, or the run would end.
            attempt = smaller if smaller.always else Attempt(found.inputs, found.answers)
            case = _case(found)
            improved = True
            break
    return case


def _case(trace: Trace) -> Case:
    """One answer for every time, where they are all the same: the file then says it once."""
    answers = {
        key: results[:1] if len(results) > 1 and _is_one(results) else results
        for key, results in trace.answers.items()
    }
    return Case(trace.inputs, answers)


def _is_one(results: list[Any]) -> bool:
    return not isinstance(results[0], list) and all(one == results[0] for one in results)


def _smaller(attempt: Attempt, which: Signature) -> Iterator[Attempt]:
    if which[3] == "running" and not attempt.always:
        for key, results in attempt.answers.items():
            yield Attempt(attempt.inputs, {}, {key: results[-1]})
        yield Attempt(attempt.inputs, {}, {key: one[-1] for key, one in attempt.answers.items()})
    for name in attempt.inputs:
        yield replace(attempt, inputs={key: one for key, one in attempt.inputs.items() if key != name})
    for key in attempt.answers:
        yield replace(attempt, answers={other: one for other, one in attempt.answers.items() if other != key})
    for key, results in attempt.answers.items():
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
        case bool():
            return
        case int() | float() if value:
            yield 0
            if abs(value) > 1:
                yield 1
