"""The tree of a file, for rules that look at everything in it."""

from __future__ import annotations

from functools import lru_cache

from wfc.source import Mapping, Node, Sequence


@lru_cache(maxsize=2)
def nodes_of(root: Node | None) -> list[Node]:
    """Every node once, keys too, in source order; what an alias or a merge repeats is not repeated."""
    found: list[Node] = []
    pending = [root] if root else []
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        found.append(node)
        if isinstance(node, Sequence):
            pending.extend(reversed(node.items))
        elif isinstance(node, Mapping):
            for entry in reversed(node.entries):
                pending += (entry.value, entry.key)
    return found
