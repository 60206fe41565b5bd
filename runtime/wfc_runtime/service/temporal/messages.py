"""Arguments and results of the workflow: plain data that every worker and client understands."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from wfc_runtime.contract import Json
from wfc_runtime.machine.values import Limits

RENEW_AFTER = 4_000
"""Events in Temporal's history after which a run continues as new."""
_GRACE_SECONDS = 30
"""How long after its timeout an action failed in earlier versions, unless the settings said otherwise."""


@dataclass(slots=True)
class Seed:
    """The argument of an execution: a new run, or one from an earlier execution or another engine."""

    workflow: str
    digest: str
    inputs: dict[str, Json] = field(default_factory=dict)
    scope: dict[str, Json] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)
    """Values that the starter knows to be secrets."""
    at: float | None = None
    """The start time. None: when a worker picks it up."""
    simulated: bool = False
    """Whether callers supply the time instead of the server."""
    actor: str | None = None
    task: str | None = None
    agent: str | None = None
    parent: str | None = None
    visit: str | None = None
    position: int | None = None
    depth: int = 1
    tells: bool = False
    """Whether the run signals its end to the parent: the parent's current execution did not start it."""
    limits: dict[str, Any] = field(default_factory=dict)
    """Limits belong to the run: a worker with different limits could not replay it."""
    keeps_overdue: bool = False
    """False in executions that an earlier version started: there the clock fails overdue actions, and a replay of the
    recorded history must do the same. The next execution of the run no longer does."""
    lists_overdue: bool = False
    """Whether the memo says when an action becomes overdue; not in executions that an earlier version started."""
    computes: bool = False
    """Whether the run executes actions that only compute; in executions of earlier versions the agent does."""
    lists_details: bool = False
    """Whether the memo says whom the run waits for; not in executions that an earlier version started."""
    renew_after: int = RENEW_AFTER
    snapshot: str | None = None
    version: int = 0
    created: float = 0
    updated: float = 0
    moved: dict[str, Json] | None = None
    """The origin of a run from another engine, for the history."""
    earlier: list[dict[str, Any]] = field(default_factory=list)
    """The history from that engine, if it is moved along."""
    retry: dict[str, Any] | None = None
    """The parts to restart in a failed run and in its children: {"plan": {run: ...}}."""
    note: dict[str, Any] | None = None
    """The entry for the journal of an ended run: the arguments of a `Note`."""
    noted: int = 0
    """The number of journal events in earlier executions."""
    logged: dict[str, list[dict[str, Json]]] = field(default_factory=dict)
    """The entries logged there for visits that are still pending and expect a report."""
    root: str | None = None
    """The run that keeps the accounts of the family; None for that run itself, and where nothing has a budget."""
    accounts: dict[str, Any] = field(default_factory=dict)
    """The accounts of the steps and workflows around this run, as they are if nothing has been spent from them."""
    held: bool = False
    """Whether a used-up budget of the root run held the run back when it was started."""
    leases: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The visits that processes have reserved: {visit: {"owner", "since", "until"}}."""
    previous: str | None = None
    """The execution that failed before this one, which has the earlier history."""

    @property
    def run_limits(self) -> Limits:
        limits = Limits.of(self.limits)
        if self.keeps_overdue or limits.grace_seconds is not None:
            return limits
        return replace(limits, grace_seconds=_GRACE_SECONDS)


@dataclass(slots=True)
class Answer:
    """A result for a pending visit."""

    step_id: str
    result: Json = None
    actor: str | None = None
    at: float | None = None
    unfit: str = ""
    """Why the result, which was left out, can't be stored."""
    shown: str | None = None
    """The digest of the action that was displayed to the person who answers."""
    usage: dict[str, float] = field(default_factory=dict)
    """The reported cost of the work."""
    owner: str | None = None
    """The process that did the work under its lease."""
    call: dict[str, Json] = field(default_factory=dict)
    """The record of the agent's call that did the work, for the history."""


@dataclass(slots=True)
class Lease:
    """The argument of `lease`: a process takes a visit, renews its lease or, with 0 seconds, gives it back."""

    step_id: str
    owner: str
    seconds: float
    renews: bool = False
    at: float | None = None


@dataclass(slots=True)
class Entry:
    """The argument of `record`: something that happened around a run without an event of its machine."""

    kind: str
    data: dict[str, Json]
    visit: str | None = None
    """The visit whose accounts pay."""
    usage: dict[str, float] = field(default_factory=dict)
    actor: str | None = None
    at: float | None = None


@dataclass(slots=True)
class BudgetChange:
    """The argument of `set_budget`."""

    limits: dict[str, float]
    spent: dict[str, float]
    """The spending of the family so far."""
    actor: str | None = None
    at: float | None = None


@dataclass(slots=True)
class SharedAccounts:
    """The argument of `share_accounts`: the run that keeps the accounts, and those that a child did not know."""

    root: str
    accounts: dict[str, Any]


@dataclass(slots=True)
class Spending:
    """The argument of `spent`: the cost of an answer in the family, for the run that keeps the accounts."""

    usage: dict[str, float]
    accounts: dict[str, Any]


@dataclass(slots=True)
class Note:
    """The argument of `note`: an entry for the journal, decided by the caller."""

    data: dict[str, Json]
    after: int
    """The number of journal events that the caller knew. With another number the caller decides again."""
    visit: str | None = None
    opens: str | None = None
    closes: str | None = None
    actor: str | None = None
    at: float | None = None


@dataclass(slots=True)
class StateUpdates:
    """The argument of `update_state`: changes of state fields by hand."""

    updates: Json
    actor: str | None = None
    key: str | None = None
    """Updates with the same key are made once."""
    at: float | None = None


@dataclass(slots=True)
class Move:
    """The argument of `move`: another version of its workflow for a run to continue with."""

    digest: str
    actor: str | None = None
    at: float | None = None


@dataclass(slots=True)
class RetriedChild:
    """The argument of `retry_child`: a failed child that continues while its parent waits for others."""

    child: str
    plan: dict[str, dict[str, Any]]
    actor: str | None = None
    at: float | None = None


@dataclass(slots=True)
class Reopening:
    """The argument of the activity that continues a child that has ended."""

    child: str
    plan: dict[str, dict[str, Any]]
    """The parts to restart, by run. In a run that is not named: everything that failed."""
    token: str
    """Identifies the request, so that a repeated one continues the child once."""
    actor: str | None = None
    at: float | None = None


@dataclass(slots=True)
class Ended:
    """The end of a child, as its result or as a signal to the parent."""

    child: str
    result: dict[str, Json] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)


@dataclass(slots=True)
class CallResult:
    """The result of a call: a reply or the error to raise, and what the service has to wait for."""

    reply: dict[str, Any] = field(default_factory=dict)
    """Empty if it is too large for an update; the service then queries for it."""
    error: dict[str, str] | None = None
    parent: str | None = None
    """The parent that continues after this ended run."""
    unsettled: list[str] = field(default_factory=list)
    """Children that can end without an answer."""
    is_quiet: bool = True
    """Whether all requested children have started and all dropped ones have stopped."""
    due: float | None = None
    version: int = 0
    answered_by: str | None = None
    answered_at: float | None = None
    """Who answered the run last in this execution, and when."""
