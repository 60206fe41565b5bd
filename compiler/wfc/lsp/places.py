"""Places as editors count them: lines from 0, and columns in UTF-16 units."""

from __future__ import annotations

from lsprotocol.types import Position, Range

from wfc.yaml import Source, Span


def to_position(source: Source, offset: int) -> Position:
    line, column = source.position(offset)
    before = source.line(line)[: column - 1]
    return Position(line - 1, _units(before))


def to_range(span: Span) -> Range:
    return Range(to_position(span.source, span.start), to_position(span.source, span.end))


def to_offset(source: Source, position: Position) -> int:
    """The offset of a place; the nearest one that there is, for a place beyond the text."""
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
