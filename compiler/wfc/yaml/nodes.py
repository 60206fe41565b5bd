"""The tree that YAML text becomes. Nothing after this package looks at YAML itself.

Nodes are immutable by convention. They are not frozen at run time, because that would double the time to build tens of
thousands of them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import field
from itertools import accumulate

from wfc.caching import cached_per_file, pattern
from wfc.struct import replace, struct
from wfc.yaml.source import Span

# Plain scalars by the YAML 1.2 core schema: `no`, `on`, `12:30` and dates are text, `010` is ten.

MAX_DIGITS = 1_000
"""Longer integers remain text: Python refuses to print them, and JSON readers can't represent them."""

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_STARTS = frozenset("+-.0123456789")
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITY = re.compile(r"[-+]?\.(?:inf|Inf|INF)")
_NOT_A_NUMBER = frozenset((".nan", ".NaN", ".NAN"))
_BASES = {"0o": 8, "0x": 16}


def resolve_plain(text: str) -> str | int | float | bool | None:
    """The value of a plain scalar."""
    if text in _WORDS:
        return _WORDS[text]
    # Only texts that could be numbers are compared with the patterns.
    if text[0] in _NUMBER_STARTS:
        return _resolve_number(text)
    return text


def is_overlong_integer(text: str) -> bool:
    return len(text) > MAX_DIGITS and _INTEGER.fullmatch(text) is not None


def _resolve_number(text: str) -> str | int | float:
    if _INTEGER.fullmatch(text):
        if len(text) > MAX_DIGITS:
            return text
        base = _BASES.get(text[:2], 10)
        # In YAML 1.2, `010` is ten and not eight.
        return int(text[2:] if base != 10 else text, base)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _INFINITY.fullmatch(text):
        return float("-inf" if text[0] == "-" else "inf")
    if text in _NOT_A_NUMBER:
        return float("nan")
    return text


ScalarValue = str | int | float | bool | None


@struct(eq=False, slots=True)
class Scalar:
    """A leaf. `text` is its content, without quotes, escapes and folds; `value` is its value in YAML 1.2."""

    span: Span
    text: str
    value: ScalarValue
    style: str
    """One of "" (plain), "'", '"', "|" and ">"."""

    @property
    def language(self) -> str:
        """The language of the expressions in it."""
        return "jinja"

    def at(self, start: int, end: int) -> Span:
        """The span in the file of `text[start:end]`, through quotes, escapes and folds."""
        return locate(self, start, end)

    def excerpt(self, start: int, end: int) -> str:
        """The characters of the file that became `text[start:end]`, without quotes and escapes."""
        return self.text[start:end]


@struct(eq=False, slots=True)
class Sequence:
    span: Span
    items: list[Node] = field(default_factory=list)


@struct(eq=False, slots=True)
class Entry:
    key: Scalar
    value: Node


@struct(eq=False, slots=True)
class Mapping:
    """Entries in source order. A duplicate key has two entries (WF002 reports it)."""

    span: Span
    entries: list[Entry] = field(default_factory=list)

    def entry(self, key: str) -> Entry | None:
        """The first entry of that key."""
        for entry in self.entries:
            if entry.key.text == key:
                return entry
        return None

    def get(self, key: str) -> Node | None:
        found = self.entry(key)
        return found.value if found else None


Node = Scalar | Sequence | Mapping


@struct(frozen=True)
class Problem:
    """An error that keeps a text from being read as one tree."""

    kind: str
    """"syntax" (WF001), "limit" (WF010), or "edited" for a generated file that was changed by hand (WF702)."""
    message: str
    span: Span
    help: str = ""
    related: tuple[tuple[Span, str], ...] = ()
    setting: str = ""
    """The name of the setting that raises the limit, if there is one."""


@struct
class Document:
    root: Node | None
    problems: list[Problem] = field(default_factory=list)


# Positions inside scalars: which characters of the file became `text[start:end]`.

