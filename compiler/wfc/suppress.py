"""Suppression comments, `# wfc: ignore[WF305] reason`, and which findings they hide."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import field

from wfc.caching import pattern
from wfc.findings import Diagnostic, Severity
from wfc.struct import struct
from wfc.yaml import Mapping, Node, Scalar, Sequence, Source, Span, iter_comments

_DIRECTIVE = pattern(r"(?:^|(?<=\s))#+\s*wfc:(?P<rest>.*)")
_IGNORE = pattern(r"\s*ignore\[(?P<codes>[^\]]*)\]")
_CODE = pattern(r"[^,\s]+")
FIRM = ("WF0", "WF1", "WF201", "WF402")
"""Errors in structure, references and syntax. A workflow with one of them can't be compiled."""


def can_be_hidden(code: str, severity: Severity) -> bool:
    """Whether a finding can be suppressed. Suppressing an error that prevents compilation would have no use."""
    return severity is not Severity.ERROR or not code.startswith(FIRM)


@struct(eq=False)
class Suppression:
    """One code of one comment, and whether it has suppressed a finding."""

    code: str
    span: Span
    used: bool = False


@struct(eq=False)
class Comment:
    """A suppression comment: from its `#` to the end of its line, and its codes."""

    span: Span
    codes: Span | None
    """The span of the text in brackets; None if the comment can't be parsed."""
    items: list[Suppression] = field(default_factory=list)


class Suppressions:
    """The suppression comments of one file, and the findings that they suppress.

    A comment applies to its line, and to the whole of a multi-line text that begins or ends there. A comment alone on
    its line applies to the next line with content.
    """

    def __init__(self, source: Source, root: Node | None) -> None:
        self.comments: list[Comment] = []
        self._source = source
        self._by_place: dict[tuple[str, int], list[Suppression]] = {}
        # The usual case: no comment at all, and no need to look for them.
        if "wfc:" not in source.text:
            return
        self._lines = _Lines(source, root)
        for span, _ in iter_comments(source, root):
            found = _DIRECTIVE.search(span.text)
            if found:
                self._add(_comment(source.span(span.start + found.start(), span.end), found))

    def _add(self, comment: Comment) -> None:
        self.comments.append(comment)
        line = self._lines.meant_by(comment.span)
        for item in comment.items:
            self._by_place.setdefault((item.code, line), []).append(item)

    def cover(self, found: Diagnostic) -> bool:
        """Whether a comment suppresses this finding. The comment is then marked as used."""
        if not self._by_place or found.span.source is not self._source:
            return False
        if not can_be_hidden(found.code, found.severity):
            return False
        # A finding inside a multi-line text is suppressed by a comment at the text's first line.
        hits = self._by_place.get((found.code, self._lines.first_of(found.span.line)), [])
        for item in hits:
            item.used = True
        return bool(hits)


def _comment(span: Span, found: re.Match[str]) -> Comment:
    ignore = _IGNORE.match(found["rest"])
    if ignore is None:
        return Comment(span, None)
    start = span.start + found.start("rest") - found.start() + ignore.start("codes")
    codes = span.source.span(start, start + len(ignore["codes"]))
    items = [
        # Codes are written in any case, and compared in upper case.
        Suppression(part.group().upper(), span.source.span(start + part.start(), start + part.end()))
        for part in _CODE.finditer(ignore["codes"])
    ]
    return Comment(span, codes, items)


class _Lines:
    """The line that a comment applies to. A multi-line text counts as its first line."""

    def __init__(self, source: Source, root: Node | None) -> None:
        texts = dict(sorted(_long_texts(root))) if root else {}
        self._starts = list(texts)
        self._ends = list(texts.values())
        self._source = source
        self._next = 0

    def first_of(self, line: int) -> int:
        number = bisect_right(self._starts, line) - 1
        return self._starts[number] if number >= 0 and line <= self._ends[number] else line

    def meant_by(self, comment: Span) -> int:
        line = comment.line
        # There is content before the comment on its line.
        if self._source.line(line)[: comment.column - 1].strip():
            return self.first_of(line)
        # Comments come in order, and those of one group apply to the same line, so the search continues from the last
        # one.
        self._next = max(self._next, line)
        while self._next < len(self._source.line_starts) and _is_blank(self._source.line(self._next)):
            self._next += 1
        return self.first_of(self._next)


def _is_blank(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _long_texts(node: Node) -> Iterator[tuple[int, int]]:
    """The first and last line of every multi-line text."""
    match node:
        case Scalar():
            if node.span.line != node.span.end_line:
                yield node.span.line, node.span.end_line
        case Sequence():
            for item in node.items:
                yield from _long_texts(item)
        case Mapping():
            for entry in node.entries:
                yield from _long_texts(entry.value)
