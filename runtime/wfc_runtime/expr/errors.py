"""The errors of templates.

TemplateError    the text can't be parsed as a template; raised by the parser, in the compiler and at run time
ExpressionError  the evaluation failed: a name is missing, types don't fit, or a limit was reached

Both carry their position as offsets into the text of the template. `evaluate` raises nothing but ExpressionError; for
a template that can't be parsed its reason is "syntax".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from jinja2 import nodes

Reason = Literal["syntax", "undefined", "hidden", "type", "value", "limit"]
"""`hidden`: a state field that exists but is not in the step's needs_state."""


class TemplateError(Exception):
    """The text can't be parsed as a template."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = max(start, end)


class ExpressionError(Exception):
    """The evaluation of a template failed.

    Code deep inside an evaluation raises it with a message alone. On the way out the innermost expression
    adds its `node`, and `evaluate` turns that into offsets.
    """

    def __init__(self, message: str, reason: Reason = "value", node: nodes.Node | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.node = node
        self.template: str | None = None
        self.start: int | None = None
        self.end: int | None = None
        # The path to the template inside a tree of values: ("parameters", "files", 0).
        self.path: tuple[str | int, ...] = ()

    def place(self, template: str, start: int, end: int) -> ExpressionError:
        """Say which template failed and at which offsets."""
        self.template, self.start, self.end = template, start, end
        self.node = None
        return self

    def __str__(self) -> str:
        if self.template is None or self.start is None or self.end is None:
            return self.message
        shown = self.template[self.start : self.end] or self.template
        return f"{self.message} (in `{shorten(shown)}`, at {self._position(self.template, self.start)})"

    @staticmethod
    def _position(template: str, start: int) -> str:
        before = template[:start]
        # Few people count the characters of a text with several lines.
        if "\n" in before:
            return f"line {before.count(chr(10)) + 1}, column {start - before.rfind(chr(10))}"
        return f"character {start}"


def shorten(text: str, length: int = 60) -> str:
    """The beginning of a text, on one line, for a message."""
    line = " ".join(text[: 2 * length].split())
    return line if len(line) <= length and len(text) <= 2 * length else line[:length].rstrip() + "…"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The most similar name, if one is similar enough."""
    import difflib  # only needed for a message

    found = difflib.get_close_matches(name[:64], [other for other in names if len(other) <= 64][:500], 1)
    return found[0] if found else None
