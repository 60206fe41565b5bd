"""What marks the beginning and the end of a piece of text for whoever reads it: tags, fences, quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator

_OPENS_HOLE = re.compile(r"(?=(\{[{%#]))")
_CLOSES_HOLE = {"{{": "}}", "{%": "%}", "{#": "#}"}
_TAG = re.compile(r"<(/?)([A-Za-z][\w.:-]*)(?:\s[^<>]*)?>")
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,}|\"{3})", re.MULTILINE)
_QUOTES = {'"': '"', "'": "'", "`": "`", "«": "»", "“": "”", "„": "“", "‘": "’"}
_QUOTED_LINE = re.compile(r"[ \t]*>[^\n]*\Z")


class Delimiters:
    """Those of one template."""

    def __init__(self, text: str) -> None:
        self._text = text
        # Comparisons in expressions are no tags.
        self._plain = _without_holes(text)
        self._regions = [*self._tagged(), *self._fenced()]

    def enclose(self, start: int, end: int) -> bool:
        """Whether the expression from `start` to `end` stands between two of them."""
        if any(first <= start and end <= last for first, last in self._regions):
            return True
        first, last = self._text.rfind("{{", 0, start), self._text.find("}}", end) + 2
        before, after = self._text[first - 1 : first], self._text[last : last + 1]
        if first > 0 and before in _QUOTES and after == _QUOTES[before]:
            return True
        line = self._plain.rfind("\n", 0, max(first, 0)) + 1
        return bool(_QUOTED_LINE.match(self._plain[line : max(first, 0)]))

    def _tagged(self) -> Iterator[tuple[int, int]]:
        opened: dict[str, list[int]] = {}
        for tag in _TAG.finditer(self._plain):
            if not tag[1]:
                opened.setdefault(tag[2], []).append(tag.end())
            elif opened.get(tag[2]):
                yield opened[tag[2]].pop(), tag.start()

    def _fenced(self) -> Iterator[tuple[int, int]]:
        opened: tuple[str, int] | None = None
        for fence in _FENCE.finditer(self._plain):
            if opened is None:
                opened = fence[1], fence.end()
            elif fence[1].startswith(opened[0]):
                yield opened[1], fence.start()
                opened = None


def _without_holes(text: str) -> str:
    """The text with blanks for its holes. A closing that is nowhere is looked for once, not for each opening."""
    parts, end = [], 0
    missing: set[str] = set()
    for opening in _OPENS_HOLE.finditer(text):
        start, kind = opening.start(), opening[1]
        if start < end or kind in missing:
            continue
        close = text.find(_CLOSES_HOLE[kind], start + 2)
        if close < 0:
            missing.add(kind)
            continue
        parts += [text[end:start], " " * (close + 2 - start)]
        end = close + 2
    return "".join([*parts, text[end:]])
