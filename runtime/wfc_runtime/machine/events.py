"""The events of a machine and their outcome. Time and ids arrive with the event, so that a step is deterministic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wfc_runtime.contract import Json
from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.snapshot import Snapshot

if TYPE_CHECKING:
    from wfc_runtime.machine.interpreter import Edge


@dataclass(frozen=True, kw_only=True)
class Event:
    at: float
    """Seconds since the epoch."""
    id: str
    """Unique among all events; seeds uuid() and the ids of children."""


@dataclass(frozen=True, kw_only=True)
class Start(Event):
    inputs: dict[str, Json] = field(default_factory=dict)
    """Complete and checked: the result of `check_inputs`."""
    scope: dict[str, Json] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    """Values that the caller knows to be secrets."""


@dataclass(frozen=True, kw_only=True)
class Submit(Event):
    visit: str
    result: Json
    served: bool = False
    """Whether the server executed the action itself."""
    worktree: dict[str, Json] | None = None
    """Where the agent worked; empty if nothing is changed there. None: only the result tells."""


@dataclass(frozen=True, kw_only=True)
class Interrupted(Event):
    """The server that was executing a visit ended before it was done. It may or may not have taken effect."""

    visit: str
    since: float
    """When the server started."""


@dataclass(frozen=True, kw_only=True)
class Clock(Event):
    """The time is `at`: waits that are over end, deadlines that have passed fail their steps."""


@dataclass(frozen=True, kw_only=True)
class ChildEnded(Event):
    """A child of a visit has ended: with {"value": ...} or {"error": ...}."""

    visit: str
    index: int
    result: dict[str, Json]
    secrets: tuple[str, ...] = ()
    """Values that the child knows to be secrets."""
    served: bool = False
    """Whether its state limit was raised for results of a server: its parent's limit is then raised, too."""


@dataclass(frozen=True, kw_only=True)
class Spent(Event):
    """An action of the family has cost something. For the root run."""

    usage: dict[str, float]
    accounts: dict[str, Any]
    """The accounts that it belongs to, by key, as they are if nothing has been spent from them yet."""


@dataclass(frozen=True, kw_only=True)
class BudgetSet(Event):
    """The operator limits what a run may spend."""

    account: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class FieldsUpdated(Event):
    """Someone changes state fields from outside. The run waits for the same as before."""

    changes: list[list[Json]]
    """Each as field, keys, operation and value."""


@dataclass(frozen=True, kw_only=True)
class ChildRetried(Event):
    """A failed child of a visit that still waits for other children has been retried, so it is waited for again."""

    visit: str
    index: int


@dataclass(frozen=True, kw_only=True)
class Cancel(Event):
    reason: str = ""
    keeps: bool = False
    """Whether the run can be continued: it is cancelled only because its parent failed, and that can be retried."""


@dataclass(frozen=True, kw_only=True)
class Reopen(Event):
    """Continue a run that failed, or that was cancelled because its parent failed."""

    visit: str = ""
    """The failed visit to start over. Empty: every failed visit."""
    reopen: frozenset[str] = frozenset()
    """The failed children of that visit that are retried with it."""
    renews: bool = True
    """Whether its other failed children are started again; otherwise they stay as they are."""


@dataclass(frozen=True)
class Child:
    """A machine to start for a visit of a Spawn state."""

    id: str
    visit: str
    index: int
    task: str | None
    workflow: str | None
    agent: str | None
    inputs: dict[str, Json] | None
    """None: the item in the scope supplies them, see `bind_item`."""
    scope: dict[str, Json]
    max_depth: int | None = None
    """The maximum nesting depth of runs, if the workflow sets one."""
    only_declared: bool = False
    """Whether `inputs` that the machine does not declare are dropped."""
    served: bool = False
    """Whether its parent's state limit was raised for results of a server, which it may pass on."""


@dataclass(slots=True)
class Outcome:
    snapshot: Snapshot
    entered: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    taken: list[Edge] = field(default_factory=list)
    """The edges that were taken, for measuring coverage."""
    written: dict[str, Json] = field(default_factory=dict)
    said: list[dict[str, Json]] = field(default_factory=list)
    """Messages for the user."""
    derived: list[str] = field(default_factory=list)
    """The derived fields that were computed, in order, including those whose values stayed the same."""
    started: list[Child] = field(default_factory=list)
    """Children to start now."""
    stopped: list[str] = field(default_factory=list)
    """The ids of children whose results are no longer needed: to be cancelled."""
    resumed: list[str] = field(default_factory=list)
    """States that wait again, as the same visits, because the run was retried."""
    reopened: list[str] = field(default_factory=list)
    """The ids of ended children that are waited for again: to be retried."""
    notes: list[dict[str, Json]] = field(default_factory=list)
    """Failures that were retried, recovered from or deferred."""
    secrets: tuple[str, ...] = ()
    """All values known to be secrets, including those that the snapshot no longer contains."""
    forgotten: list[str] = field(default_factory=list)
    """Fields whose secrets were removed because the run has ended."""
    result_text: str | None = None
    """A submitted result as JSON: it was encoded to measure it, and the history needs the same text."""
    refusal: RefusedError | None = None
    """Set if the result was invalid. The snapshot counts such results, so it has to be stored."""
