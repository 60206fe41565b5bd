"""Where nodes stand on a grid: the main flow straight down, branches one column to the right of what they leave.

A node's column is its nesting, as indentation is in code. Rows are taken greedily: each column is filled from the top, so
a branch that ends leaves room beside it.
"""

from __future__ import annotations

from collections import Counter
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


@dataclass(frozen=True)
class _Ways:
    """How the nodes that one dominates are placed around it."""

    aside: list[int]
    below: list[int]


def place(flow: Flow, shape: Structure, span: list[int]) -> Grid:
    ways = _ways(flow, shape)
    column, visits = _columns(shape, ways, span)
    stuck = _stuck(flow, shape, column, [node for node, _ in visits])
    row = [-1] * len(flow.nodes)
    filled: list[int] = [0]
    for node, beside in visits:
        if node in stuck:
            row[node] = row[stuck[node]]
            continue
        lowest = row[beside] if beside is not None else 0
        for source in shape.before[node]:
            lowest = max(lowest, row[source] + (source != beside))
        row[node] = _free_row(node, column[node], lowest, ways, span, filled)
        for covered in range(column[node], column[node] + span[node] + 1):
            _fill(filled, covered, row[node] + 1)
    return Grid(row, column, span, stuck, max(row, default=-1) + 1, max(column, default=-1) + 1)


def _columns(
    shape: Structure, ways: list[_Ways], span: list[int]
) -> tuple[list[int], list[tuple[int, int | None]]]:
    """Each node's column, and the nodes in the order in which they take their rows, with what they stand beside."""
    column = [0] * len(ways)
    visits: list[tuple[int, int | None]] = []
    stack: list[tuple[int, int, int | None]] = [(root, 0, None) for root in reversed(shape.roots)]
    while stack:
        node, at, beside = stack.pop()
        column[node] = at
        visits.append((node, beside))
        stack += [(child, at, None) for child in reversed(ways[node].below)]
        stack += [(child, at + span[node] + 1, node) for child in reversed(ways[node].aside)]
    return column, visits


def _stuck(flow: Flow, shape: Structure, column: list[int], visits: list[int]) -> dict[int, int]:
    """Ends right after a step, but for the one at the bottom of the main flow, which has all the room it wants."""
    ways_out = Counter(source for source, _ in shape.ends)
    steps = [node for node in visits if flow.nodes[node].shape is not Shape.END]
    lowest = next((node for node in reversed(steps) if not column[node]), None)
    found: dict[int, int] = {}
    for node in visits:
        if flow.nodes[node].shape is Shape.END and len(shape.before[node]) == 1:
            step = shape.before[node][0]
            if step != lowest and flow.nodes[step].shape is Shape.BOX and ways_out[step] == 1:
                found[node] = step
    return found


def _free_row(node: int, at: int, lowest: int, ways: list[_Ways], span: list[int], filled: list[int]) -> int:
    """The first row where the node fits, and beside it the node that leaves it sideways, and so on."""
    current: int | None = node
    while current is not None:
        for covered in range(at, at + span[current] + 1):
            lowest = max(lowest, filled[covered] if covered < len(filled) else 0)
        at += span[current] + 1
        current = ways[current].aside[0] if ways[current].aside else None
    return lowest


def _fill(filled: list[int], column: int, row: int) -> None:
    while len(filled) <= column:
        filled.append(0)
    filled[column] = max(filled[column], row)


def _ways(flow: Flow, shape: Structure) -> list[_Ways]:
    outs: list[list[int]] = [[] for _ in flow.nodes]
    for link in shape.forward():
        outs[shape.ends[link][0]].append(link)
    return [_ways_from(node, flow, shape, outs[node]) for node in range(len(flow.nodes))]


def _ways_from(node: int, flow: Flow, shape: Structure, outs: list[int]) -> _Ways:
    children = shape.children[node]
    alone = [child for child in children if len(shape.before[child]) == 1]
    lines = {shape.ends[link][1]: flow.links[link].line for link in outs}
    # A way out to where several ways meet is the straight one: what else leaves here goes aside.
    meets = any(line is not Line.ERROR and target not in alone for target, line in lines.items())
    main = None if meets else _main(alone, shape, lines, _body(node, flow, shape))
    aside = [child for child in alone if child != main]
    return _Ways(aside, [child for child in children if child not in aside])


def _body(node: int, flow: Flow, shape: Structure) -> int | None:
    """Where what a loop repeats begins."""
    if not flow.nodes[node].loop:
        return None
    return next((target for source, target in shape.ends if source == node), None)


def _main(alone: list[int], shape: Structure, lines: dict[int, Line], body: int | None) -> int | None:
    """The branch that goes straight on: not what a loop repeats, not a handler if it can be helped, else the largest."""
    return max(
        (child for child in alone if child != body),
        key=lambda child: (lines[child] is not Line.ERROR, shape.size[child], -child),
        default=None,
    )
