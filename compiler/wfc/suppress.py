"""`# wfc: ignore[WF305] reason`: a finding that the author has looked at and wants to keep."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from wfc.diagnostics import Diagnostic
from wfc.source import Mapping, Node, Scalar, Sequence, Source, Span, iter_comments

_COMMENT = re.compile(r"#\s*wfc:\s*ignore\[(?P<codes>[^\]]*)\]")


@dataclass(eq=False)
class Suppression:
    """One code of one comment: the lines it speaks for, and whether it ever hid anything."""

    code: str
    span: Span
    comment: Span
    first_line: int
    last_line: int
    used: bool = False


@dataclass
class Suppressions:
    items: list[Suppression] = field(default_factory=list)

    def cover(self, found: Diagnostic) -> bool:
        if not self.items:
            return False
        line = found.span.line
        hits = [item for item in self.items if item.code == found.code and item.first_line <= line <= item.last_line]
        for item in hits:
            item.used = True
        return bool(hits)


def find_suppressions(source: Source, root: Node | None) -> Suppressions:
    """A comment speaks for its own line, and for all of a block of text that begins there; alone on its line, for the next."""
    if "wfc:" not in source.text:
        return Suppressions()
    blocks = {scalar.span.line: scalar.span.end_line for scalar in _blocks(root)} if root else {}
    found = Suppressions()
    for span, text in iter_comments(source, root):
        match = _COMMENT.match(text)
        if match:
            found.items += _items(source, span, match, blocks)
    return found


def _items(source: Source, comment: Span, match: re.Match[str], blocks: dict[int, int]) -> Iterator[Suppression]:
    alone = not source.line(comment.line)[: comment.column - 1].strip()
    line = comment.line + 1 if alone else comment.line
    offset = comment.start + match.start("codes")
    for part in re.finditer(r"[^,\s]+", match["codes"]):
        span = source.span(offset + part.start(), offset + part.end())
        yield Suppression(part.group(), span, comment, line, blocks.get(line, line))


def _blocks(node: Node) -> Iterator[Scalar]:
    match node:
        case Scalar():
            if node.style in ("|", ">"):
                yield node
        case Sequence():
            for item in node.items:
                yield from _blocks(item)
        case Mapping():
            for entry in node.entries:
                yield from _blocks(entry.value)
