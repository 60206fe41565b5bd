"""Templates of text and plain holes, such as `{{ state.build.stdout | trim }}`: one pattern reads a whole hole.

Most templates are such. What comes of one is what the scanner and Jinja's parser make of it, down to the number of
each token, and a test holds the two against each other.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, TypeVar

from jinja2 import nodes

from .limits import ExprLimits

N = TypeVar("N", bound=nodes.Node)

CONSTANTS = frozenset({"true", "false", "True", "False", "none", "None"})
_NAME = "[A-Za-z][A-Za-z0-9_]*+"
_HOLE = re.compile(rf"\{{\{{\s*+({_NAME}(?:\.{_NAME})*+)((?:\s*+\|\s*+{_NAME})*+)\s*+(\}}\}})|\{{[{{%#]")
_WORD = re.compile(_NAME)
_OTHERWISE = CONSTANTS | {"and", "else", "if", "in", "is", "not", "or"}
"""Words that mean something else than a name, at least in some places."""


class PlainTemplate(NamedTuple):
    tree: nodes.Template
    starts: list[int]
    """Where each token begins, by its number, and where it ends."""
    ends: list[int]
    lone: bool
    """Is it one hole and nothing else?"""


def new_node(kind: type[N], number: int, **fields: Any) -> N:
    """A node, without Jinja's look at whether the fields are those that it has."""
    made = kind.__new__(kind)
    vars(made).update(fields, lineno=number, environment=None)
    return made


def read_plain(text: str, limits: ExprLimits) -> PlainTemplate | None:
    """None for a template that has something else in it, be it a mistake."""
    if len(text) > limits.template:
        return None
    reading = _Reading()
    position = holes = 0
    has_text = False
    for hole in _HOLE.finditer(text):
        if hole[3] is None:
            return None
        has_text |= reading.add_text(text, position, hole.start())
        if not reading.add_hole(hole):
            return None
        position = hole.end()
        holes += 1
    has_text |= reading.add_text(text, position, len(text))
    reading.add_token(len(text), len(text))
    # The limits on size are the scanner's to explain.
    if len(reading.starts) > min(limits.tokens, limits.tree):
        return None
    output = new_node(nodes.Output, reading.parts[0].lineno, nodes=reading.parts)
    tree = new_node(nodes.Template, 0, body=[output])
    return PlainTemplate(tree, reading.starts, reading.ends, holes == 1 and not has_text)


class _Reading:
    """The tokens so far, and what they came to."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.parts: list[nodes.Expr] = []

    def add_token(self, start: int, end: int) -> int:
        self.starts.append(start)
        self.ends.append(end)
        return len(self.starts) - 1

    def add_text(self, text: str, start: int, end: int) -> bool:
        """Whether it says anything: blanks around a hole do not."""
        if start == end:
            return False
        data = text[start:end]
        self.parts.append(new_node(nodes.TemplateData, self.add_token(start, end), data=data))
        return not data.isspace()

    def add_hole(self, hole: re.Match[str]) -> bool:
        """False where a word in it may be more than a name."""
        self.add_token(hole.start(), hole.start() + 2)
        start = hole.start(1)
        names = hole[1].split(".")
        if not _OTHERWISE.isdisjoint(names):
            return False
        end = start + len(names[0])
        part: nodes.Expr = new_node(nodes.Name, self.add_token(start, end), name=names[0], ctx="load")
        for name in names[1:]:
            dot = self.add_token(end, end + 1)
            start, end = end + 1, end + 1 + len(name)
            self.add_token(start, end)
            part = new_node(nodes.Getattr, dot, node=part, attr=name, ctx="load")
        if hole[2]:
            for word in _WORD.finditer(hole.string, *hole.span(2)):
                if word[0] in _OTHERWISE:
                    return False
                pipe = hole.string.rindex("|", end, word.start())
                self.add_token(pipe, pipe + 1)
                number = self.add_token(*word.span())
                end = word.end()
                part = new_node(
                    nodes.Filter,
                    number,
                    node=part,
                    name=word[0],
                    args=[],
                    kwargs=[],
                    dyn_args=None,
                    dyn_kwargs=None,
                )
        self.parts.append(part)
        self.add_token(*hole.span(3))
        return True
