"""Find the holes of a text: `{{ expression }}`, where the expression is JavaScript and may itself contain `}}`.

The scanner knows strings, template literals, regular expressions, comments and braces, and nothing else of the
language: the text between the braces is parsed later. Both the runtime and the compiler use it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from wfc_runtime.expr.errors import TemplateError

OPEN, CLOSE = "{{", "}}"


class Hole(NamedTuple):
    """The offsets of `{{ expression }}`, and of the expression without the braces and the spaces around it."""

    start: int
    end: int
    inner_start: int
    inner_end: int


def has_holes(text: str) -> bool:
    return OPEN in text


def find_holes(text: str) -> list[Hole]:
    """The holes in order. Raises TemplateError for one that is not closed."""
    holes: list[Hole] = []
    at = text.find(OPEN)
    while at >= 0:
        close = _closing(text, at + 2)
        if close is None:
            raise TemplateError("`{{` is never closed", at, at + 2)
        inner = text[at + 2 : close]
        start = at + 2 + len(inner) - len(inner.lstrip())
        holes.append(Hole(at, close + 2, start, max(start, start + len(inner.strip()))))
        at = text.find(OPEN, close + 2)
    return holes


def is_lone(text: str, holes: list[Hole]) -> bool:
    """Whether the text is a single hole, so that it has the value of its expression."""
    return len(holes) == 1 and not text[: holes[0].start].strip() and not text[holes[0].end :].strip()


# A text that spans lines and ends with a newline, such as a block scalar, still counts as a single hole.

_TOKEN = re.compile(
    r"""
      (?P<space> \s+ | //[^\n]* | /\*.*?\*/ )
    | (?P<text> "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' )
    | (?P<word> [\w$]+ )
    | (?P<sign> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*(`|\$\{)", re.DOTALL)
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
# After these words comes an operand, so that a slash begins a regular expression.
_BEFORE_OPERAND = frozenset(
    {"return", "typeof", "in", "of", "new", "delete", "void", "instanceof", "case", "else"}
)


def _closing(text: str, start: int) -> int | None:
    """The offset of the `}}` that closes a hole. A hole that makes no sense ends at the first one."""
    found = closing_brace(text, start, CLOSE)
    if found is None:
        found = text.find(CLOSE, start)
    return found if found is not None and found >= 0 else None


def closing_brace(text: str, at: int, closing: str = "}") -> int | None:
    """The offset of the first brace from here on that closes none after here; None if there is no such brace."""
    braces: list[str] = []
    is_after_operand = False
    while at < len(text):
        if text[at] == "}" and not braces:
            return at if text.startswith(closing, at) else None
        if text[at] == "`" or (text[at] == "}" and braces.pop() == "`"):
            chunk = _TEMPLATE.match(text, at + 1)
            if chunk is None:
                return None
            if chunk[1] == "${":
                braces.append("`")
            is_after_operand, at = chunk[1] == "`", chunk.end()
            continue
        regex = _REGEX.match(text, at) if text[at] == "/" and not is_after_operand else None
        token = regex if regex and text[at + 1] not in "/*" else _TOKEN.match(text, at)
        if token is None:
            return None
        at = token.end()
        if token is regex:
            is_after_operand = True
        elif token.lastgroup != "space":
            if token[0] == "{":
                braces.append("{")
            is_after_operand = (
                token.lastgroup == "text"
                or (token.lastgroup == "word" and token[0] not in _BEFORE_OPERAND)
                or token[0] in (")", "]", "}")
            )
    return None