_QUOTES = {"": 0, "'": 1, '"': 1}


def locate(scalar: Scalar, start: int, end: int) -> Span:
    """The span in the file of `scalar.text[start:end]`; for an empty range, an empty span."""
    length = len(scalar.text)
    start = max(0, min(start, length))
    end = max(start, min(end, length))
    margin = _QUOTES.get(scalar.style)
    # Flow scalars in one line without escapes: nearly all of them.
    span = scalar.span
    # Every escape and fold shortens the text: if the lengths are equal, offsets need no translation.
    if margin is not None and span.end - span.start - 2 * margin == length:
        return Span(span.source, span.start + margin + start, span.start + margin + end)
    pieces, offsets = _decode(scalar)
    if not pieces:
        return _locate_in_nothing(scalar)
    if start < end:
        return Span(span.source, _begin(pieces, offsets, start), _finish(pieces, offsets, end - 1))
    at = (
        _begin(pieces, offsets, start)
        if start < length
        else min(_finish(pieces, offsets, start - 1), span.end)
    )
    return Span(span.source, at, at)


@cached_per_file(256)
def _decode(scalar: Scalar) -> tuple[list[Piece], list[int]]:
    """The pieces of the text with their offsets in it; none if together they do not give the text."""

    span, text = scalar.span, scalar.span.source.text
    # Block texts are decoded by their lines, and need no quotes.
    if scalar.style in _QUOTES:
        margin = _QUOTES[scalar.style]
        pieces = decode_flow(text, span.start + margin, span.end - margin, scalar.style)
    else:
        pieces = decode_block(text, span.start, scalar.text)
    # The second decoder may differ from libyaml on exotic input. Then the whole scalar is the position.
    if "".join(piece.text for piece in pieces) != scalar.text:
        return [], []
    return pieces, list(accumulate((len(piece.text) for piece in pieces), initial=0))


def _begin(pieces: list[Piece], offsets: list[int], index: int) -> int:
    number = bisect_right(offsets, index) - 1
    piece = pieces[number]
    return piece.start + index - offsets[number] if piece.is_verbatim else piece.start


def _finish(pieces: list[Piece], offsets: list[int], index: int) -> int:
    number = bisect_right(offsets, index) - 1
    piece = pieces[number]
    return piece.start + index - offsets[number] + 1 if piece.is_verbatim else piece.end


def _locate_in_nothing(scalar: Scalar) -> Span:
    """The whole scalar, or the position of an empty text."""
    span = scalar.span
    if scalar.text:
        return span
    at = span.start + 1 if scalar.style in ("'", '"') else span.end
    return Span(span.source, at, at)


# Scalars are decoded a second time, into pieces with positions. Folding, quotes and escapes follow libyaml.

_BREAKS = r"\n\r\x85\u2028\u2029"
_BREAK = pattern(rf"\r\n|[{_BREAKS}]")
_FOLD = rf"(?P<fold>[ \t]*+[{_BREAKS}][ \t{_BREAKS}]*+)"
_FLOW = {
    "": pattern(rf"{_FOLD}|(?P<same>[ \t]++|[^ \t{_BREAKS}]++)"),
    "'": pattern(rf"{_FOLD}|(?P<quote>'')|(?P<same>[ \t]++|[^ \t'{_BREAKS}]++)"),
    '"': pattern(
        rf"{_FOLD}|(?P<joined>\\[{_BREAKS}][ \t{_BREAKS}]*+)"
        r"|(?P<code>\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}))|(?P<escape>\\.)"
        rf"|(?P<same>[ \t]++|[^ \t\\{_BREAKS}]++)"
    ),
}
_ESCAPES = {
    **dict(zip("0abt\tnvfre", "\0\a\b\t\t\n\v\f\r\x1b", strict=True)),
    **dict(zip(' "/\\N_LP', ' "/\\\x85\xa0\u2028\u2029', strict=True)),
}
_SPACES = pattern(" *")
_LINE = pattern(rf"[^{_BREAKS}]*")
_INDENTATION = pattern(rf"(?>(?: *+(?:\r\n|[{_BREAKS}]))*)( *+)")


