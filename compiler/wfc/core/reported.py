"""Findings that only a front end can make: it reports them, and the rule of that code passes them on."""

from __future__ import annotations

from wfc.diagnostics import Fix, Note, Severity
from wfc.structs import struct
from wfc.yaml import Span


@struct(frozen=True)
class Reported:
    """What is wrong in the words of the language that the file is written in."""

    code: str
    span: Span
    message: str
    help: str = ""
    notes: tuple[Note, ...] = ()
    step: str | None = None
    severity: Severity | None = None
    """Where it differs from the rule's own."""
    fix: Fix | None = None
    """An edit of the file itself."""
