"""The snapshot of a machine: everything that it remembers between two events, as plain JSON with a format number."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self

from wfc_runtime.contract import Json
from wfc_runtime.errors import SnapshotError
from wfc_runtime.machine.redaction import HIDDEN, Mask, mask_of
from wfc_runtime.machine.values import size_of, to_text

# New fields have defaults, so adding one does not change the format.
FORMAT = 1
GATE = "@budget"
"""The state of a visit that asks whether a used-up budget is extended. It is not a state of the chart."""


@dataclass(slots=True)
class Pending:
    """One visit of a waiting state: for an answer, for a time, or for children.

    The module's definitions for the state (kind, instruction, result type) are not repeated here.
    """

    state: str
    parameters: dict[str, Json] = field(default_factory=dict)
    where: dict[str, Json] = field(default_factory=dict)
    """Further constraints on properties of the result."""
    deadline: float | None = None
    """When the step fails."""
    overdue_at: float | None = None
    """When the agent's time limit ends. Replies say so; nothing else happens."""
    resume_at: float | None = None
    interrupted_at: float | None = None
    """When a server that has since ended started to execute it. The agent has to find out what was done."""
    misfits: int = 0
    items: list[Json] | None = None
    """The items of a foreach."""
    inputs: list[dict[str, Json] | None] | None = None
    """The inputs of each child, if they were computed when the state was entered."""
    children: list[dict[str, Json] | None] = field(default_factory=list)
    """In item order: None while queued, {"run": id} while running, then {"value": ...} or {"error": ..., "was": id}.
    Each may have "changes" that the child asks for, and in "made" how many of them have been made."""
    since: float | None = None
    """When it began, for a step with a budget."""
    tries: list[int] = field(default_factory=list)
    """How often each child was started again after a failure, if the step does that."""

    @property
    def due(self) -> float | None:
        return self.resume_at if self.resume_at is not None else self.deadline

    # Written out instead of `replace`, which is several times slower; this runs for every pending visit of
    # every event.
    def copy(self) -> Pending:
        return Pending(
            self.state,
            self.parameters,
            self.where,
            self.deadline,
            self.overdue_at,
            self.resume_at,
            self.interrupted_at,
            self.misfits,
            self.items,
            self.inputs,
            # The only part that is modified in place; the others are replaced or never change.
            list(self.children),
            self.since,
            self.tries,
        )

    def to_data(self) -> dict[str, Json]:
        data: dict[str, Json] = {"state": self.state}
        for name in _PENDING_FIELDS:
            value = getattr(self, name)
            # Default values are omitted. `items` is never empty here: an empty foreach completes immediately.
            if value:
                data[name] = value
        return data


_PENDING_FIELDS = (
    *("parameters", "where", "deadline", "overdue_at", "resume_at", "interrupted_at"),
    *("misfits", "items", "inputs", "children", "since", "tries"),
)


@dataclass(slots=True)
class Failure:
    """A failed visit, which fails the run now or at its end."""

    state: str
    error: dict[str, Json]
    children: Pending | None = None
    """The visit as it was, if it had children."""
    branches: dict[str, Failure] = field(default_factory=dict)
    """The failures of its branches, if it is a parallel step. A retry enters the steps that failed in them again, or
    begins all branches again if this is empty."""
    is_old: bool = False
    """Whether the run was retried since. Entering the state again then makes up for the failure."""
    gate: str | None = None
    """For a failure that the workflow intended: the state that a retry enters, or "" if there is none."""

    @property
    def visit(self) -> str:
        return str(self.error["step_id"])

    @property
    def entered(self) -> str:
        """The state that a retry enters."""
        return self.state if self.gate is None else self.gate

    def parts(self) -> Iterator[Failure]:
        """The failure and, if it is that of a parallel step, those of its branches."""
        yield self
        for one in self.branches.values():
            yield from one.parts()

    def without_children(self) -> Failure:
        branches = {name: one.without_children() for name, one in self.branches.items()}
        return replace(self, children=None, branches=branches)

    def to_data(self) -> dict[str, Json]:
        data: dict[str, Json] = {"state": self.state, "error": self.error}
        if self.children is not None:
            data["children"] = self.children.to_data()
        if self.branches:
            data["branches"] = {name: one.to_data() for name, one in self.branches.items()}
        if self.gate is not None:
            data["gate"] = self.gate
        return {**data, "is_old": True} if self.is_old else data

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        children = Pending(**data["children"]) if "children" in data else None
        branches = {name: cls.from_data(one) for name, one in data.get("branches", {}).items()}
        # Data from a store may have keys of a newer version; the caller reports the TypeError as a damaged
        # snapshot.
        return cls(**{**data, "children": children, "branches": branches})


