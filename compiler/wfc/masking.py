"""Secrets that a file holds: no output may repeat them, whichever finding it is about."""

from __future__ import annotations

from collections.abc import Iterable

from wfc.diagnostics import Diagnostic, Fix, Note
from wfc.structs import replace
from wfc.yaml import Source, Span

MASK = "*"
_SHORTEST = 4
"""What is shorter could be any word of a message."""


class Mask:
    """The secrets among some findings, and texts without them."""

    def __init__(self, found: Iterable[Diagnostic]) -> None:
        self._spans: dict[Source, list[Span]] = {}
        for diagnostic in found:
            if diagnostic.secret is not None:
                self._spans.setdefault(diagnostic.secret.source, []).append(diagnostic.secret)
        spans = [span for spans in self._spans.values() for span in spans]
        texts = {line.strip() for span in spans for line in (span.text, *span.text.splitlines())}
        self._texts = sorted((text for text in texts if len(text) >= _SHORTEST), key=len, reverse=True)

    def line(self, source: Source, number: int) -> str:
        """A line of a file, as long as it is."""
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
        """The finding with no secret in what it says."""
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
        """Whether it would write a secret."""
        return any(self.text(edit.text) != edit.text for edit in fix.edits)

    def _notes(self, notes: tuple[Note, ...]) -> tuple[Note, ...]:
        return tuple(Note(self.text(note.message), note.span) for note in notes)
