"""How far beyond a match a search may have to read, told by the pattern alone.

A search ends where no longer or better match is possible. `\\w+` knows that at the first character that is none of a
word. `x.*y|x` does not know before the end of the line: if no `y` comes, `x` alone is the match, and the next search
reads the line again. Such patterns take a time that grows with the square of the text.

A pattern that is a row of single characters, each repeated or not, is safe. Where it is still in a repetition beyond
its match, no other match can end there: else the repetition could have gone on to that one's end, as a better match. So
each character is read twice at most. The same holds if parts of the row are groups that are bounded in length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache


class End(Enum):
    """Where a search stops reading at the latest."""

    MATCH = auto()
    """A few characters behind the match, or so that the next search does not read it again and again."""
    LINE = auto()
    TEXT = auto()


@dataclass(frozen=True)
class Reach:
    end: End
    length: int
    """How many characters the parts of the pattern that are bounded in length may match."""


@dataclass
class _Group:
    """A part of a pattern in brackets, or all of it."""

    chooses: bool = False
    """Whether it has alternatives."""
    repeats: bool = False
    """Whether something in it may be repeated without limit."""
    length: int = 0
    """Of what it may match, each endless repetition counted once."""


_TOKEN = re.compile(
    r"""
      (?P<quoted> \\Q .*? (?: \\E | \Z ) )
    | (?P<char> \\[pPx]\{[^}]*\} | \\. | \[\^?\]?(?: \[:\^?\w+:\] | \\. | [^\]\\] )*\] )
    | (?P<flags> \(\?[a-zA-Z-]*\) )
    | (?P<open> \(\?P?<\w+> | \(\?[a-zA-Z-]*: | \( )
    | (?P<close> \) )
    | (?P<choice> \| )
    | (?P<times> (?: [*+?] | \{\d+(?:,\d*)?\} ) \?? )
    | (?P<other> . )
    """,
    re.X | re.S,
)
# Whatever is not known to keep to one line: other escapes, what a class leaves out, `.` with the flag s.
_CROSSES_LINES = re.compile(r"[\x00-\x1f]|\\[^wdSbB.()|*+?\[\]{}/-]|\[\^|\(\?[a-zA-Z]*s|\[:")


@lru_cache(maxsize=256)
def reach_of(pattern: str) -> Reach:
    """Of a pattern that RE2 knows. For any other one it says something, which nobody needs."""
    groups, last = [_Group()], _Group(length=1)
    is_safe = True
    for token in _TOKEN.finditer(pattern):
        match token.lastgroup:
            case "open":
                groups.append(_Group())
            case "close" if len(groups) > 1:
                last = groups.pop()
                is_safe &= not (last.chooses and last.repeats)
                groups[-1].repeats |= last.repeats
                groups[-1].length += last.length
            case "choice":
                groups[-1].chooses = True
            case "times":
                is_endless, count = _times(token.group())
                is_safe &= not (last.length != 1 and is_endless) and not last.repeats
                groups[-1].repeats |= is_endless
                groups[-1].length += (count - 1) * last.length
            case "char" | "other":
                last = _Group(length=1)
                groups[-1].length += 1
            case "quoted":
                groups[-1].length += len(token.group())
    [whole, *_] = groups
    if is_safe and not (whole.chooses and whole.repeats):
        end = End.MATCH
    else:
        end = End.TEXT if _CROSSES_LINES.search(pattern) else End.LINE
    return Reach(end, whole.length)


def _times(text: str) -> tuple[bool, int]:
    """Whether a repetition is endless, and how often it may be at least that."""
    if text[0] != "{":
        return text[0] != "?", 1
    least, comma, most = text.strip("{}?").partition(",")
    return bool(comma and not most), max(1, int(most or least))
