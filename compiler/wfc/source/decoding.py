"""Scalars decoded once more, piece by piece, so that each piece of the text knows where it is written.

The rules are YAML's for folding lines, quotes and escapes, in the reading of libyaml.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_BREAKS = r"\n\r\x85\u2028\u2029"
_BREAK = re.compile(rf"\r\n|[{_BREAKS}]")
_FOLD = rf"(?P<fold>[ \t]*+[{_BREAKS}][ \t{_BREAKS}]*+)"
_FLOW = {
    "": re.compile(rf"{_FOLD}|(?P<same>[ \t]++|[^ \t{_BREAKS}]++)"),
    "'": re.compile(rf"{_FOLD}|(?P<quote>'')|(?P<same>[ \t]++|[^ \t'{_BREAKS}]++)"),
    '"': re.compile(
        rf"{_FOLD}|(?P<joined>\\[{_BREAKS}][ \t{_BREAKS}]*+)"
        r"|(?P<code>\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}))|(?P<escape>\\.)"
        rf"|(?P<same>[ \t]++|[^ \t\\{_BREAKS}]++)"
    ),
}
_ESCAPES = {
    **dict(zip("0abt\tnvfre", "\0\a\b\t\t\n\v\f\r\x1b", strict=True)),
    **dict(zip(' "/\\N_LP', ' "/\\\x85\xa0\u2028\u2029', strict=True)),
}
_SPACES = re.compile(" *")
_LINE = re.compile(rf"[^{_BREAKS}]*")
_INDENTATION = re.compile(rf"(?>(?: *+(?:\r\n|[{_BREAKS}]))*)( *+)")


class Piece(NamedTuple):
    """Some characters of the decoded text, and where they are written in the file."""

    text: str
    start: int
    end: int

    @property
    def is_verbatim(self) -> bool:
        """Written character by character; else one thing, such as an escape, stands for the whole piece."""
        return len(self.text) == self.end - self.start


def decode_flow(text: str, start: int, end: int, style: str) -> list[Piece]:
    """A plain or quoted scalar, of which start and end leave out the quotes."""
    pieces: list[Piece] = []
    for found in _FLOW[style].finditer(text, start, end):
        kind = found.lastgroup
        if kind == "same":
            pieces.append(Piece(found[0], *found.span()))
        elif kind == "quote":
            pieces.append(Piece("'", *found.span()))
        elif kind == "code":
            pieces.append(Piece(chr(int(found[0][2:], 16)), *found.span()))
        elif kind == "escape":
            pieces.append(Piece(_ESCAPES.get(found[0][1], ""), *found.span()))
        else:
            pieces.extend(_fold(list(_breaks(text, *found.span())), escaped=kind == "joined"))
    return pieces


def _fold(breaks: list[Piece], escaped: bool) -> list[Piece]:
    """One line break is a space, or nothing if escaped; of several the first goes and the others stay."""
    first, *others = breaks
    if escaped:
        return others
    if first.text != "\n":  # YAML 1.1 keeps the line and paragraph separators of Unicode
        return breaks
    return others or [first._replace(text=" ")]


def _breaks(text: str, start: int, end: int) -> Iterator[Piece]:
    return (_break(found) for found in _BREAK.finditer(text, start, end))


def _break(found: re.Match[str]) -> Piece:
    kept = found[0] if found[0] in ("\u2028", "\u2029") else "\n"
    return Piece(kept, *found.span())


def decode_block(text: str, start: int, decoded: str) -> list[Piece]:
    """A literal or folded scalar that begins with its `|` or `>` at start, as far as `decoded` is long."""
    header = _BREAK.search(text, start)
    if header is None:
        return []
    is_folded = text[start] == ">"
    pieces: list[Piece] = []
    pending: list[Piece] = []  # the break after the last line with content
    was_spaced = False
    for line in _block_lines(text, header.end(), _find_indent(text, header.end(), decoded)):
        if line.content is None:
            missing = len(decoded) - sum(len(piece.text) for piece in pieces)
            return pieces + (pending + line.blanks)[: max(0, missing)]
        is_spaced = line.content.text[0] in " \t"
        if is_folded and not was_spaced and not is_spaced and pending and pending[0].text == "\n":
            pending = [] if line.blanks else [pending[0]._replace(text=" ")]
        pieces += [*pending, *line.blanks, line.content]
        pending = line.ending
        was_spaced = is_spaced
    return pieces


class _Line(NamedTuple):
    blanks: list[Piece]
    """The breaks of the empty lines before it."""
    content: Piece | None
    """None after the last line."""
    ending: list[Piece]


def _block_lines(text: str, at: int, indent: int) -> Iterator[_Line]:
    while True:
        blanks: list[Piece] = []
        begin = _end(_SPACES, text, at, at + indent)
        while found := _BREAK.match(text, begin):
            blanks.append(_break(found))
            at = found.end()
            begin = _end(_SPACES, text, at, at + indent)
        if begin - at < indent or begin == len(text):
            yield _Line(blanks, None, [])
            return
        end = _end(_LINE, text, begin, len(text))
        found = _BREAK.match(text, end)
        yield _Line(blanks, Piece(text[begin:end], begin, end), [_break(found)] if found else [])
        at = found.end() if found else end


def _find_indent(text: str, at: int, decoded: str) -> int:
    """How far the content is indented: what the first line has more in the file than in the text."""
    spaces = _INDENTATION.match(decoded)
    written = _INDENTATION.match(text, at)
    if spaces is None or written is None:
        return 1
    if spaces.end() < len(decoded):
        return max(1, len(written[1]) - len(spaces[1]))
    widest = max(len(line) for line in _BREAK.split(decoded))
    if not widest:  # nothing but line breaks: any blank line is as good as empty
        return len(text)
    return max(1, max(len(line) for line in _BREAK.split(written[0])) - widest)


def _end(pattern: re.Pattern[str], text: str, start: int, stop: int) -> int:
    found = pattern.match(text, start, stop)
    return found.end() if found else start
