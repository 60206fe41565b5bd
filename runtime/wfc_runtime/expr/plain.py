"""Templates of text and plain holes, each read by one pattern: `{{ state.log[-500:] | trim }}`, `{{ state.n > 3 }}`.

Most templates are such. What comes of one is what the scanner and Jinja's parser make of it, down to the number of
each token, and a test holds the two against each other.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from . import nodes
from .limits import ExprLimits

CONSTANTS = frozenset({"true", "false", "True", "False", "none", "None"})
_NAME = "[A-Za-z][A-Za-z0-9_]*+"
_PATH = rf"{_NAME}(?:\.{_NAME})*+"
_NUMBER = "(?:0|[1-9][0-9]{0,14}+)"
_VALUE = rf"{_NUMBER}|'[^'\\]*+'|\"[^\"\\]*+\"|{_PATH}"
_HOLE = re.compile(
    rf"\{{\{{\s*+(?P<path>{_PATH})(?P<slice>\[(?P<low>-?{_NUMBER})?:(?P<high>-?{_NUMBER})?\])?+"
    rf"(?P<filters>(?:\s*+\|\s*+{_NAME})*+)"
    rf"(?:\s*+(?P<sign>[=!<>]=|[<>+-])\s*+(?P<value>{_VALUE}))?+\s*+(?P<end>\}}\}})"
    r"|\{[{%#]"  # a tag of another kind
)
_WORD = re.compile(_NAME)
_OTHERWISE = CONSTANTS | {"and", "else", "if", "in", "is", "not", "or"}
"""Words that mean something else than a name, at least in some places."""
_COMPARISONS = {"==": "eq", "!=": "ne", ">": "gt", ">=": "gteq", "<": "lt", "<=": "lteq"}
_SUMS: dict[str, type[nodes.BinExpr]] = {"+": nodes.Add, "-": nodes.Sub}


class PlainTemplate(NamedTuple):
    tree: nodes.Template
    starts: list[int]
    """Where each token begins, by its number, and where it ends."""
    ends: list[int]
    closers: dict[int, int]
    """The bracket that closes each opening one."""
    lone: bool
    """Is it one hole and nothing else?"""


def read_plain(text: str, limits: ExprLimits) -> PlainTemplate | None:
    """None for a template that has something else in it, be it a mistake."""
    if len(text) > limits.template:
        return None
    reading = _Reading()
    position = holes = 0
    has_text = False
    for hole in _HOLE.finditer(text):
        if hole["end"] is None or not _OTHERWISE.isdisjoint(_WORD.findall(hole[0])):
            return None
        has_text |= reading.add_text(text, position, hole.start())
        reading.add_hole(hole)
        position = hole.end()
        holes += 1
    has_text |= reading.add_text(text, position, len(text))
    reading.add_token(len(text), len(text))
    # The limits on size are the scanner's to explain.
    if len(reading.starts) > min(limits.tokens, limits.tree):
        return None
    output = nodes.Output(reading.parts[0].lineno, reading.parts)
    tree = nodes.Template(0, [output])
    lone = holes == 1 and not has_text
    return PlainTemplate(tree, reading.starts, reading.ends, reading.closers, lone)


class _Reading:
    """The tokens so far, and what they came to."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.closers: dict[int, int] = {}
        self.parts: list[nodes.Expr] = []

    def add_token(self, start: int, end: int) -> int:
        """The token's number."""
        self.starts.append(start)
        self.ends.append(end)
        return len(self.starts) - 1

    def add_text(self, text: str, start: int, end: int) -> bool:
        """Whether it says anything: blanks around a hole do not."""
        if start == end:
            return False
        data = text[start:end]
        self.parts.append(nodes.TemplateData(self.add_token(start, end), data))
        return not data.isspace()

    def add_hole(self, hole: re.Match[str]) -> None:
        start = hole.start()
        first = self.add_token(start, start + 2) + 1
        path, slice_, _, _, filters, sign, operand, _ = hole.groups()
        part = self._path(path, hole.start("path"))
        if slice_:
            part = self._sliced(part, hole)
        if filters:
            part = self._filtered(part, hole.string, *hole.span("filters"))
        if sign is None:
            self.add_token(*hole.span("end"))
        else:
            self.add_token(*hole.span("sign"))
            value = self._value(operand, hole.start("value"))
            end = self.add_token(*hole.span("end"))
            if sign in _SUMS:
                part = _SUMS[sign](first, part, value)
            else:
                # Jinja gives a comparison the place after it, and what it compares with none.
                operand = nodes.Operand(nodes.NOWHERE, _COMPARISONS[sign], value)
                part = nodes.Compare(end, part, [operand])
        self.parts.append(part)

    def _path(self, text: str, start: int) -> nodes.Expr:
        root, *names = text.split(".")
        end = start + len(root)
        part: nodes.Expr = nodes.Name(self.add_token(start, end), root)
        for name in names:
            dot = self.add_token(end, end + 1)
            start, end = end + 1, end + 1 + len(name)
            self.add_token(start, end)
            part = nodes.Getattr(dot, part, name)
        return part

    def _sliced(self, part: nodes.Expr, hole: re.Match[str]) -> nodes.Expr:
        start, end = hole.span("slice")
        opener = self.add_token(start, start + 1)
        low = self._bound(*hole.span("low"), hole.string)
        colon = hole.end("low") if low else start + 1
        self.add_token(colon, colon + 1)
        high = self._bound(*hole.span("high"), hole.string)
        self.closers[opener] = self.add_token(end - 1, end)
        bounds = nodes.Slice(opener + 1, low, high)
        return nodes.Getitem(opener, part, bounds)

    def _bound(self, start: int, end: int, text: str) -> nodes.Expr | None:
        """A whole number, from the end where it is negative; None where nothing is written."""
        if start < 0:
            return None
        if text[start] != "-":
            return self._value(text[start:end], start)
        sign = self.add_token(start, start + 1)
        return nodes.Neg(sign, self._value(text[start + 1 : end], start + 1))

    def _filtered(self, part: nodes.Expr, text: str, start: int, end: int) -> nodes.Expr:
        for word in _WORD.finditer(text, start, end):
            pipe = text.rindex("|", start, word.start())
            self.add_token(pipe, pipe + 1)
            number = self.add_token(*word.span())
            part = nodes.Filter(number, part, word[0], [], [])
        return part

    def _value(self, text: str, start: int) -> nodes.Expr:
        if text[0].isalpha():
            return self._path(text, start)
        value = int(text) if text[0].isdigit() else text[1:-1]
        return nodes.Const(self.add_token(start, start + len(text)), value)
