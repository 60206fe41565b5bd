"""What can happen to a machine, and what comes of it. Time and ids come in with the event; `step` has neither."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wfc_runtime.contract import Json
from wfc_runtime.machine.snapshot import Snapshot


@dataclass(frozen=True, kw_only=True)
class Event:
    at: float
    """Seconds since the epoch."""
    id: str
    """Unique among a run's events: the seed of uuid()."""


@dataclass(frozen=True, kw_only=True)
class Start(Event):
    inputs: dict[str, Json] = field(default_factory=dict)
    scope: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Submit(Event):
    visit: str
    result: Json


@dataclass(frozen=True, kw_only=True)
class Clock(Event):
    """The time is `at`: waits that are over end, deadlines that have passed fail their steps."""


@dataclass(frozen=True, kw_only=True)
class Joined(Event):
    """The children of a visit have ended. Each result is {"value": ...} or {"error": ...}, in item order."""

    visit: str
    results: list[dict[str, Json]]


@dataclass(frozen=True, kw_only=True)
class Cancel(Event):
    reason: str = ""


@dataclass(frozen=True)
class Child:
    """A machine to start for a visit of a Spawn state."""

    visit: str
    index: int
    task: str | None
    workflow: str | None
    inputs: dict[str, Json] | None
    scope: dict[str, Json]
    agent: str | None


@dataclass
class Outcome:
    snapshot: Snapshot
    entered: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    written: dict[str, Json] = field(default_factory=dict)
    children: list[Child] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    """Visits that ended without an answer: their children, if any, are to be cancelled."""
    notes: list[dict[str, Any]] = field(default_factory=list)
    """Failures that were retried or recovered from."""


class Refused(Exception):
    """An event that does not fit what the machine waits for. Nothing has changed."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class StepFailed(Exception):
    """A step could not do its work."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
