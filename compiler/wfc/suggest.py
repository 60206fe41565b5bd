"""The nearest name, for messages that say "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable

_CLEARLY = 0.1
"""By how much a name must be nearer than every other to be the one that is meant."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like this one, if any is like it at all."""
    if len(name) > 200:
        return None
    choices = list(known)
    if not choices:
        return None
    folded = {choice.lower().replace("-", "_"): choice for choice in choices}
    same = folded.get(name.lower().replace("-", "_"))
    if same is not None and same != name:
        return same
    from difflib import get_close_matches  # only ever needed for a message

    found = get_close_matches(name, choices, n=1, cutoff=0.6)
    return found[0] if found else None


def only_near(name: str, known: Iterable[str]) -> str | None:
    """The nearest name where no other one is about as near."""
    choices = list(known)
    near = nearest(name, choices)
    if near is None:
        return None
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(b=name)
    ratios = []
    for choice in choices:
        matcher.set_seq1(choice)
        ratios.append((matcher.ratio(), choice))
    ratios.sort(reverse=True)
    folded = near.lower() == name.lower().replace("-", "_")
    return near if folded or len(ratios) < 2 or ratios[0][0] - ratios[1][0] > _CLEARLY else None


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
