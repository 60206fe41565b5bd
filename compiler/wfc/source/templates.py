"""Templates that someone forgot to quote: `if: {{ state.x }}` is a mapping to YAML, or no YAML at all.

They are so common that they get their own message and do not stop the reading: `mask` puts as many harmless
characters in their place, so that the rest of the file can be read with all its offsets unchanged.
"""

from __future__ import annotations

import re

from wfc.lazy import pattern
from wfc.source.nodes import Problem
from wfc.source.text import Source, Span
from wfc.source.wording import advise_quotes

# `(?>(?:...)*)` and not `(?:...)*+`, which before Python 3.11.5 fails where it should match.
_LEAD_IN = pattern(r"(?>(?:[\s:,?\[-]|\{(?![{%])|#[^\r\n\x85\u2028\u2029]*)*)(?=\{[{%])")
_REST_OF_LINE = pattern(r"[^\r\n]*")
_REST_IN_FLOW = pattern(r"[^\r\n,\]}]*")
_COMMENT = pattern(r"\s#.*")


class BareTemplateError(Exception):
    """A value begins with `{{` outside quotes."""

    def __init__(self, start: int, in_flow: bool) -> None:
        super().__init__(start, in_flow)
        self.start = start
        self.in_flow = in_flow


def find_bare_template(text: str, start: int, stop: int, in_flow: bool) -> BareTemplateError | None:
    """The template that begins the value after `start`, if it is before `stop`, where reading failed."""
    found = _LEAD_IN.match(text, start)
    if found is None or found.end() > stop:
        return None
    return BareTemplateError(found.end(), in_flow or "[" in found[0] or "{" in found[0])


def span_of(source: Source, template: BareTemplateError) -> Span:
    """What should have been quoted: the rest of the line, or inside brackets of the item."""
    start = template.start
    line_end = _match_end(_REST_OF_LINE, source.text, start, len(source.text))
    closing = source.text.find if template.in_flow else source.text.rfind
    closed = closing("}}", start, line_end)
    if closed < 0:
        end = line_end
    else:
        rest = _REST_IN_FLOW if template.in_flow else _REST_OF_LINE
        end = _match_end(rest, source.text, closed + 2, line_end)
        comment = _COMMENT.search(source.text, closed + 2, end)
        end = comment.start() if comment else end
    return source.span(start, start + len(source.text[start:end].rstrip()))


def mask(text: str, span: Span) -> str:
    """The text with a plain word in place of the span."""
    return text[: span.start] + "_" * (span.end - span.start) + text[span.end :]


def to_problem(span: Span) -> Problem:
    message = f"a value that begins with '{span.text[:2]}' must be quoted"
    is_whole = "}}" in span.text or "%}" in span.text
    help = advise_quotes("quote it", span.text) if is_whole else "quote all of it"
    return Problem("syntax", message, span, help)


def _match_end(pattern: re.Pattern[str], text: str, start: int, stop: int) -> int:
    found = pattern.match(text, start, stop)
    return found.end() if found else start
