"""Text for terminals: colour (NO_COLOR and FORCE_COLOR override the detection), counts, and escaped control
characters."""

from __future__ import annotations

import os
from typing import TextIO
from unicodedata import combining, east_asian_width

from wfc.struct import struct

_CODES = {"bold": 1, "red": 31, "green": 32, "yellow": 33, "blue": 34, "cyan": 36}


@struct(frozen=True)
class Style:
    color: bool = False

    def paint(self, text: str, *styles: str) -> str:
        if not self.color:
            return text
        codes = ";".join(str(_CODES[style]) for style in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"


def printable(text: str) -> str:
    """Text from workflows and agents with control characters replaced, since they could control the terminal."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


def cut(text: str, columns: int) -> str:
    """The beginning of a text that fits into a number of terminal columns. Some characters take two, some none."""
    width = 0
    for place, char in enumerate(text):
        width += 0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1
        if width > columns:
            return text[:place]
    return text


def style_for(stream: TextIO) -> Style:
    if os.environ.get("NO_COLOR"):
        return Style(False)
    if os.environ.get("FORCE_COLOR"):
        return Style(True)
    return Style(stream.isatty() and os.environ.get("TERM") != "dumb")


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
