"""Suggestions for many wrong names against one list of known ones."""

from __future__ import annotations

from collections.abc import Iterable

from wfc.suggest import did_you_mean, nearest

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
