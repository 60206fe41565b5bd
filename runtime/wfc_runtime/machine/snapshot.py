"""All that a machine remembers between two events: plain JSON with a format number."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from wfc_runtime.contract import Json

FORMAT = 1


class SnapshotError(ValueError):
    """A snapshot that this version cannot go on from."""


@dataclass
class Pending:
    """One visit of a state that waits: for an answer, for a moment, or for children."""

    state: str
    step: str
    kind: str
    parameters: dict[str, Json]
    instruction: str = ""
    result_schema: Json = None
    deadline: float | None = None
    resume_at: float | None = None
    misfits: int = 0


@dataclass
class Snapshot:
    status: str = "running"
    configuration: list[str] = field(default_factory=list)
    inputs: dict[str, Json] = field(default_factory=dict)
    state: dict[str, Json] = field(default_factory=dict)
    scope: dict[str, Json] = field(default_factory=dict)
    """What a foreach gives its child: item, index and, one after the other, previous."""
    visits: dict[str, int] = field(default_factory=dict)
    loops: dict[str, int] = field(default_factory=dict)
    """For each loop, how often its turn state had been visited when the loop was entered."""
    attempts: dict[str, int] = field(default_factory=dict)
    pending: dict[str, Pending] = field(default_factory=dict)
    result: Json = None
    error: dict[str, Json] | None = None

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)}, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        data: dict[str, Any] = json.loads(text)
        written = data.pop("format", None)
        if written != FORMAT:
            raise SnapshotError(f"the snapshot has format {written!r}, this version of wfc reads format {FORMAT}")
        data["pending"] = {visit: Pending(**pending) for visit, pending in data["pending"].items()}
        return cls(**data)

    def copy(self) -> Self:
        """Independent of this one, so that a refused event leaves no trace."""
        return self.from_json(self.to_json())
