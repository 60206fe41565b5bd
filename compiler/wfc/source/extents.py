"""Where a node begins and ends: YAML's marks take in anchors, tags and trailing blank lines, ours do not."""

from __future__ import annotations

from typing import Any

from wfc.lazy import pattern

_PROPERTIES = pattern(r"(?>(?:(?:&[\w-]+|!\S*)(?>(?:\s|#[^\r\n\x85\u2028\u2029]*)*))*)")
_TAG = pattern(r"![^\s,\[\]{}]*")
_BLANKS = pattern(r"[ \t]*")
_BLANK_OR_BREAK = " \t\r\n\x85\u2028\u2029"


def extent_of(event: Any) -> tuple[int, int]:
    """Character offsets of a YAML event, in libyaml's marks as in PyYAML's."""
    return event.start_mark.index, event.end_mark.index


def skip_properties(text: str, start: int, end: int) -> int:
    """Where the node itself begins, behind `&anchor` and `!tag`."""
    found = _PROPERTIES.match(text, start, end)
    return found.end() if found else start


def find_tag(text: str, start: int, end: int) -> tuple[int, int]:
    found = _TAG.search(text, start, end)
    return found.span() if found else (start, end)


def end_of_block(text: str, start: int, end: int) -> int:
    """The end of a block scalar's last line with content, or of its header if it has none."""
    content = start + len(text[start:end].rstrip(_BLANK_OR_BREAK))
    found = _BLANKS.match(text, content, end)
    return found.end() if found else content


def place_of_nothing(text: str, start: int, previous_end: int) -> int:
    """An omitted value stands right after its ':' or '-'; else (`? key`, `{key}`) after what precedes it."""
    return start if text[start - 1 : start] in (":", "-") else previous_end
