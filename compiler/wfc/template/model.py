"""What a template refers to. All offsets are into the template's text."""

from __future__ import annotations

from typing import NamedTuple

from wfc.structs import struct


@struct(frozen=True)
class Part:
    """One step of a path: `.name`, `['name']`, `[0]`, or `[anything else]`, which has no name."""

    name: str | int | None
    start: int
    end: int
    called: bool = False
    """Is it a method call, as `.strip()` is?"""


class Read(NamedTuple):
    """A name that the template does not bind itself, and the path taken from it.

    `state.build['exit_code']` has the root `state` and the path `build`, `exit_code`. A path ends where the
    value is worked on: at a call, a filter, a slice.
    """

    root: str
    path: tuple[Part, ...]
    start: int
    end: int
    guarded: bool = False
    """Does the template cope with its absence: by `default`, or by a test such as `is defined`?"""
    known: int = 0
    """How many of the leading parts a test around it has shown to be there and not null."""
    perhaps: bool = False
    """Is it read only where a condition around it comes out one way, or a loop has items?"""

    @property
    def names(self) -> tuple[str | int, ...]:
        """The path up to its first part without a name."""
        found: list[str | int] = []
        for part in self.path:
            if part.name is None:
                break
            found.append(part.name)
        return tuple(found)


@struct(frozen=True)
class Use:
    """A filter, test or function that the template uses by name."""

    name: str
    start: int
    end: int
