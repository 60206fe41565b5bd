"""Finds the most similar name, for "did you mean" messages."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

_LONGEST = 200


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that this one is probably a typo of, if any."""
    ranked = _ranked(name, known)
    return ranked[0][1] if ranked else None


def only_near(name: str, known: Iterable[str]) -> str | None:
    """The same, if no other name is equally near."""
    ranked = _ranked(name, known)
    return ranked[0][1] if ranked and (len(ranked) == 1 or ranked[0][0] < ranked[1][0]) else None


def _ranked(name: str, known: Iterable[str]) -> list[tuple[tuple[int, int], str]]:
    """Similar names, the nearest first. Of two equally near names, the one with the longer common prefix comes
    first."""
    # The time for one comparison grows with the square of the length.
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
    """The maximum edit distance of a typo. In a short name, a few changes make a different word."""
    short = min(len(one), len(other))
    if short < 3:
        # In a name of two letters, a replaced letter makes another word; an added or missing one is a typo.
        return 1 if short == 2 and len(one) != len(other) else 0
    return 1 if short <= 5 else 2 if short <= 10 else 3


def _edits(one: str, other: str) -> int | None:
    """The edit distance, with swapped neighbours as one edit; None if it exceeds the limit."""
    if one == other:
        return 0
    reach = _reach(one, other)
    # Each further character is at least one edit.
    if abs(len(one) - len(other)) > reach:
        return None
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        above, row = row, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != wanted))
            # Two letters in the wrong order are one slip of the fingers.
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        # Every later row is at least as large as the smallest value of this one.
        if min(row) > reach:
            return None
        before = above
    return row[-1] if row[-1] <= reach else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A help line: the nearest name, or a list of the known names."""
    choices = list(known)
    found = nearest(name, choices)
    if found:
        return f"did you mean `{found}`?"
    if not choices:
        return ""
    shown = ", ".join(f"`{choice}`" for choice in sorted(choices)[:8])
    return f"available: {shown}" + (", ..." if len(choices) > 8 else "")


_COMPARISONS = 10_000
"""The maximum number of comparisons. One takes up to 50 microseconds, and a file may have a thousand wrong names."""


class Nearest:
    """Caches suggestions, and stops searching after a maximum number of comparisons."""

    def __init__(self, known: Iterable[str]) -> None:
        self.known = list(dict.fromkeys(known))
        self._left = _COMPARISONS
        self._found: dict[str, str | None] = {}

    def to(self, name: str) -> str | None:
        """The most similar known name."""
        if name not in self._found:
            self._left -= len(self.known)
            self._found[name] = nearest(name, self.known) if self._left >= 0 else None
        return self._found[name]

    def hint(self, name: str) -> str:
        """A help line: the nearest name, or a list of the known names."""
        near = self.to(name)
        return f"did you mean `{near}`?" if near else did_you_mean("", self.known)
