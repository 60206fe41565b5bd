"""The fix that puts the steps inside a step into its place."""

from __future__ import annotations

from wfc.caching import pattern
from wfc.findings import Edit, Fix
from wfc.rules.shared.edits import whole_lines
from wfc.yaml import Mapping, Sequence, Source, Span

_ANCHOR = pattern(r"(?<![^\s\[{,:-])&[\w-]")


def unwrap(step: Mapping, key: str, description: str) -> Fix | None:
    """Replace an item of a block list by the items of the block list `step[key]`. Unsafe: the rest of it goes."""
    inner = step.get(key)
    if not isinstance(inner, Sequence) or not inner.items:
        return None
    source = step.span.source
    first, last = inner.items[0].span, inner.items[-1].span
    if not step.span.start < first.start <= last.end <= step.span.end or _ANCHOR.search(step.span.text):
        return None
    outer_dash, inner_dash = _dash(source, step.span.start), _dash(source, first.start)
    if outer_dash is None or inner_dash is None:
        return None
    outer = whole_lines(source.span(outer_dash, outer_dash), step.span)
    lines = whole_lines(source.span(inner_dash, inner_dash), last)
    if outer is None or lines is None:
        return None
    text = _outdent(lines, source.position(inner_dash)[1] - source.position(outer_dash)[1])
    return None if text is None else Fix(description, (Edit(outer, text),), safe=False)


def _dash(source: Source, offset: int) -> int | None:
    """The dash right before an item of a block list."""
    place = offset - 1
    while place >= 0 and source.text[place] in " \t":
        place -= 1
    return place if place >= 0 and source.text[place] == "-" else None


def _outdent(lines: Span, columns: int) -> str | None:
    """The lines moved to the left. None where one of them has not that much room."""
    moved: list[str] = []
    for line in lines.text.split("\n"):
        room = len(line) - len(line.lstrip(" "))
        if room < columns and line.strip() and not line.lstrip().startswith("#"):
            return None
        moved.append(line[min(room, columns) :])
    return "\n".join(moved)
