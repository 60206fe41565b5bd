"""Where nodes stand on a grid: the main flow straight down, branches one column further to the right.

A node's column is its nesting, as indentation is in code. Rows are taken greedily: each column is filled from
the top, so that a branch which ends leaves room below it.
"""

from __future__ import annotations

from dataclasses import dataclass

from wfc.graph.model import Flow, Line, Shape
from wfc.graph.structure import Structure


@dataclass(frozen=True)
class Grid:
    row: list[int]
    column: list[int]
    span: list[int]
    """How many further columns to the right each node covers."""
    stuck: dict[int, int]
    """Ends that have no cell of their own: each hangs on the right of the node that leads to it."""
    rows: int
    columns: int

    def after(self, node: int) -> int:
        """The channel right of a node. Channel k is left of column k."""
        return min(self.column[node] + self.span[node] + 1, self.columns)


@dataclass(frozen=True)
class _Ways:
    """How the nodes that one dominates are placed around it."""

    aside: list[int]
    below: list[int]


@dataclass(frozen=True)
class _Visit:
    """A node on its way to the grid, and the one it stands beside, if any."""

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
            lowest = max(lowest, row[source] + (source != visit.beside))
        row[node] = _free_row(visit, lowest, ways, span, filled)
        for covered in range(visit.column, visit.column + span[node] + 1):
            filled[covered] = row[node] + 1
    return Grid(row, column, span, stuck, max(row, default=-1) + 1, max(column, default=-1) + 1)


def _visits(shape: Structure, ways: list[_Ways], span: list[int]) -> list[_Visit]:
    """The nodes in the order in which they take their rows: what is beside one before what is below it."""
    visits: list[_Visit] = []
    stack = [_Visit(root, 0) for root in reversed(shape.roots)]
    while stack:
        visit = stack.pop()
        visits.append(visit)
        way, column = ways[visit.node], visit.column
        stack += [_Visit(child, column) for child in reversed(way.below)]
        stack += [_Visit(child, column + span[visit.node] + 1, visit.node) for child in reversed(way.aside)]
    return visits


def _free_row(visit: _Visit, lowest: int, ways: list[_Ways], span: list[int], filled: dict[int, int]) -> int:
    """The first row where the node fits, and beside it the node that leaves it sideways, and so on."""
    node: int | None = visit.node
    column = visit.column
    while node is not None:
        for covered in range(column, column + span[node] + 1):
            lowest = max(lowest, filled.get(covered, 0))
        column += span[node] + 1
        node = next(iter(ways[node].aside), None)
    return lowest


def _stuck(flow: Flow, shape: Structure, visits: list[_Visit]) -> dict[int, int]:
    """Ends right after a step, but for the one at the bottom of the main flow: it has room."""
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
        if len(shape.before[end]) == 1 and len(shape.outs[step]) == 1 and not arc.link.label:
            found[end] = step
    return found


# -- which way on is the straight one ------------------------------------------


def _ways(node: int, flow: Flow, shape: Structure) -> _Ways:
    children = shape.children[node]
    alone = {child for child in children if len(shape.before[child]) == 1}
    lines = {arc.target: arc.link.line for arc in shape.outs[node] if not arc.back}
    # A way out to where several ways meet is the straight one: what else leaves here goes aside.
    meets = any(line is not Line.ERROR and target not in alone for target, line in lines.items())
    if not meets:
        alone.discard(_main(alone, node, flow, shape, lines, joined=len(alone) < len(children)))
    return _Ways(
        [child for child in children if child in alone], [child for child in children if child not in alone]
    )


def _main(
    alone: set[int], node: int, flow: Flow, shape: Structure, lines: dict[int, Line], joined: bool
) -> int:
    """The branch that goes straight on: never what a loop repeats, a handler only for want of others.

    Of two that are equally long it is the first if they join again, else the last: what follows an early return.
    """
    body = shape.outs[node][0].target if flow.nodes[node].loop and shape.outs[node] else None
    return max(
        alone - {body},
        key=lambda child: (lines[child] is not Line.ERROR, shape.size[child], -child if joined else child),
        default=-1,
    )
