"""Findings as data. Rules make them, renderers print them, `fixes` applies what they offer."""

from __future__ import annotations

from enum import StrEnum

from wfc.lazy import pattern
from wfc.structs import struct
from wfc.yaml import Span


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@struct(frozen=True)
class Note:
    """Something beside the finding that explains it, with its own place where it has one."""

    message: str
    span: Span | None = None


@struct(frozen=True)
class Edit:
    """Put `text` in the place of a span."""

    span: Span
    text: str


@struct(frozen=True)
class Fix:
    """Edits that make the finding go away. An unsafe one may change what the workflow does."""

    description: str
    edits: tuple[Edit, ...]
    safe: bool


@struct(frozen=True)
class Diagnostic:
    code: str
    """Of the check that found it. Empty: a mistake in a file that is no workflow."""
    name: str
    severity: Severity
    message: str
    span: Span
    notes: tuple[Note, ...] = ()
    help: str = ""
    fix: Fix | None = None
    step: str | None = None
    """The id of the step it is about, where there is one."""
    flow: tuple[Note, ...] = ()
    """The way that a value took to the place of the finding, source first."""
    secret: Span | None = None
    """Characters that no output may repeat."""

    @property
    def path(self) -> str:
        return self.span.source.path

    @property
    def is_fixed_in_place(self) -> bool:
        """Whether the fix, where there is one, changes no other file than the one that the finding is in."""
        return self.fix is None or all(edit.span.source is self.span.source for edit in self.fix.edits)

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        return (self.path, self.span.start, self.span.end, self.code, self.message)


_QUOTED = pattern(r"`([^`]*)`")
_LONGEST_NAME, _LONGEST_LINE = 80, 1000


def tidy(text: str) -> str:
    """One line of bounded length, whatever the names in it hold: they come from files that anyone may have written."""
    if text.isprintable() and len(text) <= _LONGEST_NAME:
        return text
    line = one_line(text)
    short = _QUOTED.sub(lambda name: f"`{_cut(name[1], _LONGEST_NAME)}`", line)
    return _cut(short, _LONGEST_LINE)


def one_line(text: str) -> str:
    """One character for one character, and none that would control a terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char.isspace() else "\ufffd" for char in text)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
