"""Taint of a value, part by part, and the flow on which untrusted data reached it.

Taints and flows are never changed, but they are not frozen: freezing doubles the time it takes to make them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import IntEnum

from wfc.findings import Note
from wfc.struct import struct
from wfc.yaml import Span

ITEMS = "[]"
"""The part that stands for every item of a list."""
_DEEPEST, _WIDEST = 4, 100
_FIRST, _LAST = 2, 6


class Level(IntEnum):
    INPUT = 1
    """Whoever starts the run gives it."""
    OUTSIDE = 2
    """A person, an agent, a command or a tool gives it while the workflow runs."""


@struct(eq=False, slots=True)
class Flow:
    """Where a value comes from, and each place that it went through."""

    level: Level
    words: str
    """What it is: "what a command printed"."""
    message: str
    span: Span
    before: Flow | None = None

    def then(self, message: str, span: Span) -> Flow:
        return Flow(self.level, self.words, message, span, self)

    def notes(self) -> tuple[Note, ...]:
        """From the source on. Of a very long way the middle is left out."""
        hops = list(self._back())[::-1]
        if len(hops) > _FIRST + _LAST:
            hops = [*hops[:_FIRST], *hops[-_LAST:]]
        return tuple(Note(hop.message, hop.span) for hop in hops)

    def _back(self) -> Iterator[Flow]:
        hop: Flow | None = self
        while hop is not None:
            yield hop
            hop = hop.before


@struct(eq=False, slots=True)
class Taint:
    """What of a value is not to be trusted."""

    flow: Flow | None = None
    """The flow of all that `parts` does not name; of a list, of how long it is."""
    parts: Mapping[str, Taint] = field(default_factory=dict)
    bounded: bool = False
    """Whether it is a list that something keeps short."""

    @property
    def is_clean(self) -> bool:
        return self.flow is None and not self.parts

    def get(self, key: str | int | None) -> Taint:
        """A part of it; without a key, any part."""
        if key is None:
            return only(self.whole)
        part = self.parts.get(ITEMS if isinstance(key, int) else key)
        return part if part is not None else only(self.flow)

    @property
    def item(self) -> Taint:
        """What a loop over it goes through."""
        return self.parts[ITEMS] if ITEMS in self.parts else only(self.whole)

    @property
    def whole(self) -> Flow | None:
        """The worst that is in it."""
        found = self.flow
        for part in self.parts.values():
            found = worse(found, part.whole)
        return found

    def then(self, message: str, span: Span) -> Taint:
        """The same after one more hop."""
        if self.is_clean:
            return self
        flow = self.flow.then(message, span) if self.flow else None
        return Taint(flow, {key: part.then(message, span) for key, part in self.parts.items()}, self.bounded)

    def as_list(self, item: Taint | None = None) -> Taint:
        """A list of the same length; `item` takes the place of what is in it."""
        return listed(self.item if item is None else item, self.flow, self.bounded)

    def short(self) -> Taint:
        return Taint(self.flow, self.parts, bounded=True)


CLEAN = Taint()


def only(flow: Flow | None) -> Taint:
    return Taint(flow) if flow else CLEAN


def worse(one: Flow | None, other: Flow | None) -> Flow | None:
    if one is None or (other is not None and other.level > one.level):
        return other
    return one


def record(parts: Mapping[str, Taint], flow: Flow | None = None) -> Taint:
    """A value with parts. What is too deep or too wide is one flow for all."""
    known = {key: part for key, part in parts.items() if flow or not part.is_clean}
    if len(known) > _WIDEST:
        return only(Taint(flow, known).whole)
    shallow = {key: _cut(part, _DEEPEST) for key, part in known.items()}
    return Taint(flow, shallow) if shallow or flow else CLEAN


def listed(item: Taint, length: Flow | None = None, bounded: bool = False) -> Taint:
    if item.is_clean and length is None:
        return CLEAN
    return Taint(length, {ITEMS: _cut(item, _DEEPEST)}, bounded)


def _cut(taint: Taint, depth: int) -> Taint:
    if not taint.parts:
        return taint
    if depth <= 1:
        return only(taint.whole)
    return Taint(taint.flow, {key: _cut(part, depth - 1) for key, part in taint.parts.items()}, taint.bounded)


def join(one: Taint, other: Taint) -> Taint:
    """What either of them can be. It is `one` itself where the other adds nothing."""
    if other is one or other.is_clean:
        return one
    if one.is_clean:
        return other
    flow = worse(one.flow, other.flow)
    bounded = one.bounded and other.bounded
    parts = {key: join(one.get(key), other.get(key)) for key in {**one.parts, **other.parts}}
    if (
        flow is one.flow
        and bounded is one.bounded
        and parts.keys() == one.parts.keys()
        and all(part is one.parts[key] for key, part in parts.items())
    ):
        return one
    return record(parts, flow) if len(parts) > _WIDEST else Taint(flow, parts, bounded)


def joined(taints: Iterator[Taint]) -> Taint:
    found = CLEAN
    for taint in taints:
        found = join(found, taint)
    return found
