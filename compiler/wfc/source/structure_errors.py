"""Explanations of mistakes in the structure: brackets, colons, dashes and indentation."""

from __future__ import annotations

import re

from wfc.lazy import pattern
from wfc.source.failures import Failure
from wfc.source.nodes import Problem
from wfc.source.wording import advise_quotes, excerpt

_MAX_KEY = 1_024
_CLOSING = {"[": "]", "{": "}"}
_COLON_WITHOUT_SPACE = pattern(r":(?=[^\s:/\\])")
_BLOCKS = ("while parsing a block mapping", "while parsing a block collection")


def unclosed_bracket(failure: Failure) -> Problem | None:
    if failure.bracket is None:
        return None
    sign = failure.source.text[failure.bracket]
    if failure.char in ("]", "}") and failure.char != _CLOSING.get(sign):
        message = f"'{failure.char}' cannot close what '{sign}' opened"
        related = ((failure.character(failure.bracket), f"the '{sign}'"),)
        return failure.explained(
            message, failure.character(failure.at), f"close it with '{_CLOSING[sign]}'", related
        )
    if not failure.is_at_end and not _is_outdented(failure, failure.bracket):
        return None
    help = f"add the closing {_CLOSING[sign]}, or quote the value if the {sign} is part of a text"
    return failure.explained(f"this {sign} is never closed", failure.character(failure.bracket), help)


def _is_outdented(failure: Failure, bracket: int) -> bool:
    """The place is on a later line that is indented no deeper than the line of the bracket."""
    later = failure.line_start(failure.at) > failure.line_start(bracket)
    return later and len(failure.indentation(failure.at)) <= len(failure.indentation(bracket))


def missing_comma(failure: Failure) -> Problem | None:
    if failure.bracket is None or "',' or" not in failure.problem:
        return None
    sign = failure.source.text[failure.bracket]
    start = failure.at
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
    if span.end != failure.at or span.end - span.start <= _MAX_KEY or _is_folded(failure):
        return None
    message = f"a key of {span.end - span.start:,} characters is too long: YAML allows {_MAX_KEY:,}"
    return failure.explained(message, span, "shorten the key")


def lines_read_as_one(failure: Failure) -> Problem | None:
    """`a b` or `a:b` above `c: d`, or `c: d` indented under the complete `a: b`."""
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
    help = "quote the value if the ':' is part of it, or put the inner key on a line of its own"
    if failure.last is not None and not failure.last.style and failure.last.span.end == failure.at:
        value = failure.rest_of_line(failure.last.span.start).text
        help = advise_quotes("quote the value if the ':' is part of it", value)
    return failure.explained("a second ':' in one line", failure.character(failure.at), help)


def missing_colon(failure: Failure) -> Problem | None:
    if "expected ':'" not in failure.problem:
        return None
    return _no_colon(failure, failure.opened)


def _no_colon(failure: Failure, start: int) -> Problem:
    """The line at `start` has no `: `."""
    line = failure.rest_of_line(start)
    colon = _COLON_WITHOUT_SPACE.search(line.source.text, line.start, line.end)
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
    if re.match(r"-(?:\s|$)", span.text) and not _is_deeper(failure):
        help = "remove the '- ', or indent the list under its key"
        return failure.explained("a list item where a key is expected", span, help, related)
    message = "the indentation of this line fits no line above it"
    return failure.explained(message, span, "align it with the lines that it belongs to", related)


def _is_deeper(failure: Failure) -> bool:
    """The place is indented deeper than what the parser was reading."""
    return failure.source.position(failure.at)[1] > failure.source.position(failure.opened)[1]


def _is_folded(failure: Failure) -> bool:
    """The last scalar is an unquoted text that goes on over several lines to the place."""
    last = failure.last
    if last is None or last.style or last.span.end != failure.at:
        return False
    return failure.line_start(last.span.start) != failure.line_start(failure.at)
