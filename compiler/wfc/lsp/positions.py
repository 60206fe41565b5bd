"""Positions as editors count them: lines from 0, columns in UTF-16 units.

Lines can be mapped between versions of a text.
"""

from __future__ import annotations

from dataclasses import dataclass

from lsprotocol.types import Position, Range

from wfc.yaml import Source, Span


def to_position(source: Source, offset: int) -> Position:
    line, column = source.position(offset)
    before = source.line(line)[: column - 1]
    return Position(line - 1, _units(before))


def to_range(span: Span) -> Range:
    return Range(to_position(span.source, span.start), to_position(span.source, span.end))


def to_offset(source: Source, position: Position) -> int:
    """The offset of a position. A position beyond the end of the text or line gives that end."""
    starts = source.line_starts
    if position.line >= len(starts):
        return len(source.text)
    line = source.line(position.line + 1)
    left, column = position.character, 0
    while left > 0 and column < len(line):
        left -= _units(line[column])
        column += 1
    return starts[position.line] + column


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


# Lines of an earlier text in the current one.


@dataclass(frozen=True, slots=True)
class Lines:
    """Two texts that differ in one range of lines, which may be empty in either."""

    first: int
    """The first line that differs."""
    before: int
    """The first line after the range, in the old text."""
    now: int
    """The same in the current text."""

    @classmethod
    def between(cls, before: str, now: str) -> Lines:
        old, new = before.split("\n"), now.split("\n")
        shorter = min(len(old), len(new))
        first = 0
        while first < shorter and old[first] == new[first]:
            first += 1
        after = 0
        while after < shorter - first and old[-1 - after] == new[-1 - after]:
            after += 1
        return cls(first, len(old) - after, len(new) - after)

    def back(self, place: Position) -> Position | None:
        """The position in the old text; None inside the range."""
        if place.line < self.first:
            return place
        if place.line < self.now:
            return None
        return Position(place.line - self.now + self.before, place.character)

    def forth(self, place: Range) -> Range | None:
        """A range of the old text in the current one; None if it overlaps the range that differs."""
        if place.end.line < self.first:
            return place
        if place.start.line < self.before:
            return None
        further = self.now - self.before
        start, end = place.start, place.end
        return Range(
            Position(start.line + further, start.character), Position(end.line + further, end.character)
        )
