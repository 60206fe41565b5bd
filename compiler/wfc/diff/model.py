"""What differs between two versions of a workflow, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Detail:
    """One key of something that changed. None: it was not there, or is not any more."""

    name: str
    old: Any
    new: Any


@dataclass(frozen=True)
class Change:
    what: str
    """workflow, task, step, input, field or edge."""
    how: str
    """added, removed, renamed, moved or changed."""
    name: str
    task: str | None = None
    """The task that it belongs to; None: the workflow itself."""
    note: str = ""
    """In words: the type of a step that was added, where one was moved to."""
    details: tuple[Detail, ...] = ()

    def to_data(self) -> dict[str, Any]:
        found: dict[str, Any] = {"what": self.what, "how": self.how, "name": self.name}
        found |= {"task": self.task} if self.task else {}
        found |= {"note": self.note} if self.note else {}
        if self.details:
            found["details"] = [{"name": one.name, "old": one.old, "new": one.new} for one in self.details]
        return found


@dataclass(frozen=True)
class Reason:
    """Why runs under way are not safe with a change."""

    code: str
    message: str
    steps: tuple[str, ...] = ()
    """Where a run waits that it concerns."""
    task: str | None = None
    blocks: bool = True
    """Whether a run that waits there can't be moved at all; else it can, and may fail afterwards."""
    runs: tuple[str, ...] = ()
    """Runs in the project's store that it would hit now."""

    def to_data(self) -> dict[str, Any]:
        found: dict[str, Any] = {"code": self.code, "message": self.message, "blocks": self.blocks}
        found |= {"steps": list(self.steps)} if self.steps else {}
        found |= {"task": self.task} if self.task else {}
        return found | ({"runs": list(self.runs)} if self.runs else {})


@dataclass(frozen=True)
class WorkflowDiff:
    name: str
    old_path: str | None
    new_path: str | None
    changes: list[Change] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)
    errors: int = 0
    """Of the new version: it would not compile."""

    @property
    def status(self) -> str:
        if self.old_path is None:
            return "added"
        if self.new_path is None:
            return "removed"
        return "changed" if self.changes else "same"

    @property
    def safe(self) -> bool:
        """Whether every run under way can be moved to the new version and will find what it needs there."""
        return not self.reasons and not self.errors

    def to_data(self) -> dict[str, Any]:
        found: dict[str, Any] = {"workflow": self.name, "status": self.status}
        found |= {"old": self.old_path, "new": self.new_path, "safe": self.safe}
        found |= {"errors": self.errors} if self.errors else {}
        found["changes"] = [change.to_data() for change in self.changes]
        found["reasons"] = [reason.to_data() for reason in self.reasons]
        return found
