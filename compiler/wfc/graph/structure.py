"""The skeleton of a flow: which links go back, an order without them, and who dominates whom."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from wfc.graph.model import Flow


@dataclass(frozen=True)
class Structure:
    """Nodes and links are numbers here: their places in the flow."""

    ends: list[tuple[int, int]]
    """Source and target of each link."""
    back: list[bool]
    """Whether each link closes a loop."""
    order: list[int]
    """Every node after those that lead to it, otherwise in source order."""
    roots: list[int]
    children: list[list[int]]
    """The nodes that each one immediately dominates, in that order."""
    size: list[int]
    """How many nodes each one dominates, itself included."""
    before: list[list[int]]
    """The nodes that lead to each one, loops left out."""

    def forward(self) -> list[int]:
        return [link for link, back in enumerate(self.back) if not back]


def structure_of(flow: Flow) -> Structure:
    index = {node.id: number for number, node in enumerate(flow.nodes)}
    ends = [(index[link.source], index[link.target]) for link in flow.links]
    count = len(flow.nodes)
    outs: list[list[int]] = [[] for _ in range(count)]
    for link, (source, _) in enumerate(ends):
        outs[source].append(link)
    back = _back_links(count, ends, outs)
    before: list[list[int]] = [[] for _ in range(count)]
    for link, (source, target) in enumerate(ends):
        if not back[link]:
            before[target].append(source)
    order = _order(count, ends, back)
    parents = _dominators(order, before)
    children: list[list[int]] = [[] for _ in range(count)]
    size = [1] * count
    for node in order:
        if parents[node] >= 0:
            children[parents[node]].append(node)
    for node in reversed(order):
        if parents[node] >= 0:
            size[parents[node]] += size[node]
    roots = [node for node in order if parents[node] < 0]
    return Structure(ends, back, order, roots, children, size, before)


def _back_links(count: int, ends: list[tuple[int, int]], outs: list[list[int]]) -> list[bool]:
    """A link is a way back if it leads to a node that the search is still inside of."""
    back = [False] * len(ends)
    state = [0] * count
    for root in range(count):
        if state[root]:
            continue
        state[root] = 1
        stack = [(root, iter(outs[root]))]
        while stack:
            node, links = stack[-1]
            link = next(links, None)
            if link is None:
                state[node] = 2
                stack.pop()
                continue
            target = ends[link][1]
            back[link] = state[target] == 1
            if not state[target]:
                state[target] = 1
                stack.append((target, iter(outs[target])))
    return back


def _order(count: int, ends: list[tuple[int, int]], back: list[bool]) -> list[int]:
    waiting = [0] * count
    after: list[list[int]] = [[] for _ in range(count)]
    for (source, target), is_back in zip(ends, back, strict=True):
        if not is_back:
            after[source].append(target)
            waiting[target] += 1
    ready = [node for node in range(count) if not waiting[node]]
    order: list[int] = []
    while ready:
        node = heapq.heappop(ready)
        order.append(node)
        for target in after[node]:
            waiting[target] -= 1
            if not waiting[target]:
                heapq.heappush(ready, target)
    return order


def _dominators(order: list[int], before: list[list[int]]) -> list[int]:
    """The immediate dominator of each node, or -1 where only the beginning dominates it."""
    parents = [-1] * len(order)
    depth = [0] * len(order)
    for node in order:
        found: int | None = None
        for source in before[node]:
            found = source if found is None else _common(found, source, parents, depth)
        if found is not None and found >= 0:
            parents[node] = found
            depth[node] = depth[found] + 1
    return parents


def _common(one: int, other: int, parents: list[int], depth: list[int]) -> int:
    while one != other:
        if one < 0 or other < 0:
            return -1
        if depth[one] < depth[other]:
            one, other = other, one
        one = parents[one]
    return one
