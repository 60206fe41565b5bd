"""Which failures of trials are problems of the workflow, and one trial for each that shows it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from wfc.explore.trial import Failure, Trace

Signature = tuple[str, str, str, str]
"""Kind, scope, state, and which expression of it."""

_WHERE = re.compile(r"\(in `(.*)`, at character \d+\)$", re.S)
_KINDS = {
    "expression": "expression",
    "state_access": "expression",
    "items": "items",
    "item": "items",
    "child_item": "items",
    "child_invalid_inputs": "items",
    "result_schema": "schema",
    "moves": "endless",
    "max_iterations": "endless",
}
"""Failures that an agent cannot be blamed for. The others are how a run says no."""


def signature(failure: Failure) -> Signature | None:
    kind = _KINDS.get(failure.code)
    if kind is None:
        return None
    where = _WHERE.search(failure.message)
    return (kind, failure.scope, failure.state, where[1] if where else failure.code)


def signatures(trace: Trace) -> dict[Signature, str]:
    """The problems that a trial shows, each with its message."""
    found: dict[Signature, str] = {}
    for failure in trace.failures:
        which = signature(failure)
        if which is not None:
            found.setdefault(which, failure.message)
    if trace.status == "running":
        scope, state = _busiest(trace)
        message = f"still going on after {trace.events:,} events"
        found.setdefault(("endless", scope, state, "running"), message)
    return found


def _busiest(trace: Trace) -> tuple[str, str]:
    return max(trace.entered, key=lambda place: trace.entered[place])


@dataclass
class Findings:
    """The smallest trial for each problem so far, and what runs that came to a good end went through."""

    traces: dict[Signature, Trace] = field(default_factory=dict)
    messages: dict[Signature, str] = field(default_factory=dict)
    completed: set[tuple[str, str]] = field(default_factory=set)

    def add(self, trace: Trace) -> None:
        if trace.status == "completed":
            self.completed.update(trace.entered)
        for which, message in signatures(trace).items():
            known = self.traces.get(which)
            if known is None or len(trace.asked) < len(known.asked):
                self.traces[which] = trace
                self.messages[which] = message

    def problems(self) -> dict[Signature, Trace]:
        """A loop that other runs have left is not endless, only long."""
        return {
            which: trace
            for which, trace in self.traces.items()
            if which[0] != "endless" or which[3] != "max_iterations" or which[1:3] not in self.completed
        }
