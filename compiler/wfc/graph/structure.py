"""The skeleton of a flow: which links go back, an order without them, and who dominates whom."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from wfc.graph.model import Flow, Link


@dataclass(frozen=True)
class Arc:
    """A link between nodes that are numbers: their places in the flow."""

    number: int
    source: int
    target: int
    link: Link
    back: bool
    """Whether it closes a loop."""


@dataclass(frozen=True)
class Structure:
    arcs: list[Arc]
    outs: list[list[Arc]]
    """The arcs that leave each node."""
    roots: list[int]
    """The nodes that nothing dominates."""
    children: list[list[int]]
    """The nodes that each one immediately dominates, each after those that lead to it."""
    size: list[int]
    """How many nodes each one dominates, itself included."""
    before: list[list[int]]
    """The nodes that lead to each one, loops left out."""


def structure_of(flow: Flow) -> Structure:
    count = len(flow.nodes)
    arcs = _arcs(flow)
    outs: list[list[Arc]] = [[] for _ in range(count)]
    before: list[list[int]] = [[] for _ in range(count)]
    for arc in arcs:
        outs[arc.source].append(arc)
        if not arc.back:
            before[arc.target].append(arc.source)
    order = _order(outs, before)
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
    return Structure(arcs, outs, roots, children, size, before)


def _arcs(flow: Flow) -> list[Arc]:
    index = {node.id: number for number, node in enumerate(flow.nodes)}
    ends = [(index[link.source], index[link.target]) for link in flow.links]
    back = _back_links(len(flow.nodes), ends)
    return [
        Arc(number, source, target, flow.links[number], number in back)
        for number, (source, target) in enumerate(ends)
    ]


def _back_links(count: int, ends: list[tuple[int, int]]) -> set[int]:
    """A link is a way back if it leads to a node that a search in depth is still inside of."""
    outs: list[list[int]] = [[] for _ in range(count)]
    for link, (source, _) in enumerate(ends):
        outs[source].append(link)
    back: set[int] = set()
    seen: set[int] = set()
    inside: set[int] = set()
    for root in range(count):
        stack = [] if root in seen else [(root, iter(outs[root]))]
        while stack:
            node, links = stack[-1]
            seen.add(node)
            inside.add(node)
            following = next(links, None)
            if following is None:
                inside.discard(node)
                stack.pop()
                continue
            target = ends[following][1]
            if target in inside:
                back.add(following)
            elif target not in seen:
                stack.append((target, iter(outs[target])))
    return back


def _order(outs: list[list[Arc]], before: list[list[int]]) -> list[int]:
    """Every node after those that lead to it, otherwise in source order."""
    waiting = [len(sources) for sources in before]
    ready = [node for node, number in enumerate(waiting) if not number]
    order: list[int] = []
    while ready:
        node = heapq.heappop(ready)
        order.append(node)
        for arc in outs[node]:
            if not arc.back:
                waiting[arc.target] -= 1
                if not waiting[arc.target]:
                    heapq.heappush(ready, arc.target)
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
