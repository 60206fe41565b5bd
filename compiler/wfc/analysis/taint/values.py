"""Taint of a value, part by part, and the flow on which untrusted data reached it.

A taint mirrors the shape of a value: `parts` has the taint of properties, or of the items of a list, and `flow` that of
everything else. `join` of two taints covers both values; depth and width are bounded, so taints form a lattice without
long chains and the fixpoint is reached quickly. Taints and flows are immutable by convention.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import IntEnum

from wfc.findings import Note
from wfc.struct import struct
from wfc.yaml import Span

ITEMS = "[]"
"""The key of the part that stands for all items of a list."""
_DEEPEST, _WIDEST = 4, 100
# Of a long flow, the source and the last places before the use are the most helpful.
_FIRST, _LAST = 2, 6


class Level(IntEnum):
    INPUT = 1
    """An input, given by the caller that starts the run."""
    OUTSIDE = 2
    """A value that a person, an agent, a command or a tool supplies during the run."""


@struct(eq=False, slots=True)
class Flow:
    """The source of a value, and each place that it passed through, as a linked list."""

    level: Level
    words: str
    """The source of the value, as it follows "from": "command output"."""
    message: str
    span: Span
    before: Flow | None = None

    def then(self, message: str, span: Span) -> Flow:
        return Flow(self.level, self.words, message, span, self)

    def notes(self) -> tuple[Note, ...]:
        """The places from the source on. The middle of a very long flow is left out."""
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
    """The untrusted parts of a value."""

    flow: Flow | None = None
    """The flow of everything that `parts` does not name; for a list, that of its length."""
    parts: Mapping[str, Taint] = field(default_factory=dict)
    bounded: bool = False
    """Whether it is a list of limited length."""

    @property
    def is_clean(self) -> bool:
        return self.flow is None and not self.parts

    def get(self, key: str | int | None) -> Taint:
        """The taint of a part; without a key, that of any part."""
        if key is None:
            return only(self.whole)
        part = self.parts.get(ITEMS if isinstance(key, int) else key)
        return part if part is not None else only(self.flow)

    @property
    def item(self) -> Taint:
        """The taint of an item in a loop over the value."""
        return self.parts[ITEMS] if ITEMS in self.parts else only(self.whole)

    @property
    def whole(self) -> Flow | None:
        """The worst flow in the value."""
        found = self.flow
        for part in self.parts.values():
            found = worse(found, part.whole)
        return found

    def then(self, message: str, span: Span) -> Taint:
        """The taint after one more place."""
        if self.is_clean:
            return self
        flow = self.flow.then(message, span) if self.flow else None
        return Taint(flow, {key: part.then(message, span) for key, part in self.parts.items()}, self.bounded)

    def as_list(self, item: Taint | None = None) -> Taint:
        """A list of the same length, with other items if `item` is given."""
        return listed(self.item if item is None else item, self.flow, self.bounded)

    def short(self) -> Taint:
        return Taint(self.flow, self.parts, bounded=True)


CLEAN = Taint()


def only(flow: Flow | None) -> Taint:
    return Taint(flow) if flow else CLEAN


def worse(one: Flow | None, other: Flow | None) -> Flow | None:
    # The first of two equal flows is kept: otherwise the fixpoint would alternate between them.
    if one is None or (other is not None and other.level > one.level):
        return other
    return one


def record(parts: Mapping[str, Taint], flow: Flow | None = None) -> Taint:
    """A value with parts. One that is too deep or too wide gets one flow for all."""
    # If the rest is tainted, clean parts must be kept: they are what is known to be safe.
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
    """The taint that covers both. It is `one` itself if the other adds nothing, which ends the fixpoint."""
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
