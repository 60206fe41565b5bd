"""The rows of the store as Python values, their checksums, and `Changes`: everything that one call writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from wfc_runtime.contract import ENDED

_TIME, _NEVER = Struct("<d"), b"never"


@dataclass(slots=True)
class RunRow:
    """One run. `key` and the keys of its family are 0 until it has been written."""

    id: str
    workflow: str
    digest: str
    depth: int = 1
    key: int = 0
    root: int = 0
    parent: int | None = None
    visit: str | None = None
    position: int | None = None
    task: str | None = None
    agent: str | None = None
    version: int = 0
    status: str = "running"
    due: float | None = None
    pending: str = ""
    """The visits that it waits in, separated by spaces; shown in lists."""
    created: float = 0
    updated: float = 0
    snapshot: str = ""
    """JSON, without the state. Empty if only the row itself was read."""
    fields: dict[str, str | int] = field(default_factory=dict)
    """State fields to write: JSON, or the number of the event whose result the field is."""
    turned: bool = False
    """Whether `status` or `digest` differ from what was read."""
    may_be_served: bool = True
    """Whether a server may be executing an action of its family, so that claims have to be looked up."""
    # Children are created in the same transaction as their parent.
    parent_row: RunRow | None = None
    """The parent of a run that has not been written yet; its key is only known after the insert."""

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    def bare(self) -> RunRow:
        """A copy without snapshot and fields, as a query for the row returns it."""
        row = RunRow(*_COLUMNS(self))
        row.may_be_served = self.may_be_served
        return row

    @property
    def seal(self) -> int:
        """A checksum of the snapshot and all other columns."""
        facts = (
            f"{self.id}\n{self.workflow}\n{self.digest}\n{self.depth}\n{self.root}\n{self.parent}\n{self.visit}\n"
            f"{self.position}\n{self.task}\n{self.agent}\n{self.version}\n{self.status}\n{self.pending}"
        )
        return sealed(checksum(self.snapshot), facts, self.due, self.created, self.updated)


RUN_COLUMNS = (
    *("id", "workflow", "digest", "depth", "key", "root", "parent", "visit", "position", "task", "agent"),
    *("version", "status", "due", "pending", "created", "updated"),
)
"""The columns of a row without its snapshot, in the order of the fields."""
_COLUMNS = attrgetter(*RUN_COLUMNS)


@dataclass(slots=True)
class HistoryRow:
    """One event of a run. `data` is JSON; `reply` (column `told`) is set only in rows of earlier versions of wfc."""

    seq: int
    at: float
    kind: str
    data: str
    visit: str | None = None
    actor: str | None = None
    reply: bytes | None = None

    @property
    def seal(self) -> int:
        """A checksum of the event's content and all other columns."""
        facts = f"{self.seq}\n{self.kind}\n{self.visit}\n{self.actor}"
        return sealed(checksum(self.data, self.reply), facts, self.at)


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """A server is executing a pending visit."""

    root: int
    run: int
    visit: str
    at: float
    owner: str
    returned: bool = False
    """Whether the visit becomes pending again if the server dies. Otherwise it is reported as interrupted."""


class GateRow(NamedTuple):
    """A visit that asks a person."""

    run: int
    visit: str
    since: float


class ModuleRow(NamedTuple):
    """A module that runs are pinned to."""

    workflow: str
    text: str
    line_map: str | None
    created: float


@dataclass(slots=True)
class Changes:
    """Everything that one call changes, written in one transaction."""

    created: list[RunRow] = field(default_factory=list)
    """Parents before their children."""
    updated: dict[int, tuple[RunRow, int]] = field(default_factory=dict)
    """By key: the new row, and the version that was read."""
    history: list[tuple[RunRow, HistoryRow]] = field(default_factory=list)
    modules: dict[str, ModuleRow] = field(default_factory=dict)
    """By digest."""
    claims: list[tuple[ClaimRow, int]] = field(default_factory=list)
    """Claims to make, each with the version of its run that was read."""
    released: list[ClaimRow] = field(default_factory=list)
    free: list[tuple[RunRow, str]] = field(default_factory=list)
    """Visits that must be unclaimed at the time of writing."""
    gates: list[tuple[RunRow, str, float]] = field(default_factory=list)
    """Visits that ask a person from now on, and since when."""
    closed_gates: list[tuple[RunRow, str]] = field(default_factory=list)
    """Visits that no longer ask anybody."""

    # Modules and gates never change alone, so they are not tested here.
    def __bool__(self) -> bool:
        return bool(self.created or self.updated or self.history or self.claims or self.released)


class ConflictError(Exception):
    """Another writer has changed a run since it was read. The caller reads it again and retries."""


def sealed(content: int, facts: str, *times: float | None) -> int:
    """The checksum of a row: its content, already summed, and the other columns."""
    # Ids from a client may contain lone surrogates, which strict UTF-8 refuses to encode.
    found = crc32(facts.encode("utf-8", "surrogatepass"), content)
    for time in times:
        found = crc32(_NEVER if time is None else _TIME.pack(time), found)
    return found


def checksum(*parts: str | bytes | None) -> int:
    found = 0
    for part in parts:
        found = crc32(part.encode() if isinstance(part, str) else part or b"", found)
    return found
