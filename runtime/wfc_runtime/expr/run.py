"""One evaluation: its limits, the meter that enforces them, what it may read, and the names bound so far.

The meter stops resource exhaustion without signals or child processes. Work is charged *before* it is done: fuel for
each iteration of a loop and each piece of text read, memory for each text or list about to be made. Fuel is counted,
not timed, so that the same template with the same values ends the same way on every machine under any load. All of it
buys a few seconds of work at most. The CPU time of the thread is a second, distant limit, for an operation that turns
out to cost more than its charge.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from .errors import ExpressionError

if TYPE_CHECKING:
    from jinja2 import nodes

    from .syntax import Syntax
    from .values import Value

KIB = 1024
MIB = 1024 * KIB

STATEMENTS = frozenset({"for", "if", "set"})
"""The statements of the language, without their `end...`, `else` and `elif`."""

TEXT_STATEMENTS = STATEMENTS | {"block", "filter", "macro", "with"}
"""The statements of a text file that is a template as a whole."""


@dataclass(frozen=True, slots=True)
class ExprLimits:
    """The limits of one evaluation: one call of `evaluate` or `evaluate_tree`."""

    cpu_seconds: float = 60.0
    """CPU time of the thread: many times what the fuel buys."""
    fuel: int = 1_000_000
    """Units of work: about one per operation in a loop, per item of a list, per 64 characters read."""
    room: int = 32 * MIB
    """Bytes of all intermediate values, whether still in use or not."""
    text: int = MIB
    """Characters of one intermediate text."""
    items: int = 100_000
    """Items of one intermediate list."""
    bits: int = 4096
    """Bits of one integer."""
    output: int = 256 * KIB
    """Bytes of rendered text."""
    value: int = MIB
    """Bytes of a result, as JSON."""
    depth: int = 100
    """Depth of lists and objects in a result."""
    template: int = 256 * KIB
    """Characters of a template."""
    tokens: int = 20_000
    """Names, numbers, strings and operators in a template."""
    nesting: int = 30
    """Depth of brackets and statements in a template."""
    tree: int = 120
    """Depth of operations in a template: `a + a + a` has two."""
    calls: int = 40
    """Depth of macro calls."""
    statements: frozenset[str] = STATEMENTS
    """The statements that are allowed in `{% %}`."""


DEFAULT_LIMITS = ExprLimits()
TEXT_LIMITS = ExprLimits(statements=TEXT_STATEMENTS)
"""For a text file that is a template as a whole, not a field of a workflow."""

# CPU time is read once per this many units of fuel: often enough to stop in time, too rarely to cost anything.
_LOOK_EVERY = 4096
# Reading this many characters costs about as much as one small operation in Python.
_CHARS_PER_UNIT = 64
_POINTER = 8
_WORD = 64


def size_of(text: str) -> int:
    """Bytes of a text in UTF-8."""
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise ExpressionError("half of a surrogate pair is not a character") from None


def _show(count: int) -> str:
    return f"{count:,}" if count < 10**15 else "far too many"


class Meter:
    """Counts down what an evaluation may still use. Raises before a limit is exceeded."""

    __slots__ = ("_deadline", "_look_at", "fuel", "limits", "room")
    lenient = False
    """Whether an undefined value counts as empty."""

    def __init__(self, limits: ExprLimits) -> None:
        self.limits = limits
        self.fuel = limits.fuel
        self.room = limits.room
        self._look_at = max(0, limits.fuel - _LOOK_EVERY)
        self._deadline = time.thread_time() + limits.cpu_seconds

    def spend(self, units: int) -> None:
        """Charge for work about to be done."""
        # A subtraction and a comparison: this is called for every operation of a loop.
        self.fuel -= units
        if self.fuel < self._look_at:
            self.check()

    def check(self) -> None:
        """Stop if the fuel or the CPU time is used up."""
        if self.fuel < 0:
            raise ExpressionError(
                f"takes too much work: the limit is {self.limits.fuel:,} operations", "limit"
            )
        self._look_at = max(0, self.fuel - _LOOK_EVERY)
        if time.thread_time() > self._deadline:
            raise ExpressionError(f"takes more than {self.limits.cpu_seconds:g} seconds of CPU time", "limit")

    def read(self, length: int) -> None:
        """Charge for reading a text of this length."""
        self.spend(1 + length // _CHARS_PER_UNIT)

    def make_text(self, length: int) -> None:
        """Charge for a text of this length, about to be made."""
        if length > self.limits.text:
            raise ExpressionError(
                f"makes a text of {_show(length)} characters: the limit is {self.limits.text:,}", "limit"
            )
        # Memory is charged as if each character took a byte; the limit on texts keeps wider ones bounded.
        self.hold(length)
        self.read(length)

    def make_number(self, number: int) -> None:
        """Charge for a whole number. A small one costs less than the operation that made it."""
        bits = number.bit_length()
        if bits > _WORD:
            self.hold(bits // 8)

    def make_list(self, length: int, slots: int = 1) -> None:
        """Charge for a list of this length, about to be made. An item takes that many slots of memory."""
        if length > self.limits.items:
            raise ExpressionError(
                f"makes a list of {_show(length)} items: the limit is {self.limits.items:,}", "limit"
            )
        self.hold(length * slots * _POINTER)
        self.spend(1 + length * slots)

    def hold(self, size: int) -> None:
        """Charge for bytes of memory."""
        self.room -= size
        if self.room < 0:
            raise ExpressionError(
                f"needs too much memory: the limit is {self.limits.room:,} bytes in all", "limit"
            )


class Run(Meter):
    """The shared state of one evaluation."""

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

    def inside(self, context: Mapping[str, Value], uuid_seed: str) -> Run:
        """A run for a template inside this one, with what is left of the limits."""
        found = Run(context, self.now, uuid_seed, self.limits, frozenset())
        # The limits are shared: a template inside another one gets what is left.
        found.fuel, found.room, found.calls = self.fuel, self.room, self.calls + 1
        found._look_at, found._deadline = self._look_at, self._deadline
        return found

    def begin(self, syntax: Syntax) -> None:
        """Start the next template of this run."""
        self.syntax = syntax
        # The limit on output is for each template, fuel and memory for the whole run.
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
        """The text that `write` renders, without adding it to the result."""
        parts: list[str] = []
        emitted = self.emitted
        write(parts)
        # Caught text is not part of the output until it is used.
        self.emitted = emitted
        text = "".join(parts)
        self.make_text(len(text))
        return text

    def source(self, node: nodes.Node | None) -> str | None:
        """The source text of an expression, for messages."""
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
        """A frame for an inner scope: the names that it binds do not reach this one."""
        # A copy, as in Jinja: `set` inside a loop does not change the name outside.
        return Frame(self.run, self.names.copy())
