"""Place nodes on a grid: the main flow straight down, branches one column further to the right.

The column of a node is its nesting depth, like indentation in code. Rows are filled greedily from the top of each
column, so that a branch that ends leaves space below it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from wfc_runtime.picture.model import Flow, Line, Link, Shape


@dataclass(frozen=True)
class Arc:
    """A link between nodes, which are represented by their index in the flow."""

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
    """The nodes without a dominator."""
    children: list[list[int]]
    """The nodes that each node immediately dominates, in topological order."""
    size: list[int]
    """The number of nodes that each node dominates, including itself."""
    before: list[list[int]]
    """The predecessors of each node, without loops."""


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
    # From the leaves up: a node comes after everything that dominates it.
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
    """The links that close a loop: they lead to a node that the depth-first search has not left yet."""
    outs: list[list[int]] = [[] for _ in range(count)]
    for link, (source, _) in enumerate(ends):
        outs[source].append(link)
    back: set[int] = set()
    seen: set[int] = set()
    inside: set[int] = set()
    for root in range(count):
        # An explicit stack, since a workflow may have more steps than Python's recursion limit.
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
    """A topological order, otherwise in source order."""
    waiting = [len(sources) for sources in before]
    ready = [node for node, number in enumerate(waiting) if not number]
    order: list[int] = []
    while ready:
        # The smallest index first, which is the source order.
        node = heapq.heappop(ready)
        order.append(node)
        for arc in outs[node]:
            if not arc.back:
                waiting[arc.target] -= 1
                if not waiting[arc.target]:
                    heapq.heappush(ready, arc.target)
    return order


def _dominators(order: list[int], before: list[list[int]]) -> list[int]:
    """The immediate dominator of each node; -1 if it has none."""
    # One pass is enough: in topological order without back links, all predecessors have been processed.
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


@dataclass(frozen=True)
class Grid:
    row: list[int]
    column: list[int]
    span: list[int]
    """The number of further columns to the right that each node covers."""
    stuck: dict[int, int]
    """Ends without a cell of their own: each is drawn to the right of the node that leads to it."""
    rows: int
    columns: int

    def after(self, node: int) -> int:
        """The channel to the right of a node. Channel k is to the left of column k."""
        return min(self.column[node] + self.span[node] + 1, self.columns)


@dataclass(frozen=True)
class _Ways:
    """How the nodes that one dominates are placed around it."""

    aside: list[int]
    below: list[int]


@dataclass(frozen=True)
class _Visit:
    """A node to be placed, and the node that it is placed beside, if any."""

    node: int
    column: int
    beside: int | None = None


def place(flow: Flow, shape: Structure, span: list[int]) -> Grid:
    ways = [_ways(node, flow, shape) for node in range(len(flow.nodes))]
    visits = _visits(shape, ways, span)
    stuck = _stuck(flow, shape, visits)
    row, column = [0] * len(flow.nodes), [0] * len(flow.nodes)
    filled: dict[int, int] = {}
    for visit in visits:
        node = visit.node
        if node in stuck:
            row[node], column[node] = row[stuck[node]], column[stuck[node]]
            continue
        column[node] = visit.column
        lowest = row[visit.beside] if visit.beside is not None else 0
        for source in shape.before[node]:
            # One row below each predecessor, except for the one that it is beside.
            lowest = max(lowest, row[source] + (source != visit.beside))
        row[node] = _free_row(visit, lowest, ways, span, filled)
        # A wide frame also takes the space to its right.
        for covered in range(visit.column, visit.column + span[node] + 1):
            filled[covered] = row[node] + 1
    return Grid(row, column, span, stuck, max(row, default=-1) + 1, max(column, default=-1) + 1)


def _visits(shape: Structure, ways: list[_Ways], span: list[int]) -> list[_Visit]:
    """The nodes in the order in which they take their rows: nodes beside a node come before those below it."""
    visits: list[_Visit] = []
    stack = [_Visit(root, 0) for root in reversed(shape.roots)]
    while stack:
        visit = stack.pop()
        visits.append(visit)
        way, column = ways[visit.node], visit.column
        # Pushed first and popped last: nodes beside a node take their rows before those below it.
        stack += [_Visit(child, column) for child in reversed(way.below)]
        stack += [_Visit(child, column + span[visit.node] + 1, visit.node) for child in reversed(way.aside)]
    return visits


def _free_row(visit: _Visit, lowest: int, ways: list[_Ways], span: list[int], filled: dict[int, int]) -> int:
    """The first row with space for the node and for the chain of nodes placed beside it."""
    node: int | None = visit.node
    column = visit.column
    while node is not None:
        for covered in range(column, column + span[node] + 1):
            lowest = max(lowest, filled.get(covered, 0))
        column += span[node] + 1
        # Each node beside another may itself have one beside it.
        node = next(iter(ways[node].aside), None)
    return lowest


def _stuck(flow: Flow, shape: Structure, visits: list[_Visit]) -> dict[int, int]:
    """Ends directly after a step, except the end at the bottom of the main flow, which has its own space."""
    steps = [visit for visit in visits if flow.nodes[visit.node].shape is not Shape.END]
    lowest = next((visit.node for visit in reversed(steps) if not visit.column), None)
    found: dict[int, int] = {}
    for arc in shape.arcs:
        step, end = arc.source, arc.target
        if (
            step == lowest
            or flow.nodes[step].shape is not Shape.BOX
            or flow.nodes[end].shape is not Shape.END
        ):
            continue
        # With a label or a second link, the end needs its own place.
        if len(shape.before[end]) == 1 and len(shape.outs[step]) == 1 and not arc.link.label:
            found[end] = step
    return found


# -- which branch goes straight down -------------------------------------------


def _ways(node: int, flow: Flow, shape: Structure) -> _Ways:
    children = shape.children[node]
    alone = {child for child in children if len(shape.before[child]) == 1}
    lines = {arc.target: arc.link.line for arc in shape.outs[node] if not arc.back}
    # A link to a node where several paths meet goes straight down; all other branches go to the side.
    meets = any(line is not Line.ERROR and target not in alone for target, line in lines.items())
    if not meets:
        alone.discard(_main(alone, node, flow, shape, lines, joined=len(alone) < len(children)))
    return _Ways(
        [child for child in children if child in alone], [child for child in children if child not in alone]
    )


def _main(
    alone: set[int], node: int, flow: Flow, shape: Structure, lines: dict[int, Line], joined: bool
) -> int:
    """The branch that goes straight down: never the body of a loop, and an error handler only if there is no other.

    Of two equally long branches it is the first if they join again, else the last, which follows an early return.
    """
    body = shape.outs[node][0].target if flow.nodes[node].loop and shape.outs[node] else None
    return max(
        alone - {body},
        key=lambda child: (lines[child] is not Line.ERROR, shape.size[child], -child if joined else child),
        default=-1,
    )
