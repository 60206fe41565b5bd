"""Explain why a text is not valid YAML: the mistake, its exact position, and how to correct it.

The parser reports where it could not continue, which is often a line or more after the mistake. Each explanation looks
for the traces of one common mistake around that point; the first one that fits is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from yaml import MarkedYAMLError

from wfc.caching import pattern
from wfc.struct import struct
from wfc.yaml.nodes import Problem, Scalar
from wfc.yaml.source import Source, Span, find_tag


def excerpt(text: str, limit: int = 40) -> str:
    """The text, shortened if it is too long for a message."""
    return text if len(text) <= limit else text[:limit] + "..."


def advise_quotes(advice: str, text: str, limit: int = 60) -> str:
    """The advice, with the text in suitable quotes if it is short enough to be copied."""
    if len(text) > limit:
        return advice
    if '"' not in text and "\\" not in text:
        return f'{advice}: "{text}"'
    return f"{advice}: '" + text.replace("'", "''") + "'"


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
    """The offset at which the parser stopped."""
    opened: int
    """The offset of the construct that it was parsing."""
    last: Scalar | None
    """The last scalar before that offset."""
    bracket: int | None
    """The offset of the innermost open bracket."""

    @classmethod
    def of(
        cls, error: Exception, source: Source, end: int, last: Scalar | None, bracket: int | None
    ) -> Failure:
        if not isinstance(
            error, MarkedYAMLError
        ):  # an escape, in quotes or in a tag, of a character that is none
            # The parser gives no position for it, so the place is the next token.
            found = _LEAD_IN.match(source.text, end)
            at = found.end() if found else end
            return cls(source, "an escape sequence names no character", "", at, at, last, bracket)
        size = len(source.text)
        # Marks may be one past the end.
        at = min(error.problem_mark.index, size) if error.problem_mark else end
        opened = min(error.context_mark.index, size) if error.context_mark else at
        return cls(source, error.problem or "", error.context or "", at, opened, last, bracket)

    @property
    def char(self) -> str:
        """The character at which the parser stopped; empty at the end of the file."""
        return self.source.text[self.at : self.at + 1]

    @property
    def is_at_end(self) -> bool:
        return _END_OF_TEXT.match(self.source.text, self.at) is not None

    @property
    def follows_quotes(self) -> bool:
        """Whether only blanks are between a quoted text and the point of failure."""
        if self.last is None or self.last.style not in ("'", '"'):
            return False
        return not self.source.text[self.last.span.end : self.at].strip(" \t")

    def line_start(self, offset: int) -> int:
        return self.source.line_starts[self.source.position(offset)[0] - 1]

    def line_end(self, offset: int) -> int:
        found = _BREAK.search(self.source.text, offset)
        return found.start() if found else len(self.source.text)

    def begins_line(self, offset: int) -> bool:
        """Whether only blanks precede the offset in its line."""
        return not self.source.text[self.line_start(offset) : offset].strip(" \t")

    def indentation(self, offset: int) -> str:
        line = self.source.text[self.line_start(offset) : self.line_end(offset)]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def rest_of_line(self, offset: int) -> Span:
        """From the offset to the end of its line, without a comment; at least one character."""
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


# Mistakes in the structure: brackets, colons, dashes and indentation.

_MAX_KEY = 1_024
_CLOSING = {"[": "]", "{": "}"}
_COLON_WITHOUT_SPACE = pattern(r":(?=[^\s:/\\])")
_BLOCKS = ("while parsing a block mapping", "while parsing a block collection")


def unclosed_bracket(failure: Failure) -> Problem | None:
    if failure.bracket is None:
        return None
    sign = failure.source.text[failure.bracket]
    # The wrong bracket is a clearer message than a missing one.
    if failure.char in ("]", "}") and failure.char != _CLOSING.get(sign):
        message = f"'{failure.char}' cannot close what '{sign}' opened"
        related = ((failure.character(failure.bracket), f"the '{sign}'"),)
        return failure.explained(
            message, failure.character(failure.at), f"close it with '{_CLOSING[sign]}'", related
        )
    # Something else is wrong inside the bracket.
    if not failure.is_at_end and not _is_outdented(failure, failure.bracket):
        return None
    help = f"add the closing {_CLOSING[sign]}, or quote the value if the {sign} is part of a text"
    return failure.explained(f"this {sign} is never closed", failure.character(failure.bracket), help)


def _is_outdented(failure: Failure, bracket: int) -> bool:
    """Whether the point of failure is on a later line that is not indented deeper than that of the bracket."""
    later = failure.line_start(failure.at) > failure.line_start(bracket)
    return later and len(failure.indentation(failure.at)) <= len(failure.indentation(bracket))


def missing_comma(failure: Failure) -> Problem | None:
    if failure.bracket is None or "',' or" not in failure.problem:
        return None
    sign = failure.source.text[failure.bracket]
    start = failure.at
    # The text before a missing comma has been read as one text with the next one.
    if failure.last is not None and failure.last.span.end == failure.at:
        start = max(
            failure.last.span.start, failure.line_start(failure.at) + len(failure.indentation(failure.at))
        )
    message = f"expected ',' or '{_CLOSING[sign]}' before this"
    related = ((failure.character(failure.bracket), f"inside this '{sign}'"),)
    span = failure.source.span(start, max(failure.at, start + 1))
    return failure.explained(message, span, "separate the items with commas, and quote texts", related)


def missing_key(failure: Failure) -> Problem | None:
    if failure.char != ":" or (failure.context not in _BLOCKS and "node content" not in failure.problem):
        return None
    message = "a key is missing before this ':'"
    return failure.explained(
        message, failure.character(failure.at), "write its name, or quote the whole value"
    )


def unexpected_sign(failure: Failure) -> Problem | None:
    closes_nothing = failure.char in ("]", "}") and failure.bracket is None
    if closes_nothing:
        message = f"this '{failure.char}' closes nothing"
    elif "node content" in failure.problem or "mapping keys are not allowed" in failure.problem:
        message = f"a value cannot begin with '{failure.char}'"
    elif "document start" in failure.problem:
        message = "unexpected text after the end of the document"
    else:
        return None
    return failure.explained(message, failure.character(failure.at), "remove it, or quote the whole value")


def overlong_key(failure: Failure) -> Problem | None:
    if failure.last is None or "mapping values are not allowed" not in failure.problem:
        return None
    span = failure.last.span
    # Several lines that YAML joined are not one long key.
    if span.end != failure.at or span.end - span.start <= _MAX_KEY or _is_folded(failure):
        return None
    message = f"a key of {span.end - span.start:,} characters is too long: YAML allows {_MAX_KEY:,}"
    return failure.explained(message, span, "shorten the key")


def lines_read_as_one(failure: Failure) -> Problem | None:
    """Explain lines that YAML joins: `a b` or `a:b` above `c: d`, or `c: d` indented under the complete `a: b`."""
    if "mapping values are not allowed" not in failure.problem or not _is_folded(failure):
        return None
    assert failure.last is not None
    start = failure.last.span.start
    if failure.begins_line(start):
        return _no_colon(failure, start)
    key = failure.line_start(failure.at) + len(failure.indentation(failure.at))
    name = excerpt(failure.source.text[key : failure.at])
    message = f"'{name}' is indented as if it were part of the value above"
    related = ((failure.rest_of_line(start), "this value"),)
    help = "align it with the keys it belongs to, or quote the value if all of this is one text"
    return failure.explained(message, failure.source.span(key, failure.at), help, related)


def colon_in_value(failure: Failure) -> Problem | None:
    if "mapping values are not allowed" not in failure.problem:
        return None
    help = "quote the value if the ':' is part of it, or put the inner key on its own line"
    if failure.last is not None and not failure.last.style and failure.last.span.end == failure.at:
        value = failure.rest_of_line(failure.last.span.start).text
        help = advise_quotes("quote the value if the ':' is part of it", value)
    return failure.explained("a second ':' in one line", failure.character(failure.at), help)


def missing_colon(failure: Failure) -> Problem | None:
    if "expected ':'" not in failure.problem:
        return None
    return _no_colon(failure, failure.opened)


def _no_colon(failure: Failure, start: int) -> Problem:
    """Explain a line without `: `."""
    line = failure.rest_of_line(start)
    colon = _COLON_WITHOUT_SPACE.search(line.source.text, line.start, line.end)
    # A quoted or bracketed beginning is no `key:value`.
    if colon is None or line.text[0] in "'\"[{":
        message = f"expected ':' after '{excerpt(line.text)}'"
        return failure.explained(message, line, "each line of a mapping is 'key: value'")
    key, value = line.source.text[line.start : colon.start()], line.source.text[colon.end() : line.end]
    span = failure.source.span(*colon.span())
    return failure.explained(
        "a space is missing after this ':'", span, f"write '{excerpt(key)}: {excerpt(value)}'"
    )


def list_on_key_line(failure: Failure) -> Problem | None:
    if "sequence entries are not allowed" not in failure.problem:
        return None
    help = "begin the list on the next line, or write it in brackets: [a, b]; quote the value if it is a text"
    return failure.explained(
        "a list cannot begin in the line of its key", failure.character(failure.at), help
    )


def text_after_value(failure: Failure) -> Problem | None:
    if failure.context not in _BLOCKS or failure.begins_line(failure.at):
        return None
    span = failure.rest_of_line(failure.at)
    if not failure.follows_quotes or failure.last is None:
        return failure.explained(
            "unexpected text after the value", span, "remove it, or quote the whole value"
        )
    mark = failure.last.style
    inside = "''" if mark == "'" else '\\"'
    help = f"quote the whole value; a {mark} inside the text is written {inside}"
    # The quote was probably meant to close in an earlier line.
    if failure.last.span.line < span.line:
        help = (
            f"is the closing {mark} missing in line {failure.last.span.line}, where the quoted text begins?"
        )
    related = ((failure.last.span, "the quoted text"),)
    return failure.explained(f"unexpected text after the closing {mark}", span, help, related)


def missing_dash(failure: Failure) -> Problem | None:
    if failure.context != "while parsing a block collection" or _is_deeper(failure):
        return None
    related = ((failure.character(failure.opened), "the list begins here"),)
    help = "begin the line with '- ', or indent it as deep as the item that it belongs to"
    message = "expected another list item here"
    return failure.explained(message, failure.rest_of_line(failure.at), help, related)


def wrong_indentation(failure: Failure) -> Problem | None:
    if failure.context not in _BLOCKS:
        return None
    kind = failure.context.split()[-1].replace("collection", "list")
    related = ((failure.character(failure.opened), f"the {kind} begins here"),)
    span = failure.rest_of_line(failure.at)
    # A dash at the right depth, but in a mapping.
    if re.match(r"-(?:\s|$)", span.text) and not _is_deeper(failure):
        help = "remove the '- ', or indent the list under its key"
        return failure.explained("a list item where a key is expected", span, help, related)
    message = "the indentation of this line matches no line above it"
    return failure.explained(message, span, "align it with the lines that it belongs to", related)


def _is_deeper(failure: Failure) -> bool:
    """Whether the point of failure is indented deeper than the construct that the parser was reading."""
    return failure.source.position(failure.at)[1] > failure.source.position(failure.opened)[1]


def _is_folded(failure: Failure) -> bool:
    """Whether the last scalar is an unquoted text that continues over several lines to the point of failure."""
    last = failure.last
    if last is None or last.style or last.span.end != failure.at:
        return False
    return failure.line_start(last.span.start) != failure.line_start(failure.at)


# Mistakes in single values and lines. `explain` tries each explanation in order.


def explain(failure: Failure) -> Problem:
    """The first explanation that fits, or the parser's own message."""
    # The order matters: more specific explanations come first.
    for explanation in _EXPLANATIONS:
        if (problem := explanation(failure)) is not None:
            return problem
    return failure.explained(f"this is not valid YAML: {failure.problem}", failure.character(failure.at))


