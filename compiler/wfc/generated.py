"""Modules on disk compared with what their sources say: missing, stale, edited, of an old format, or orphaned."""

from __future__ import annotations

from enum import StrEnum

from wfc.structs import struct
from wfc.yaml import Source
from wfc_runtime.header import FORMAT, digest, has_conflict, read_header


class Condition(StrEnum):
    """What is to be said of a module that is not as it should be."""

    MISSING = "missing"
    STALE = "stale"
    EDITED = "edited"
    OLD_FORMAT = "old format"
    CONFLICTED = "conflicted"
    """A merge has left it with both sides."""
    FOREIGN = "foreign"
    """A file of that name that wfc did not make."""
    ORPHANED = "orphaned"
    """Its source has gone."""


@struct(frozen=True)
class Drift:
    """One module that is not what it should be."""

    condition: Condition
    path: str
    before: str | None
    """What is on disk."""
    after: str | None
    """What should be; None where the module should go."""

    @property
    def file(self) -> Source:
        return Source(self.path, self.before or "")


def compare(path: str, before: str | None, after: str, source_text: str) -> Drift | None:
    """How a module on disk differs from what was compiled just now, if it does."""
    if before == after:
        return None
    return Drift(_condition(before, source_text), path, before, after)


def _condition(before: str | None, source_text: str) -> Condition:
    if before is None:
        return Condition.MISSING
    header = read_header(before)
    if header is None:
        return Condition.CONFLICTED if has_conflict(before) else Condition.FOREIGN
    if header.edited:
        return Condition.EDITED
    return (
        Condition.OLD_FORMAT
        if header.format != FORMAT and header.source == digest(source_text)
        else Condition.STALE
    )
