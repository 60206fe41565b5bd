"""References: `${inputs.name}`, `${blocks.build.outputs.path}`, `${metadata.start_time}`, found in a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from wfc.dialects.blocks.expressions import Expr
from wfc.struct import struct

REFERENCE = re.compile(r"\$\{\s*([a-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_][A-Za-z0-9_-]*)*)\s*\}")
"""What counts as a reference. `${HOME}`, `${x:-1}` and the like are left to the shell."""


@struct(frozen=True)
class Part:
    name: str
    start: int
    end: int


@struct(frozen=True)
class Reference:
    """A path. All places are in the text that it stands in."""

    parts: tuple[Part, ...]
    start: int
    end: int

    @classmethod
    def of(cls, found: re.Match[str], offset: int = 0) -> Reference:
        at = found.start(1) + offset
        parts: list[Part] = []
        for name in found[1].split("."):
            parts.append(Part(name, at, at + len(name)))
            at += len(name) + 1
        return cls(tuple(parts), found.start() + offset, found.end() + offset)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @property
    def path(self) -> str:
        return ".".join(self.names)


Resolve = Callable[[Reference], Expr]


def find_references(text: str) -> Iterator[Reference]:
    return (Reference.of(found) for found in REFERENCE.finditer(text))