@dataclass(slots=True)
class Kept:
    """Where a run was when it failed, or when it was cancelled because its parent failed: for a retry."""

    configuration: list[str]
    pending: dict[str, Pending] = field(default_factory=dict)
    """The visits that were pending besides the failed one."""
    entering: list[str] = field(default_factory=list)
    """Active states whose effect failed, or was not performed because the run had already failed."""

    def to_data(self) -> dict[str, Json]:
        return {
            "configuration": self.configuration,
            "pending": {visit: one.to_data() for visit, one in self.pending.items()},
            "entering": self.entering,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        return cls(**{**data, "pending": {visit: Pending(**one) for visit, one in data["pending"].items()}})


@dataclass(slots=True)
class Snapshot:
    status: str = "running"
    configuration: list[str] = field(default_factory=list)
    inputs: dict[str, Json] = field(default_factory=dict)
    state: dict[str, Json] = field(default_factory=dict)
    """Replaced as a whole when a field is written, never modified in place: copies share it."""
    size: int = 2
    """The size of the state as JSON, in bytes."""
    scope: dict[str, Json] = field(default_factory=dict)
    """The values from a foreach for its child: item, index and, if sequential, previous."""
    visits: dict[str, int] = field(default_factory=dict)
    loops: dict[str, int] = field(default_factory=dict)
    """For each loop, the number of visits of its turn state when the loop was entered."""
    attempts: dict[str, int] = field(default_factory=dict)
    pending: dict[str, Pending] = field(default_factory=dict)
    result: Json = None
    error: dict[str, Json] | None = None
    """Why the run has failed or, while it continues, why it will fail."""
    secrets: list[str] = field(default_factory=list)
    """Values to redact in everything stored or shown beside this snapshot. Replaced, never modified in place."""
    hidden: list[str] = field(default_factory=list)
    """State fields whose values are secrets."""
    room: int = 0
    """The state limit in bytes, if it was raised; else 0."""
    budget: dict[str, Any] = field(default_factory=dict)
    """For a root run: the accounts of its family, see `wfc_runtime.machine.budget`. Replaced, never modified."""
    failures: list[Failure] = field(default_factory=list)
    """The failed visits that fail the run, now or at its end. Replaced, never modified in place."""
    caught: dict[str, dict[str, Failure]] = field(default_factory=dict)
    """The failures of branches, by the state that joins them and by branch. Replaced, never modified."""
    kept: Kept | None = None
    """Only in a run that has ended and can be retried."""
    answered: list[str] = field(default_factory=list)
    """If the workflow can fail by intent: the states that were answered, each once, the last one last."""
    derived_size: int = 0
    """The part of `size` that is derived fields, which have their own limit."""
    starting: bool = False
    """Whether the values that a run computes at its start are still missing."""
    blockers: dict[str, str] = field(default_factory=dict)
    """The issues in the run's journal that wait for a person, by id. Replaced, never modified in place."""
    items: dict[str, list[Json]] = field(default_factory=dict)
    """The items of the loops that the run is in, by the state of their turns. Replaced, never modified."""
    outbox: list[dict[str, Json]] = field(default_factory=list)
    """Messages for the user since the last submit. Replaced, never modified in place."""
    handling: bool = False
    """Whether the run has failed and executes the steps of its handler."""
    ends_at: float | None = None
    """When the run fails because its time is up."""
    shared: list[str] = field(default_factory=list)
    """The fields that belong to the parent, which makes the same changes when the run has ended."""
    changes: list[list[Json]] = field(default_factory=list)
    """The changes of these fields: field, keys, operation, value. Replaced, never modified in place."""
    worktree: dict[str, Json] = field(default_factory=dict)
    """The path and branch of the git worktree with the latest changes of an agent. Replaced, never modified."""

    @property
    def mask(self) -> Mask:
        return mask_of(tuple(self.secrets))

    def learn(self, values: Iterable[str]) -> None:
        """Add values that are secrets from now on."""
        # Order is kept, so that a replay stores the same list.
        new = [value for value in values if value and value not in self.secrets]
        if new:
            self.secrets = [*self.secrets, *dict.fromkeys(new)]

    @property
    def shown_state(self) -> dict[str, Json]:
        """The state with secrets redacted."""
        return {
            name: HIDDEN if name in self.hidden else self.mask.value(value)
            for name, value in self.state.items()
        }

    def forget_secrets(self, inputs: dict[str, Json]) -> list[str]:
        """Remove the secrets of a run that has ended. Its result is kept: the author decided what it contains.

        `inputs`: the inputs with secrets redacted. Returns the fields that have changed.
        """
        if not self.secrets and not self.hidden:
            return []
        shown = self.shown_state
        # `value` returns the same object if it redacted nothing, so identity finds the changed fields without
        # comparing.
        changed = [name for name in shown if shown[name] is not self.state[name]]
        self.state, self.size = shown, size_of(shown)
        self.inputs, self.scope = self.mask.value(inputs), self.mask.value(self.scope)
        self.outbox = self.mask.value(self.outbox)
        # An explicit return value is not redacted, so the secrets inside it stay known and are redacted in everything
        # shown beside it.
        kept = () if self.mask.value(self.result) is self.result else self.secrets
        self.secrets = [one for one in kept if mask_of((one,)).value(self.result) is not self.result]
        return changed

    def place_of(self, child: str) -> tuple[str, int] | None:
        """The visit and the index of a child that the run waits for."""
        for visit, pending in self.pending.items():
            for index, one in enumerate(pending.children):
                # A child that has ended has its result in this place; only a running one can end.
                if one is not None and one.get("run") == child:
                    return visit, index
        return None

    @property
    def outcome(self) -> dict[str, Json]:
        """The result that the parent of an ended run receives. A run that failed has still made its changes."""
        result = {"value": self.result} if self.status == "completed" else {"error": self.error}
        is_kept = bool(self.changes) and self.status != "cancelled"
        found = {**result, **({"changes": self.changes} if is_kept else {})}
        return {**found, "worktree": self.worktree} if self.worktree else found

    @property
    def due(self) -> float | None:
        """The earliest time at which the clock has something to do for this run."""
        times = [pending.due for pending in self.pending.values() if pending.due is not None]
        return min([*times, *([self.ends_at] if self.ends_at is not None else [])], default=None)

    def copy(self) -> Snapshot:
        # Only containers that are modified in place are copied; all others are replaced when they change.
        """A copy that can be modified independently, so that a refused event leaves no trace."""
        return Snapshot(
            self.status,
            self.configuration,
            self.inputs,
            self.state,
            self.size,
            self.scope,
            dict(self.visits),
            dict(self.loops),
            dict(self.attempts),
            {visit: pending.copy() for visit, pending in self.pending.items()},
            self.result,
            self.error,
            self.secrets,
            self.hidden,
            self.room,
            self.budget,
            self.failures,
            self.caught,
            self.kept,
            self.answered,
            self.derived_size,
            self.starting,
            self.blockers,
            self.items,
            self.outbox,
            self.handling,
            self.ends_at,
            self.shared,
            self.changes,
            self.worktree,
        )

    def to_json(self, with_state: bool = True) -> str:
        """The snapshot as JSON. The SQLite store leaves the state out, since it stores it field by field."""
        data: dict[str, Json] = {"format": FORMAT, "status": self.status, "size": self.size}
        for name in _SNAPSHOT_FIELDS:
            value = getattr(self, name)
            # Empty values are left out, and the defaults restore them.
            if value and (with_state or name != "state"):
                data[name] = value
        if self.pending:
            data["pending"] = {visit: pending.to_data() for visit, pending in self.pending.items()}
        if self.caught:
            data["caught"] = {
                join: {branch: failure.to_data() for branch, failure in failures.items()}
                for join, failures in self.caught.items()
            }
        if self.failures:
            data["failures"] = [failure.to_data() for failure in self.failures]
        if self.kept is not None:
            data["kept"] = self.kept.to_data()
        # A run without a return has its state as the result, which is not written twice.
        if self.status == "completed" and self.result is not self.state:
            data["result"] = self.result
        return to_text(data)

    @classmethod
    def from_json(cls, text: str, state: dict[str, Json] | None = None) -> Self:
        try:
            data: dict[str, Any] = json.loads(text)
            written = data.pop("format", None)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            # Any JSON can be read here, but only an object has this `pop`: a list raises TypeError, a number
            # AttributeError.
            raise SnapshotError("snapshot_damaged", f"the snapshot can't be read: {error}") from None
        if written != FORMAT:
            raise SnapshotError(
                "snapshot_format",
                f"the snapshot has format {written!r}, this version of wfc reads format {FORMAT}",
                "Use the version of wfc that wrote it.",
            )
        try:
            data["pending"] = {visit: Pending(**one) for visit, one in data.get("pending", {}).items()}
            data["failures"] = [Failure.from_data(one) for one in data.get("failures", ())]
            data["caught"] = {
                join: {branch: _of_branch(one) for branch, one in failures.items()}
                for join, failures in data.get("caught", {}).items()
            }
            data["kept"] = Kept.from_data(data["kept"]) if "kept" in data else None
            snapshot = cls(**data)
        except (TypeError, AttributeError, KeyError) as error:
            message = f"the snapshot has unexpected content: {error}"
            raise SnapshotError("snapshot_damaged", message) from None
        if state is not None:
            snapshot.state = state
        if snapshot.status == "completed" and "result" not in data:
            snapshot.result = snapshot.state
        return snapshot


def _of_branch(data: dict[str, Any]) -> Failure:
    # An earlier version kept only the error, so the branch begins again.
    return Failure.from_data(data) if "error" in data else Failure("", data)


_SNAPSHOT_FIELDS = (
    "configuration",
    "inputs",
    "state",
    "scope",
    "visits",
    "loops",
    "attempts",
    "error",
    "secrets",
    "hidden",
    "room",
    "budget",
    "answered",
    "derived_size",
    "starting",
    "blockers",
    "items",
    "outbox",
    "handling",
    "ends_at",
    "shared",
    "changes",
    "worktree",
)
