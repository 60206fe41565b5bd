"""One evaluation under way: what it may read, and the names bound so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from .errors import ExpressionError
from .limits import ExprLimits, Meter
from .values import Value, size_of

if TYPE_CHECKING:
    from jinja2 import nodes

    from .syntax import Syntax


class Run(Meter):
    """What all parts of one evaluation share."""

    __slots__ = ("calls", "context", "emitted", "hidden", "lenient", "now", "syntax", "uuid_seed", "uuids")

    def __init__(
        self,
        context: Mapping[str, Value],
        now: datetime,
        uuid_seed: str,
        limits: ExprLimits,
        hidden: frozenset[str],
        lenient: bool = False,
    ) -> None:
        super().__init__(limits)
        self.context = context
        self.now = now
        self.uuid_seed = uuid_seed
        self.uuids = 0
        self.hidden = hidden
        self.lenient = lenient
        self.syntax: Syntax | None = None
        self.emitted = 0
        self.calls = 0

    def begin(self, syntax: Syntax) -> None:
        """Turn to the next template of this run."""
        self.syntax = syntax
        self.emitted = 0

    def emit(self, out: list[str], text: str) -> None:
        """Add to the rendered text."""
        self.emitted += size_of(text)
        if self.emitted > self.limits.output:
            raise ExpressionError(
                f"renders too much text: the limit is {self.limits.output:,} bytes", "limit"
            )
        out.append(text)

    def catch(self, write: Callable[[list[str]], None]) -> str:
        """A text that is not part of the result yet."""
        parts: list[str] = []
        emitted = self.emitted
        write(parts)
        self.emitted = emitted
        text = "".join(parts)
        self.make_text(len(text))
        return text

    def source(self, node: nodes.Node | None) -> str | None:
        """The text of an expression, for messages."""
        if node is None or self.syntax is None:
            return None
        start, end = self.syntax.span(node)
        return self.syntax.text[start:end]


class Frame:
    """The names that `set` and `for` have bound at one place of a template."""

    __slots__ = ("names", "run")

    def __init__(self, run: Run, names: dict[str, Value]) -> None:
        self.run = run
        self.names = names

    def inner(self) -> Frame:
        """A scope of its own: what it binds is gone after it."""
        return Frame(self.run, self.names.copy())
