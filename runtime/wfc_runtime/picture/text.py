"""Text for pictures: made printable, shortened, wrapped and measured."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

ELLIPSIS = "…"

_HOLE = re.compile(r"\{\{-?((?:(?!\}\}).)*?)-?\}\}", re.DOTALL)
_ROOT = re.compile(r"(?<![\w.'\"])(?:state|inputs)\.(?=[A-Za-z_])")
_SPACE = re.compile(r"(?<=\s)")
_CONDITION = 120
_BREAK = re.compile(r"(?<=[_.,:/-])(?=[^_.,:/-])")


def printable(text: str) -> str:
    """One line without control characters: an unprintable character becomes a space, or is dropped."""
    return " ".join("".join(map(_shown, text)).split())


def _shown(char: str) -> str:
    if char.isprintable():
        return char
    return "" if unicodedata.category(char) == "Cf" else " "


def shorten(text: str, most: int) -> str:
    # Only a part is cleaned up, since a text may be megabytes long.
    line = printable(text[: 20 * most])
    return line if len(line) <= most else line[: most - 1].rstrip() + ELLIPSIS


def show(value: Any, most: int) -> str:
    """Any value of the IR on one line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return shorten(text, most)


def show_condition(value: Any) -> str:
    """An expression without its braces, and without the `state.` and `inputs.` prefixes that nearly every name has."""
    if not isinstance(value, str):
        return show(value, _CONDITION)
    hole = _HOLE.fullmatch(value.strip())
    return shorten(_ROOT.sub("", hole[1] if hole else value), _CONDITION)


def wrap(text: str, fits: Sequence[Callable[[str], bool]]) -> list[str]:
    """Break text into lines, at most one per test; each test says whether a line fits.

    Lines break between words; a word that is too long breaks after a punctuation mark, or anywhere. Text that does not
    fit on the last line is cut off.
    """
    lines: list[str] = []
    for number, fit in enumerate(fits, 1):
        if not text:
            break
        length = len(text) if fit(text) else _line_end(text, fit) if number < len(fits) else 0
        lines.append(text[:length].strip() if length else _cut(text, fit))
        text = text[length:].strip() if length else ""
    return lines


def _line_end(text: str, fit: Callable[[str], bool]) -> int:
    for marks in (_SPACE, _BREAK):
        ends = [found.start() for found in marks.finditer(text) if fit(text[: found.start()].strip())]
        if ends and ends[-1]:
            return ends[-1]
    return max((length for length in range(1, len(text)) if fit(text[:length])), default=1)


def _cut(line: str, fit: Callable[[str], bool]) -> str:
    while line and not fit(line + ELLIPSIS):
        line = line[:-1].rstrip()
    return line + ELLIPSIS


# Estimated character widths in em: the viewer's font is not known when the text is laid out.
_BOLD = 1.1
_MONO = 0.605

_WIDTHS = {
    **dict.fromkeys("ijl.,:;'|!", 0.34),
    **dict.fromkeys('ftrI()[]{}/\\-` "', 0.42),
    **dict.fromkeys("mwMW@%", 0.98),
    **dict.fromkeys("+<>=~#^", 0.84),
}


def text_width(text: str, size: float, *, bold: bool = False, mono: bool = False) -> float:
    if mono:
        return size * sum(max(_MONO, _em(char)) if ord(char) > 0x2FF else _MONO for char in text)
    return size * sum(map(_em, text)) * (_BOLD if bold else 1)


@lru_cache(maxsize=4096)
def _em(char: str) -> float:
    known = _WIDTHS.get(char)
    if known is not None:
        return known
    if char < "\x7f":
        return 0.72 if char.isupper() else 0.63
    if unicodedata.combining(char):
        return 0.0
    if unicodedata.east_asian_width(char) in "WF":
        return 1.4 if ord(char) >= 0x1F000 else 1.05
    return 0.85
