"""What a workflow execution begins with, and what it is told and says: plain data, the same on every machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wfc_runtime.contract import Json
from wfc_runtime.machine.limits import Limits

RENEW_AFTER = 4_000
"""Events of Temporal's own history after which a run goes on in a fresh execution."""


@dataclass(slots=True)
class Seed:
    """A run: new, or as an earlier execution or another engine left it."""

    workflow: str
    digest: str
    inputs: dict[str, Json] = field(default_factory=dict)
    scope: dict[str, Json] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)
    """Values that whoever starts it knows to be secrets."""
    at: float | None = None
    """When it starts. None: when a worker takes it up."""
    simulated: bool = False
    """Whether time is what callers say instead of what the server says."""
    actor: str | None = None
    task: str | None = None
    agent: str | None = None
    parent: str | None = None
    visit: str | None = None
    position: int | None = None
    depth: int = 1
    tells: bool = False
    """Whether the parent hears of the end by a signal: it was not this execution's parent that started it."""
    limits: dict[str, Any] = field(default_factory=dict)
    """Part of the run: were they the worker's own, another worker could not replay it."""
    renew_after: int = RENEW_AFTER
    snapshot: str | None = None
    version: int = 0
    created: float = 0
    updated: float = 0
    moved: dict[str, Json] | None = None
    """Where a run that was not started here comes from, for the history."""
    earlier: list[dict[str, Any]] = field(default_factory=list)
    """What happened there, as far as it goes along."""

    @property
    def run_limits(self) -> Limits:
        return Limits.of(self.limits)


@dataclass(slots=True)
class Answer:
    """A result for a pending visit."""

    step_id: str
    result: Json = None
    actor: str | None = None
    at: float | None = None
    unfit: str = ""
    """Why the result, which is not here, can't be kept."""


@dataclass(slots=True)
class Move:
    """Another version of its workflow, for a run to go on with."""

    digest: str
    actor: str | None = None
    at: float | None = None


@dataclass(slots=True)
class Ended:
    """How a child tells a parent that is no longer the execution that started it."""

    child: str
    result: dict[str, Json] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Said:
    """What a call got: a reply, or the error to raise. Beside it, what the service has to wait for."""

    reply: dict[str, Any] = field(default_factory=dict)
    """Empty where it is too large for the way: to be asked for."""
    error: dict[str, str] | None = None
    parent: str | None = None
    """Of a run that has ended: who goes on by it."""
    unsettled: list[str] = field(default_factory=list)
    """Children that may yet end without anybody's help."""
    is_quiet: bool = True
    """Whether the children that the run has asked for are there, and those it has dropped are stopped."""
    due: float | None = None
    version: int = 0
