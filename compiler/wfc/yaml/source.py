"""Source text with positions, and the limits on how much of it is read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from wfc.caching import cached_property, pattern
from wfc.struct import struct

_LINE_BREAK = pattern(r"\r\n|\n|\r")


@struct(frozen=True, eq=False)
class Source:
    """One file: the path as the user typed it, and its text exactly as on disk, without a BOM."""

    path: str
    text: str

    @cached_property
    def line_starts(self) -> list[int]:
        if "\r" not in self.text:
            # The usual case, several times faster than a regular expression.
            return list(accumulate((len(line) + 1 for line in self.text.split("\n")[:-1]), initial=0))
        return [0, *(found.end() for found in _LINE_BREAK.finditer(self.text))]

    @property
    def line_break(self) -> str:
        """The line break that the file uses."""
        return "\r\n" if "\r\n" in self.text else "\n"

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
    """The characters from start to end (exclusive) of a source. Not frozen: that would double the time to make one."""

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


# Extents of YAML events. The parser's marks include anchors, tags and trailing blank lines; spans of nodes do not.

_PROPERTIES = pattern(r"(?>(?:(?:&[\w-]+|!\S*)(?>(?:\s|#[^\r\n\x85\u2028\u2029]*)*))*)")
_TAG = pattern(r"![^\s,\[\]{}]*")
_BLANKS = pattern(r"[ \t]*")
_BLANK_OR_BREAK = " \t\r\n\x85\u2028\u2029"


def extent_of(event: Any) -> tuple[int, int]:
    """The character offsets of a YAML event, from the marks of libyaml or PyYAML."""
    return event.start_mark.index, event.end_mark.index


def skip_properties(text: str, start: int, end: int) -> int:
    """The offset of the node itself, after `&anchor` and `!tag`."""
    found = _PROPERTIES.match(text, start, end)
    return found.end() if found else start


def find_tag(text: str, start: int, end: int) -> tuple[int, int]:
    found = _TAG.search(text, start, end)
    return found.span() if found else (start, end)


def end_of_block(text: str, start: int, end: int) -> int:
    """The end of a block scalar's last line with content, or of its header if it has none."""
    # Marks of libyaml include the blank lines after a block.
    content = start + len(text[start:end].rstrip(_BLANK_OR_BREAK))
    found = _BLANKS.match(text, content, end)
    return found.end() if found else content


def place_of_nothing(text: str, start: int, previous_end: int) -> int:
    """The offset of an omitted value: after its ':' or '-', or if there is none (`{key}`), after the last content."""
    return start if text[start - 1 : start] in (":", "-") else previous_end


MAX_PROBLEMS = 100
"""Parsing stops at this number of problems."""


@struct(frozen=True)
class YamlLimits:
    max_depth: int = 64
    """The depth of nested lists and mappings."""
    max_nodes: int = 100_000
    """The number of values in one file. An alias counts as the values that it expands to."""
