"""Places inside scalars: which characters of the file became characters start to end of the decoded text."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from wfc.lazy import remembered_of_files
from wfc.source.text import Span

if TYPE_CHECKING:
    from wfc.source.decoding import Piece
    from wfc.source.nodes import Scalar

_QUOTES = {"": 0, "'": 1, '"': 1}


def locate(scalar: Scalar, start: int, end: int) -> Span:
    """The place in the file of `scalar.text[start:end]`; for an empty range an empty span."""
    length = len(scalar.text)
    start = max(0, min(start, length))
    end = max(start, min(end, length))
    margin = _QUOTES.get(scalar.style)
    span = scalar.span
    # Every escape and fold shortens the text. One that is as long as what is written is written as it is.
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


@remembered_of_files(256)
def _decode(scalar: Scalar) -> tuple[list[Piece], list[int]]:
    """The pieces of the text and where in it each begins; no pieces when they do not make up the text."""
    from wfc.source.decoding import decode_block, decode_flow  # only ever needed to point at something

    span, text = scalar.span, scalar.span.source.text
    if scalar.style in _QUOTES:
        margin = _QUOTES[scalar.style]
        pieces = decode_flow(text, span.start + margin, span.end - margin, scalar.style)
    else:
        pieces = decode_block(text, span.start, scalar.text)
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
    """The whole scalar, or for an empty text the place where it would be."""
    span = scalar.span
    if scalar.text:
        return span
    at = span.start + 1 if scalar.style in ("'", '"') else span.end
    return Span(span.source, at, at)