_CONFLICT = pattern(r"^<{7} .*", re.MULTILINE)
_CONFLICT_END = pattern(r"^>{7} ", re.MULTILINE)


def _merge_conflict(failure: Failure) -> Problem | None:
    text = failure.source.text
    found = _CONFLICT.search(text)
    # `<<<<<<<` alone may be part of a text.
    if found is None or not _CONFLICT_END.search(text, found.end()):
        return None
    help = "keep the correct parts of both sides, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>"
    return failure.explained("a merge left a conflict here", failure.source.span(*found.span()), help)


def _unclosed_quote(failure: Failure) -> Problem | None:
    if "quoted scalar" not in failure.context or not failure.problem.startswith("found unexpected"):
        return None
    mark = failure.source.text[failure.opened : failure.opened + 1]
    inside = "''" if mark == "'" else '\\"'
    help = f"add the closing {mark}; a {mark} inside the text is written {inside}"
    return failure.explained(f"this {mark} is never closed", failure.character(failure.opened), help)


def _bad_escape(failure: Failure) -> Problem | None:
    if "quoted scalar" not in failure.context:
        return None
    backslash = failure.source.text.rfind("\\", failure.opened, failure.at + 1)
    if backslash < 0:
        return None
    span = failure.source.span(backslash, min(backslash + 2, len(failure.source.text)))
    message = f"'{span.text}' is not an escape sequence"
    if span.text in ("\\x", "\\u", "\\U"):
        digits = {"x": 2, "u": 4, "U": 8}[span.text[1]]
        message = f"'{span.text}' must be followed by {digits} hexadecimal digits that name a character"
    help = (
        "write a backslash as \\\\ in double quotes, or use single quotes, where it is an ordinary character"
    )
    return failure.explained(message, span, help)


