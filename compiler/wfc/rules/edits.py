"""Edits of YAML text that several rules' fixes are made of."""

from __future__ import annotations

from wfc.diagnostics import Edit, Fix
from wfc.source import Entry, Mapping, Span


def remove_entry(mapping: Mapping, entry: Entry, description: str, *, safe: bool = False) -> Fix | None:
    """Take an entry out of a block mapping, with its lines. None where that can't be done by whole lines."""
    if len(mapping.entries) == 1:
        return None
    span = whole_lines(entry.key.span, entry.value.span)
    return Fix(description, (Edit(span, ""),), safe) if span else None


def whole_lines(first: Span, last: Span) -> Span | None:
    """The lines from `first` to `last`, line break included, if nothing else stands on them."""
    source = first.source
    start = source.line_starts[first.line - 1]
    end_line = last.end_line
    if source.text[start : first.start].strip():
        return None
    rest = source.line(end_line)[last.end_column - 1 :].strip()
    if rest and not rest.startswith("#"):
        return None
    end = source.line_starts[end_line] if end_line < len(source.line_starts) else len(source.text)
    return source.span(start, end)
