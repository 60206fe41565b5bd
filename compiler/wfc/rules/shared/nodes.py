"""The tree of a file, for rules that look at everything in it."""

from __future__ import annotations

from wfc.caching import cached_per_file
from wfc.struct import struct
from wfc.yaml import Mapping, Node, Scalar, Sequence


@struct(frozen=True)
class Nodes:
    """Every node once, in source order; what an alias or a merge repeats is not repeated."""

    scalars: list[Scalar]
    """Keys too."""
    mappings: list[Mapping]


@cached_per_file(2)
def nodes_of(root: Node | None) -> Nodes:
    scalars: list[Scalar] = []
    mappings: list[Mapping] = []
    pending = [root] if root else []
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if isinstance(node, Scalar):
            scalars.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            if isinstance(node, Sequence):
                pending.extend(reversed(node.items))
                continue
            mappings.append(node)
            for entry in reversed(node.entries):
                pending += (entry.value, entry.key)
    return Nodes(list({id(scalar): scalar for scalar in scalars}.values()), mappings)
