"""What can happen to a machine, and what comes of it. Time and ids come in with the event."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
    """Unique among all events: the seed of uuid() and of children's ids."""


@dataclass(frozen=True, kw_only=True)
class Start(Event):
    inputs: dict[str, Json] = field(default_factory=dict)
    """Complete and checked: what `check_inputs` gave."""
    scope: dict[str, Json] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    """Values that whoever starts it knows to be secrets."""


@dataclass(frozen=True, kw_only=True)
class Submit(Event):
    visit: str
    result: Json
    served: bool = False
    """Whether the server did it by itself."""


@dataclass(frozen=True, kw_only=True)
class Interrupted(Event):
    """The server that was executing a visit ended before it was done. It may have taken effect, or not."""

    visit: str
    since: float
    """When the server began."""


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
    """Values that the child knew to be secrets."""
    served: bool = False
    """Whether it had more room than usual, for what a server brought by itself: its parent needs that too then."""


@dataclass(frozen=True, kw_only=True)
class Cancel(Event):
    reason: str = ""


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
    """None: the item in the scope fills them, see `bind_item`."""
    scope: dict[str, Json]
    max_depth: int | None = None
    """How deep runs may nest here, where the workflow says so itself."""
    only_declared: bool = False
    """Whether `inputs` that the machine does not have are left out."""
    served: bool = False
    """Whether its parent has more room than usual, for what a server brought by itself, and may pass that on."""


@dataclass(slots=True)
class Outcome:
    snapshot: Snapshot
    entered: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    taken: list[Edge] = field(default_factory=list)
    """The edges that were gone, for whoever measures what runs cover."""
    written: dict[str, Json] = field(default_factory=dict)
    started: list[Child] = field(default_factory=list)
    """Children to start now."""
    stopped: list[str] = field(default_factory=list)
    """The ids of children whose results nobody waits for any more: to be cancelled."""
    notes: list[dict[str, Json]] = field(default_factory=list)
    """Failures that were retried, recovered from or deferred."""
    secrets: tuple[str, ...] = ()
    """All values that are known to be secrets, also where the snapshot has forgotten them."""
    forgotten: list[str] = field(default_factory=list)
    """Fields that no longer hold their secrets, now that the run has ended."""
    result_text: str | None = None
    """A submitted result as JSON: it was written down to measure it, and the history needs the same text."""
    refusal: RefusedError | None = None
    """The result did not fit. The snapshot counts that, so it is to be kept."""
