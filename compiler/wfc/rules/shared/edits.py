"""Edits of YAML text that several rules' fixes are made of. Each is None where it can't be done surely."""

from __future__ import annotations

import re

from wfc.caching import pattern
from wfc.findings import Edit, Fix
from wfc.yaml import Entry, Mapping, Scalar, Sequence, Source, Span
from wfc.yaml.nodes import resolve_plain

_PLAIN_NAME = pattern(r"[A-Za-z0-9_][\w.-]*", re.ASCII)
_QUOTABLE = pattern(r"[ !#-&(-\[\]-~]*")
"""Text that reads the same in either kind of quotes."""
_COLON = pattern(r"\s*:")
_ANCHOR = pattern(r"(?<![^\s\[{,:-])&([\w-]+)")


def rename(scalar: Scalar, name: str, description: str) -> Fix | None:
    """Put another name in the place of one, in the quotes that it has."""
    if scalar.style not in ("", "'", '"'):
        return None
    plain = bool(_PLAIN_NAME.fullmatch(name)) and resolve_plain(name) == name
    if not plain and not _QUOTABLE.fullmatch(name):
        return None
    quote = scalar.style or ("" if plain else '"')
    return Fix(description, (Edit(scalar.span, f"{quote}{name}{quote}"),), safe=False)


def remove_entry(mapping: Mapping, entry: Entry, description: str, *, safe: bool = False) -> Fix | None:
    """Take an entry out of a mapping that has others, by whole lines where it has them to itself."""
    value = _value_of(entry)
    if len(mapping.entries) == 1 or not _is_inside(value, mapping.span, after=entry.key.span):
        return None
    later = [other.key.span for other in mapping.entries if other.key.span.start > value.end]
    span = whole_lines(entry.key.span, value)
    if span is None:
        span = _part_of_line(entry.key.span, value, min(later, key=_start, default=None))
    return None if span is None or _holds_anchor(span) else Fix(description, (Edit(span, ""),), safe)


def remove_items(sequence: Sequence, unwanted: list[int], description: str) -> Fix | None:
    """Take items, by their index, out of a list that may become empty."""
    items = sequence.items
    gone = frozenset(unwanted)
    if sequence.span.text.startswith("["):
        text = _without_items(sequence, gone)
        return Fix(description, (Edit(sequence.span, text),), safe=True) if text is not None else None
    if len(gone) == len(items):
        return None
    lines = [_item_lines(items[number].span) for number in unwanted]
    edits = tuple(Edit(span, "") for span in lines if span is not None and not _holds_anchor(span))
    return Fix(description, edits, safe=True) if len(edits) == len(unwanted) else None


def _without_items(sequence: Sequence, gone: frozenset[int]) -> str | None:
    """A list in brackets without some items; the blanks and line breaks around the others stay."""
    items, whole = [item.span for item in sequence.items], sequence.span
    if len(gone) == len(items):
        return "[]" if "#" not in whole.text else None
    starts = [whole.start, *(span.end for span in items)]
    ends = [*(span.start for span in items), whole.end]
    gaps = [whole.source.text[start:end] for start, end in zip(starts, ends, strict=True)]
    if starts != sorted(starts) or any(gap.strip("[], \t\r\n") for gap in gaps):
        return None  # An alias stands here, a comment or an anchor.
    kept = [number for number in range(len(items)) if number not in gone]
    parts = [gaps[0], *(items[number].text + gaps[number + 1] for number in kept[:-1])]
    return "".join([*parts, items[kept[-1]].text, gaps[-1]])


def remove_run(first: Span, last: Span, description: str) -> Fix | None:
    """Take neighbouring items out of a block list that has others, with the lines between them."""
    source = first.source
    dash = _skip_back(source.text, first.start, " \t") - 1
    if source.text[dash : dash + 1] != "-":
        return None
    span = whole_lines(source.span(dash, first.end), last)
    return None if span is None or _holds_anchor(span) else Fix(description, (Edit(span, ""),), safe=False)


def add_entry(mapping: Mapping, after: Entry, text: str) -> Edit | None:
    """Put `key: value` behind an entry: on a line of its own, or behind a comma inside braces."""
    value = _value_of(after)
    if not _is_inside(value, mapping.span, after=after.key.span):
        return None
    source = value.source
    if mapping.span.text.startswith("{"):
        if source.text[value.end - 1] == ":":  # `{a:, ...}` would be one key
            return None
        return Edit(source.span(value.end, value.end), f", {text}")
    column = mapping.entries[0].key.span.column
    if after.key.span.column != column:
        return None
    end = source.line_starts[value.end_line - 1] + len(source.line(value.end_line))
    return Edit(source.span(end, end), f"{line_break(source)}{' ' * (column - 1)}{text}")


def line_break(source: Source) -> str:
    """How the file ends its lines."""
    return "\r\n" if "\r\n" in source.text else "\n"


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


def _part_of_line(key: Span, value: Span, following: Span | None) -> Span | None:
    """An entry behind a dash or between commas: up to the next one, or back to the comma before it."""
    source = key.source
    before = _skip_back(source.text, key.start, " \t")
    if source.text[before - 1 : before] not in ("-", "{", ",", "\n", "\r"):
        return None
    if following is not None:
        gap = source.text[value.end : following.start]
        return None if gap.strip(" \t\r\n,") else source.span(key.start, following.start)
    comma = _skip_back(source.text, key.start, " \t\r\n") - 1
    return source.span(comma, value.end) if source.text[comma : comma + 1] == "," else None


def _item_lines(item: Span) -> Span | None:
    """The lines of an item of a block list, its dash included."""
    source = item.source
    dash = _skip_back(source.text, item.start, " \t") - 1
    if source.text[dash : dash + 1] != "-":
        return None
    return whole_lines(source.span(dash, item.end), item)


def _value_of(entry: Entry) -> Span:
    """Where the value stands. One that is left out (`{a: , b: 1}`) stands behind its colon."""
    key, value = entry.key.span, entry.value.span
    colon = _COLON.match(key.source.text, key.end) if value.start == value.end == key.end else None
    return key.source.span(colon.end(), colon.end()) if colon else value


def _is_inside(value: Span, mapping: Span, after: Span) -> bool:
    """Whether a value stands where its entry does: an alias or a merged entry stands at its anchor."""
    return mapping.start <= after.start and after.end <= value.start and value.end <= mapping.end


def _holds_anchor(span: Span) -> bool:
    """Whether something outside refers to a part of it."""
    names = _ANCHOR.findall(span.text)
    return any(re.search(rf"\*{re.escape(name)}(?![\w-])", span.source.text) for name in names)


def _skip_back(text: str, offset: int, blanks: str) -> int:
    """The end of what stands before the place, blanks left out."""
    while offset and text[offset - 1] in blanks:
        offset -= 1
    return offset


def _start(span: Span) -> int:
    return span.start
