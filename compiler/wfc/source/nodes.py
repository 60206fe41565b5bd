"""The located tree that YAML text becomes. Nothing after this module looks at YAML itself.

Nobody changes a node, but none is frozen: that would double the time that tens of thousands of them take to make.
"""

from __future__ import annotations

from dataclasses import field

from wfc.source.scalars import locate
from wfc.source.text import Span
from wfc.structs import struct

ScalarValue = str | int | float | bool | None


@struct(eq=False, slots=True)
class Scalar:
    """A leaf. `text` is what it says, quotes, escapes and folds undone; `value` its meaning in YAML 1.2."""

    span: Span
    text: str
    value: ScalarValue
    style: str
    """One of "" (plain), "'", '"', "|" and ">"."""

    def at(self, start: int, end: int) -> Span:
        """The place in the file of characters start to end of `text`, through quotes, escapes and folds."""
        return locate(self, start, end)


@struct(eq=False, slots=True)
class Sequence:
    span: Span
    items: list[Node] = field(default_factory=list)


@struct(eq=False, slots=True)
class Entry:
    key: Scalar
    value: Node


@struct(eq=False, slots=True)
class Mapping:
    """Entries in source order; a key that stands twice is there twice (WF002 reports it)."""

    span: Span
    entries: list[Entry] = field(default_factory=list)

    def entry(self, key: str) -> Entry | None:
        """The first entry of that key."""
        for entry in self.entries:
            if entry.key.text == key:
                return entry
        return None

    def get(self, key: str) -> Node | None:
        found = self.entry(key)
        return found.value if found else None


Node = Scalar | Sequence | Mapping


@struct(frozen=True)
class Problem:
    """Why a text could not be read as one located tree."""

    kind: str
    """"syntax" (WF001) or "limit" (WF010)."""
    message: str
    span: Span
    help: str = ""
    related: tuple[tuple[Span, str], ...] = ()
    setting: str = ""
    """The setting that a limit has, where it has one."""


@struct
class Document:
    root: Node | None
    problems: list[Problem] = field(default_factory=list)
