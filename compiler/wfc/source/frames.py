"""What the builder remembers about lists and mappings that are open, and about anchors."""

from __future__ import annotations

from wfc.source.nodes import Mapping, Node, Scalar
from wfc.structs import struct


class Frame:
    """A list or mapping that is still open."""

    __slots__ = ("anchor", "before", "height", "in_brackets", "is_mapping", "items", "start")

    def __init__(
        self, start: int, anchor: str | None, in_brackets: bool, is_mapping: bool, before: int
    ) -> None:
        self.start = start
        self.anchor = anchor
        self.in_brackets = in_brackets
        self.is_mapping = is_mapping
        self.before = before
        """Nodes counted when it opened."""
        self.height = 0
        """Levels of lists and mappings below it."""
        self.items: list[Node] = []
        """Its children; in a mapping keys and values in turn."""

    @property
    def expects_key(self) -> bool:
        return self.is_mapping and len(self.items) % 2 == 0

    @property
    def is_merging(self) -> bool:
        """The next child is the value of a `<<`."""
        if not self.is_mapping or len(self.items) % 2 == 0:
            return False
        key = self.items[-1]
        return isinstance(key, Scalar) and key.text == "<<" and not key.style

    def add_height(self, child: Node, height: int) -> int:
        """Take in the levels of a child about to be added; those that merging dissolves do not count."""
        if height and self.is_merging:
            height -= 1 if isinstance(child, Mapping) else 2
        self.height = max(self.height, height)
        return height


@struct(frozen=True)
class Anchored:
    node: Node
    size: int
    """Nodes in it, aliases expanded."""
    height: int