def _tab(failure: Failure) -> Problem | None:
    if "flow" in failure.context:  # brackets may be indented with tabs
        return None
    indentation = failure.indentation(failure.at)
    if "\t" in indentation:
        span = failure.character(failure.line_start(failure.at) + indentation.index("\t"))
        return failure.explained("a tab is used for indentation", span, "indent with spaces only")
    if failure.char == "\t":
        span = failure.character(failure.at)
        return failure.explained("a tab is used where YAML expects spaces", span, "replace it by a space")
    return None


def _character(failure: Failure) -> Problem | None:
    if "cannot start any token" not in failure.problem:
        return None
    help = advise_quotes("quote the value", failure.rest_of_line(failure.at).text)
    message = f"a value cannot begin with '{failure.char}'"
    return failure.explained(message, failure.character(failure.at), help)


def _reference(failure: Failure) -> Problem | None:
    if failure.context not in ("while scanning an alias", "while scanning an anchor"):
        return None
    sign = failure.source.text[failure.opened : failure.opened + 1]
    kind = "alias" if sign == "*" else "anchor"
    message = f"'{sign}' at the beginning of a value makes it an {kind}, and this is not a valid name"
    help = advise_quotes("quote the value", failure.rest_of_line(failure.opened).text)
    return failure.explained(message, failure.character(failure.opened), help)


