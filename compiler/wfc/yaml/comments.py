"""Find comments: each `#` outside a scalar, up to the end of its line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from wfc.caching import pattern
from wfc.yaml.nodes import Mapping, Node, Scalar, Sequence
from wfc.yaml.source import Source, Span

_END_OF_LINE = pattern(r"[\r\n\x85\u2028\u2029]|\Z")


def iter_comments(source: Source, root: Node | None) -> Iterator[tuple[Span, str]]:
    """The comments of a file in order, each with its text after the `#`, stripped."""
    text = source.text
    at = text.find("#")
    if at < 0:
        return
    inside = sorted(_scalar_extents(root))
    starts = [start for start, _ in inside]
    while at >= 0:
        number = bisect_right(starts, at) - 1
        # A `#` inside a text is not a comment; the search continues after the text.
        if number >= 0 and at < inside[number][1]:
            end = inside[number][1]
        else:
            end = _end_of_line(text, at)
            yield source.span(at, end), text[at + 1 : end].strip()
        at = text.find("#", end)


def _scalar_extents(root: Node | None) -> Iterator[tuple[int, int]]:
    """Start and end of every scalar's text; a block's header is left out, as a comment may follow it."""
    pending: list[Node] = [] if root is None else [root]
    # Aliases repeat nodes, and a chain of them could repeat very many.
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if isinstance(node, Scalar):
            span = node.span
            # The header of a block may be followed by a comment.
            start = _end_of_line(span.source.text, span.start) if node.style in ("|", ">") else span.start
            yield start, max(start, span.end)
        elif id(node) not in seen:
            seen.add(id(node))
            pending.extend(_children(node))


def _children(node: Sequence | Mapping) -> Iterator[Node]:
    if isinstance(node, Sequence):
        yield from node.items
        return
    for entry in node.entries:
        yield entry.key
        yield entry.value


def _end_of_line(text: str, start: int) -> int:
    found = _END_OF_LINE.search(text, start)
    return found.start() if found else len(text)
