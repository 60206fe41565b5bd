"""Where and why a YAML parser gave up, with the questions about the text around it that explanations ask."""

from __future__ import annotations

from yaml import MarkedYAMLError

from wfc.lazy import pattern
from wfc.source.nodes import Problem, Scalar
from wfc.source.text import Source, Span
from wfc.structs import struct

_BREAK = pattern(r"[\r\n]")
_LEAD_IN = pattern(r"[\s:,?\[{-]*")
_END_OF_TEXT = pattern(r"(?>(?:\s|#[^\r\n\x85\u2028\u2029]*)*)\Z")
Related = tuple[tuple[Span, str], ...]


@struct(frozen=True)
class Failure:
    source: Source
    problem: str
    context: str
    at: int
    """Where the parser stopped."""
    opened: int
    """Where the thing begins that it was reading."""
    last: Scalar | None
    """The last scalar before that place."""
    bracket: int | None
    """The innermost open bracket."""

    @classmethod
    def of(
        cls, error: Exception, source: Source, end: int, last: Scalar | None, bracket: int | None
    ) -> Failure:
        if not isinstance(
            error, MarkedYAMLError
        ):  # an escape, in quotes or in a tag, of a character that is none
            found = _LEAD_IN.match(source.text, end)
            at = found.end() if found else end
            return cls(source, "an escape stands for no character", "", at, at, last, bracket)
        size = len(source.text)
        at = min(error.problem_mark.index, size) if error.problem_mark else end
        opened = min(error.context_mark.index, size) if error.context_mark else at
        return cls(source, error.problem or "", error.context or "", at, opened, last, bracket)

    @property
    def char(self) -> str:
        """The character where the parser stopped; empty at the end of the file."""
        return self.source.text[self.at : self.at + 1]

    @property
    def is_at_end(self) -> bool:
        return _END_OF_TEXT.match(self.source.text, self.at) is not None

    @property
    def follows_quotes(self) -> bool:
        """Nothing but blanks stands between a quoted text and the place."""
        if self.last is None or self.last.style not in ("'", '"'):
            return False
        return not self.source.text[self.last.span.end : self.at].strip(" \t")

    def line_start(self, offset: int) -> int:
        return self.source.line_starts[self.source.position(offset)[0] - 1]

    def line_end(self, offset: int) -> int:
        found = _BREAK.search(self.source.text, offset)
        return found.start() if found else len(self.source.text)

    def begins_line(self, offset: int) -> bool:
        """Only blanks stand before the place in its line."""
        return not self.source.text[self.line_start(offset) : offset].strip(" \t")

    def indentation(self, offset: int) -> str:
        line = self.source.text[self.line_start(offset) : self.line_end(offset)]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def rest_of_line(self, offset: int) -> Span:
        """From the place to the end of its line, without a comment; one character at least."""
        text = self.source.text
        end = self.line_end(offset)
        comment = text.find(" #", offset, end)
        end = comment if comment > offset else end
        end = offset + len(text[offset:end].rstrip())
        return self.source.span(offset, max(end, min(offset + 1, len(text))))

    def character(self, offset: int) -> Span:
        return self.source.span(offset, min(offset + 1, len(self.source.text)))

    def explained(self, message: str, span: Span, help: str = "", related: Related = ()) -> Problem:
        return Problem("syntax", message, span, help, related)
