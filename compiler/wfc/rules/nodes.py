"""The tree of a file, for rules that look at everything in it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from wfc.source import Mapping, Node, Scalar, Sequence


@lru_cache(maxsize=2)
def nodes_of(root: Node | None) -> list[Node]:
    """Every node once, keys too, in source order; what an alias or a merge repeats is not repeated."""
    found: list[Node] = []
    if root is not None:
        _add(root, found, set())
    return list({id(node): node for node in found}.values())


def _add(node: Node, found: list[Node], seen: set[int]) -> None:
    found.append(node)
    if isinstance(node, Scalar) or id(node) in seen:
        return
    seen.add(id(node))
    inside = node.items if isinstance(node, Sequence) else _parts(node)
    for part in inside:
        if isinstance(part, Scalar):
            found.append(part)
        else:
            _add(part, found, seen)


def _parts(node: Mapping) -> Iterator[Node]:
    for entry in node.entries:
        yield entry.key
        yield entry.value
