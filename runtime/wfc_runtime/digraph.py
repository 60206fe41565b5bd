"""Directed graphs: components, reachability, cycles. All functions are iterative and take linear time."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

N = TypeVar("N", bound=Hashable)
Graph = Mapping[N, Sequence[N]]
"""Each node with its successors; a node without successors may be absent."""


def components(nodes: Iterable[N], graph: Graph[N]) -> list[list[N]]:
    """Tarjan's strongly connected components. A component comes after all components that it leads to."""
    # An explicit stack instead of recursion: a workflow may have more steps than Python allows nested calls.
    found: list[list[N]] = []
    order: dict[N, int] = {}
    low: dict[N, int] = {}
    open_: dict[N, None] = {}
    for start in nodes:
        path = [] if start in order else [(start, iter(graph.get(start, ())))]
        for node, _ in path:
            order[node] = low[node] = len(order)
            open_[node] = None
        while path:
            node, successors = path[-1]
            following = next(successors, None)
            if following is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == order[node]:
                    found.append(_close(open_, node))
            elif following not in order:
                order[following] = low[following] = len(order)
                open_[following] = None
                path.append((following, iter(graph.get(following, ()))))
            elif following in open_:
                low[node] = min(low[node], order[following])
    return found


def _close(open_: dict[N, None], first: N) -> list[N]:
    members = [open_.popitem()[0]]
    while members[-1] != first:
        members.append(open_.popitem()[0])
    return members[::-1]


def has_circle(component: Sequence[N], graph: Graph[N]) -> bool:
    """Whether a component has a cycle: a single node needs an edge to itself."""
    return len(component) > 1 or component[0] in graph.get(component[0], ())


def reachable(starts: Iterable[N], graph: Graph[N]) -> set[N]:
    """The reachable nodes, including the starts."""
    found = set(starts)
    todo = list(found)
    while todo:
        for following in graph.get(todo.pop(), ()):
            if following not in found:
                found.add(following)
                todo.append(following)
    return found


def shortest_way(start: N, goal: N, graph: Graph[N]) -> list[N]:
    """The shortest path, of at least one edge, from a node to another or back to itself; empty if there is none."""
    before: dict[N, N] = {}
    todo = deque([start])
    while todo and goal not in before:
        node = todo.popleft()
        for following in graph.get(node, ()):
            if following not in before:
                before[following] = node
                todo.append(following)
    if goal not in before:
        return []
    way = [goal, before[goal]]
    while way[-1] != start:
        way.append(before[way[-1]])
    return way[::-1]
