"""The nearest name, for messages that say "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

_LONGEST = 200


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that this one is a typing mistake of, if there is one."""
    ranked = _ranked(name, known)
    return ranked[0][1] if ranked else None


def only_near(name: str, known: Iterable[str]) -> str | None:
    """The same, where no other name is as near."""
    ranked = _ranked(name, known)
    return ranked[0][1] if ranked and (len(ranked) == 1 or ranked[0][0] < ranked[1][0]) else None


def _ranked(name: str, known: Iterable[str]) -> list[tuple[tuple[int, int], str]]:
    """Names within reach, the nearest first. Of two that are as near, the one that begins with more of the same."""
    if len(name) > _LONGEST:
        return []
    found = []
    folded = _fold(name)
    for choice in dict.fromkeys(known):
        other = _fold(choice)
        if choice != name and (edits := _edits(folded, other)) is not None:
            found.append(((edits, -_same_start(folded, other)), choice))
    return sorted(found, key=lambda one: one[0])


def _same_start(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _fold(name: str) -> str:
    return name.lower().replace("-", "_")


def _reach(one: str, other: str) -> int:
    """How many letters a typing mistake may get wrong. In a short name, few make another word of it."""
    short = min(len(one), len(other))
    if short < 3:
        # Of two letters, a different one makes another word; one too many or too few is a slip.
        return 1 if short == 2 and len(one) != len(other) else 0
    return 1 if short <= 5 else 2 if short <= 10 else 3


def _edits(one: str, other: str) -> int | None:
    """How many letters must be added, removed, replaced or swapped with the next; None if that is out of reach."""
    if one == other:
        return 0
    reach = _reach(one, other)
    if abs(len(one) - len(other)) > reach:
        return None
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        above, row = row, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > reach:
            return None
        before = above
    return row[-1] if row[-1] <= reach else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A help line: the nearest name, or what there is to choose from."""
    choices = list(known)
    found = nearest(name, choices)
    if found:
        return f"did you mean `{found}`?"
    if not choices:
        return ""
    shown = ", ".join(f"`{choice}`" for choice in sorted(choices)[:8])
    return f"there is {shown}" + (", ..." if len(choices) > 8 else "")


_COMPARISONS = 10_000
"""One costs up to 50 microseconds: a thousand wrong names must not take a minute for their suggestions."""


class Nearest:
    """Remembers what it was asked, and stops looking for near names when it has compared enough."""

    def __init__(self, known: Iterable[str]) -> None:
        self.known = list(dict.fromkeys(known))
        self._left = _COMPARISONS
        self._found: dict[str, str | None] = {}

    def to(self, name: str) -> str | None:
        """The known name most like this one."""
        if name not in self._found:
            self._left -= len(self.known)
            self._found[name] = nearest(name, self.known) if self._left >= 0 else None
        return self._found[name]

    def hint(self, name: str) -> str:
        """A help line: the nearest name, or what there is to choose from."""
        near = self.to(name)
        return f"did you mean `{near}`?" if near else did_you_mean("", self.known)
