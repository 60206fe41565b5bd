"""YAML's complaints in plain words: what is wrong, exactly where, and the way out."""

from __future__ import annotations

import re
from collections.abc import Callable

from wfc.lazy import pattern
from wfc.source import structure_errors as structure
from wfc.source.extents import find_tag
from wfc.source.failures import Failure
from wfc.source.nodes import Problem
from wfc.source.wording import advise_quotes, excerpt


def explain(failure: Failure) -> Problem:
    """The first explanation that fits, or the parser's own words."""
    for explanation in _EXPLANATIONS:
        if (problem := explanation(failure)) is not None:
            return problem
    return failure.explained(f"this is not valid YAML: {failure.problem}", failure.character(failure.at))


_CONFLICT = pattern(r"^<{7} .*", re.MULTILINE)
_CONFLICT_END = pattern(r"^>{7} ", re.MULTILINE)


def _merge_conflict(failure: Failure) -> Problem | None:
    text = failure.source.text
    found = _CONFLICT.search(text)
    if found is None or not _CONFLICT_END.search(text, found.end()):
        return None
    help = (
        "keep what is right of both sides, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>"
    )
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
    message = f"'{sign}' at the beginning of a value makes it an {kind}, and this is no name for one"
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
    return failure.explained("this '%' line is no directive that is understood", span, "remove the line")


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
    structure.unclosed_bracket,
    structure.missing_comma,
    structure.missing_key,
    structure.unexpected_sign,
    structure.overlong_key,
    structure.lines_read_as_one,
    structure.colon_in_value,
    structure.missing_colon,
    structure.list_on_key_line,
    structure.text_after_value,
    structure.missing_dash,
    structure.wrong_indentation,
)
