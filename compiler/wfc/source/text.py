"""Text with places: a file's characters, and spans of them that know their line and column."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate

from wfc.lazy import pattern
from wfc.structs import struct

_LINE_BREAK = pattern(r"\r\n|\n|\r")


@struct(frozen=True, eq=False)
class Source:
    """One file: the path as the user typed it, and its text exactly as on disk (less a BOM)."""

    path: str
    text: str

    @cached_property
    def line_starts(self) -> list[int]:
        if "\r" not in self.text:
            return list(accumulate((len(line) + 1 for line in self.text.split("\n")[:-1]), initial=0))
        return [0, *(found.end() for found in _LINE_BREAK.finditer(self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        """The 1-based line and column of a character offset."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a 1-based line, without its line break."""
        start = self.line_starts[number - 1]
        end = self.line_starts[number] if number < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def lines(self) -> Iterator[str]:
        return (self.line(number) for number in range(1, len(self.line_starts) + 1))

    def span(self, start: int, end: int) -> Span:
        return Span(self, start, end)

    @property
    def start(self) -> Span:
        return Span(self, 0, 0)


@struct(eq=False, slots=True)
class Span:
    """Characters start to end (exclusive) of a source. Not frozen, which would double the time it takes to make."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.start)[1]

    @property
    def end_line(self) -> int:
        return self.source.position(self.end)[0]

    @property
    def end_column(self) -> int:
        """One past the last character, 1-based."""
        return self.source.position(self.end)[1]

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def __repr__(self) -> str:
        return f"{self.source.path}:{self.line}:{self.column}-{self.end_line}:{self.end_column}"
