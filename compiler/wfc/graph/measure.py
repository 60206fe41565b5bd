"""How wide text is, without a font at hand: rather too wide, so that nothing ever overflows."""

from __future__ import annotations

import unicodedata

from wfc.lazy import remembered

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


@remembered(4096)
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
