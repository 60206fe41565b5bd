"""Findings as data. Rules create them, `wfc.render` prints them, and `wfc.fixes` applies their fixes."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from wfc.caching import pattern
from wfc.struct import replace, struct
from wfc.yaml import Source, Span


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@struct(frozen=True)
class Note:
    """An explanation of a finding, with a span if it refers to a place."""

    message: str
    span: Span | None = None


@struct(frozen=True)
class Edit:
    """Replace a span by `text`."""

    span: Span
    text: str


@struct(frozen=True)
class Fix:
    """Edits that resolve the finding. An unsafe fix may change what the workflow does."""

    description: str
    edits: tuple[Edit, ...]
    safe: bool


@struct(frozen=True)
class Diagnostic:
    code: str
    """The code of the check; empty for a mistake in a file that is not a workflow."""
    name: str
    severity: Severity
    message: str
    span: Span
    notes: tuple[Note, ...] = ()
    help: str = ""
    fix: Fix | None = None
    step: str | None = None
    """The id of the step that it is about, if any."""
    flow: tuple[Note, ...] = ()
    """The path of a value to the place of the finding, source first."""
    secret: Span | None = None
    """Characters that must be redacted in all output."""
    is_crash: bool = False
    """Whether the check itself failed on this file, which is a bug of wfc and not of the workflow."""

    @property
    def path(self) -> str:
        return self.span.source.path

    @property
    def is_fixed_in_place(self) -> bool:
        """Whether the fix, if any, changes only the file of the finding."""
        return self.fix is None or all(edit.span.source is self.span.source for edit in self.fix.edits)

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        return (self.path, self.span.start, self.span.end, self.code, self.message)


def what_and_where(error: BaseException) -> str:
    """The type of an exception and the line that raised it. Its message is left out, since it may quote a secret."""
    # The first error of an exception group, as of a task group.
    inner = getattr(error, "exceptions", ())
    if inner:
        return what_and_where(inner[0])
    frame = error.__traceback__
    # The innermost frame, where it was raised.
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = f" at {frame.tb_frame.f_code.co_filename}:{frame.tb_lineno}" if frame else ""
    return f"{type(error).__name__}{where}"


_QUOTED = pattern(r"`([^`]*)`")
_LONGEST_NAME, _LONGEST_LINE = 80, 1000


def tidy(text: str) -> str:
    """The text as one line of limited length. Names in it come from untrusted files and may contain anything."""
    if text.isprintable() and len(text) <= _LONGEST_NAME:
        return text
    # Control characters first: a cut in the middle of an escape would leave half of it.
    line = one_line(text)
    short = _QUOTED.sub(lambda name: f"`{_cut(name[1], _LONGEST_NAME)}`", line)
    return _cut(short, _LONGEST_LINE)


def one_line(text: str) -> str:
    """The text with control characters replaced one for one, so that columns stay correct."""
    if text.isprintable():
        return text
    # One for one, since columns and markers below the line count characters.
    return "".join(char if char.isprintable() else " " if char.isspace() else "\ufffd" for char in text)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


# Redaction of secrets in a file: no output may contain them, whichever finding it is about.

MASK = "*"
_SHORTEST = 4
"""A shorter secret could be any word of a message, so it is not searched for."""


class Redaction:
    """Redacts the secrets of some findings in texts."""

    def __init__(self, found: Iterable[Diagnostic]) -> None:
        self._spans: dict[Source, list[Span]] = {}
        for diagnostic in found:
            if diagnostic.secret is not None:
                self._spans.setdefault(diagnostic.secret.source, []).append(diagnostic.secret)
        spans = [span for spans in self._spans.values() for span in spans]
        # Each line too: a message may quote one line of a multi-line secret.
        texts = {line.strip() for span in spans for line in (span.text, *span.text.splitlines())}
        # Longest first, so that a secret inside another one does not leave the rest of it.
        self._texts = sorted((text for text in texts if len(text) >= _SHORTEST), key=len, reverse=True)

    def line(self, source: Source, number: int) -> str:
        """A line of a file with its secrets masked, at the same length."""
        text = source.line(number)
        first = source.line_starts[number - 1]
        for span in self._spans.get(source, ()):
            start, end = max(span.start - first, 0), min(span.end - first, len(text))
            if start < end:
                text = text[:start] + MASK * (end - start) + text[end:]
        return text

    def text(self, text: str) -> str:
        for secret in self._texts:
            text = text.replace(secret, MASK * 3)
        return text

    def finding(self, found: Diagnostic) -> Diagnostic:
        """The finding with secrets redacted in all its texts."""
        if not self._texts:
            return found
        return replace(
            found,
            message=self.text(found.message),
            help=self.text(found.help),
            notes=self._notes(found.notes),
            flow=self._notes(found.flow),
        )

    def hides(self, fix: Fix) -> bool:
        """Whether the fix would print a secret."""
        return any(self.text(edit.text) != edit.text for edit in fix.edits)

    def _notes(self, notes: tuple[Note, ...]) -> tuple[Note, ...]:
        return tuple(Note(self.text(note.message), note.span) for note in notes)