def _tag(failure: Failure) -> Problem | None:
    is_tag = "tag" in failure.context or "tag handle" in failure.problem
    if not is_tag and not (failure.char == "!" and not failure.context):
        return None
    text, start = failure.source.text, failure.opened
    span = failure.source.span(*find_tag(text, start, failure.line_end(start)))
    help = "remove it; quote the value if the '!' is part of a text"
    return failure.explained(f"tags are not supported: '{excerpt(span.text)}'", span, help)


def _block_header(failure: Failure) -> Problem | None:
    if "block scalar" not in failure.context:
        return None
    sign = failure.source.text[failure.opened : failure.opened + 1]
    message = f"unexpected text after '{sign}', which begins a text of several lines"
    help = f"begin the text on the next line, indented; or quote the value if the '{sign}' is part of it"
    return failure.explained(message, failure.rest_of_line(failure.at), help)


def _directive(failure: Failure) -> Problem | None:
    if "directive" not in failure.context + failure.problem and "incompatible YAML" not in failure.problem:
        return None
    span = failure.rest_of_line(failure.line_start(failure.opened))
    return failure.explained("this '%' line is not a known directive", span, "remove the line")


_EXPLANATIONS: tuple[Callable[[Failure], Problem | None], ...] = (
    _merge_conflict,
    _unclosed_quote,
    _bad_escape,
    _tab,
    _character,
    _reference,
    _tag,
    _block_header,
    _directive,
    unclosed_bracket,
    missing_comma,
    missing_key,
    unexpected_sign,
    overlong_key,
    lines_read_as_one,
    colon_in_value,
    missing_colon,
    list_on_key_line,
    text_after_value,
    missing_dash,
    wrong_indentation,
)


# Unquoted templates. They are so common that they have their own message, and parsing continues after them.

# `(?>(?:...)*)` instead of `(?:...)*+`, which has a bug before Python 3.11.5 and fails on texts that match.
_BEFORE_TEMPLATE = pattern(r"(?>(?:[\s:,?\[-]|\{(?![{%])|#[^\r\n\x85\u2028\u2029]*)*)(?=\{[{%])")
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
    """The template at the beginning of the value after `start`, if it is before `stop`, where parsing failed."""
    found = _BEFORE_TEMPLATE.match(text, start)
    if found is None or found.end() > stop:
        return None
    return BareTemplateError(found.end(), in_flow or "[" in found[0] or "{" in found[0])


def span_of(source: Source, template: BareTemplateError) -> Span:
    """The text that needs quotes: the rest of the line or, inside brackets, of the item."""
    start = template.start
    line_end = _match_end(_REST_OF_LINE, source.text, start, len(source.text))
    # Inside brackets the first `}}` ends the value; otherwise an expression may contain some.
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
    """The text with a plain word of the same length instead of the span."""
    # The same length, so that all offsets stay valid.
    return text[: span.start] + "_" * (span.end - span.start) + text[span.end :]


def to_problem(span: Span) -> Problem:
    message = f"a value that begins with '{span.text[:2]}' must be quoted"
    is_whole = "}}" in span.text or "%}" in span.text
    help = advise_quotes("quote it", span.text) if is_whole else "quote the whole value"
    return Problem("syntax", message, span, help)


def _match_end(pattern: re.Pattern[str], text: str, start: int, stop: int) -> int:
    found = pattern.match(text, start, stop)
    return found.end() if found else start