@struct(frozen=True, slots=True)
class Piece:
    """Characters of the decoded text, and their offsets in the file."""

    text: str
    start: int
    end: int

    @property
    def is_verbatim(self) -> bool:
        """Whether the characters are written literally; otherwise one escape or fold gives the whole piece."""
        return len(self.text) == self.end - self.start


def decode_flow(text: str, start: int, end: int, style: str) -> list[Piece]:
    """Decode a plain or quoted scalar; start and end exclude the quotes."""
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
    """Fold line breaks: one becomes a space, or nothing if it is escaped; of several, the first is dropped."""
    first, *others = breaks
    if escaped:
        return others
    if first.text != "\n":  # YAML 1.1 keeps the line and paragraph separators of Unicode
        return breaks
    # Of several breaks the first is dropped, and each other one stays a newline.
    return others or [replace(first, text=" ")]


def _breaks(text: str, start: int, end: int) -> Iterator[Piece]:
    return (_break(found) for found in _BREAK.finditer(text, start, end))


def _break(found: re.Match[str]) -> Piece:
    kept = found[0] if found[0] in ("\u2028", "\u2029") else "\n"
    return Piece(kept, *found.span())


def decode_block(text: str, start: int, decoded: str) -> list[Piece]:
    """Decode a block scalar whose `|` or `>` is at start, up to the length of `decoded`."""
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
        # Folding applies between two lines that are not indented further.
        if is_folded and not was_spaced and not is_spaced and pending and pending[0].text == "\n":
            pending = [] if line.blanks else [replace(pending[0], text=" ")]
        pieces += [*pending, *line.blanks, line.content]
        pending = line.ending
        was_spaced = is_spaced
    return pieces


@struct(frozen=True, slots=True)
class _Line:
    blanks: list[Piece]
    """The line breaks of the empty lines before it."""
    content: Piece | None
    """None after the last line."""
    ending: list[Piece]


def _block_lines(text: str, at: int, indent: int) -> Iterator[_Line]:
    while True:
        blanks: list[Piece] = []
        # Lines with less indentation are empty lines, or come after the block.
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
    """The indentation of the content: the difference between a line of the file and that line of the text."""
    spaces = _INDENTATION.match(decoded)
    written = _INDENTATION.match(text, at)
    if spaces is None or written is None:
        return 1
    if spaces.end() < len(decoded):
        return max(1, len(written[1]) - len(spaces[1]))
    widest = max(len(line) for line in _BREAK.split(decoded))
    if not widest:  # nothing but line breaks: any blank line counts as empty
        # Larger than any indentation, so that every line counts as blank.
        return len(text)
    return max(1, max(len(line) for line in _BREAK.split(written[0])) - widest)


def _end(expression: re.Pattern[str], text: str, start: int, stop: int) -> int:
    found = expression.match(text, start, stop)
    return found.end() if found else start


@struct(frozen=True)
class Nodes:
    """Every node once, in source order. Nodes that an alias or a merge repeats are listed once."""

    scalars: list[Scalar]
    """All scalars, including keys."""
    mappings: list[Mapping]


@cached_per_file(2)
def nodes_of(root: Node | None) -> Nodes:
    scalars: list[Scalar] = []
    mappings: list[Mapping] = []
    pending = [root] if root else []
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if isinstance(node, Scalar):
            scalars.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            if isinstance(node, Sequence):
                # Reversed, because the last one is taken first.
                pending.extend(reversed(node.items))
                continue
            mappings.append(node)
            for entry in reversed(node.entries):
                pending += (entry.value, entry.key)
    # An alias repeats a scalar, which is one place in the file.
    return Nodes(list({id(scalar): scalar for scalar in scalars}.values()), mappings)
