"""A long chart in columns, as text in a newspaper: cut above a node that all lines at that height lead to."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import sqrt

from wfc.graph.drawing import Box, Drawing, Wire
from wfc.graph.figures import width_of

_TALL, _SLIM = 1400.0, 1.8
"""Charts are left alone up to this height, and up to this many times their width."""
_ASPECT = 1.5
_GUTTER, _HEAD, _FOOT = 56.0, 34.0, 18.0
_WORTH = 0.75
_ROUNDS = 20


@dataclass
class _Cut:
    """A node that begins a column, and the wires that lead to it from the one before."""

    top: float
    wires: list[Wire]


@dataclass
class _Column:
    top: float = 0.0
    boxes: list[Box] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)
    leaving: list[Wire] = field(default_factory=list)

    def edges(self) -> tuple[float, float, float]:
        """Left, right and bottom of all that is in it."""
        xs = [x for box in self.boxes for x in (box.left, box.right)]
        ys = [box.bottom for box in self.boxes]
        for wire in (*self.wires, *self.leaving):
            points = wire.points[:-1]
            xs += [x for x, _ in points]
            ys += [y for _, y in points]
            for text in wire.label:
                width = width_of(text.text, text.style)
                xs += [text.x, text.x + (width if text.anchor == "start" else -width)]
        return min(xs), max(xs), max(ys)


def fold(drawing: Drawing) -> Drawing:
    if drawing.height <= _TALL or drawing.height <= _SLIM * drawing.width:
        return drawing
    columns = max(2, round(sqrt(_ASPECT * drawing.height / (drawing.width + _GUTTER))))
    cuts = _choose(list(_possible_cuts(drawing)), drawing.height, columns)
    if not cuts:
        return drawing
    folded = _side_by_side(_split(drawing, cuts))
    return folded if folded.height < _WORTH * drawing.height else drawing


def _possible_cuts(drawing: Drawing) -> Iterator[_Cut]:
    """From top to bottom, the nodes above which there is nothing but lines that lead to them."""
    tops = sorted([*(box.top for box in drawing.boxes), *(_top(wire) for wire in drawing.wires)])
    bottoms = sorted([*(box.bottom for box in drawing.boxes), *(_bottom(wire) for wire in drawing.wires)])
    leading: dict[str, list[Wire]] = {}
    for wire in drawing.wires:
        leading.setdefault(wire.target, []).append(wire)
    for box in sorted(drawing.boxes, key=lambda box: box.top):
        wires = leading.get(box.node.id, [])
        height = box.top - 2
        passing = bisect_right(tops, height) - bisect_left(bottoms, height)
        if (
            wires
            and passing == len(wires)
            and all(_bottom(wire) == wire.points[-1][1] == box.top for wire in wires)
        ):
            yield _Cut(box.top, wires)


def _top(wire: Wire) -> float:
    return min(y for _, y in wire.points)


def _bottom(wire: Wire) -> float:
    return max(y for _, y in wire.points)


def _choose(cuts: list[_Cut], height: float, columns: int) -> list[_Cut]:
    """The cuts that make the deepest of so many columns as shallow as it can be."""
    low, high = height / columns, height
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        if len(_cuts_for(middle, cuts, height)) < columns:
            high = middle
        else:
            low = middle
    return _cuts_for(high, cuts, height)


def _cuts_for(depth: float, cuts: list[_Cut], height: float) -> list[_Cut]:
    """Cuts for columns no deeper than this where that is possible: each as late as it can be."""
    chosen: list[_Cut] = []
    start = 0.0
    for cut, following in zip(cuts, [*(cut.top for cut in cuts[1:]), height], strict=False):
        if following - start > depth:
            chosen.append(cut)
            start = cut.top
    return chosen


def _split(drawing: Drawing, cuts: list[_Cut]) -> list[_Column]:
    starts = [cut.top for cut in cuts]
    columns = [_Column(top) for top in (0.0, *starts)]
    for column, cut in zip(columns, cuts, strict=False):
        column.leaving = cut.wires
    for box in drawing.boxes:
        columns[bisect_right(starts, box.top)].boxes.append(box)
    gone = {id(wire) for cut in cuts for wire in cut.wires}
    for wire in drawing.wires:
        if id(wire) not in gone:
            columns[bisect_right(starts, _top(wire))].wires.append(wire)
    return columns


def _side_by_side(columns: list[_Column]) -> Drawing:
    folded = Drawing()
    arriving: list[Wire] = []
    x = foot = 0.0
    for number, column in enumerate(columns):
        left, right, bottom = column.edges()
        dx, dy = x - left, (_HEAD if number else 0.0) - column.top
        folded.boxes += [box.moved(dx, dy) for box in column.boxes]
        folded.wires += [wire.moved(dx, dy) for wire in column.wires]
        folded.wires += [_joined(wire, foot, x - _GUTTER / 2, dx) for wire in arriving]
        foot = bottom + dy + _FOOT
        folded.height = max(folded.height, foot if column.leaving else bottom + dy)
        arriving = [replace(wire.moved(dx, dy), points=_moved_start(wire, dx, dy)) for wire in column.leaving]
        x += right - left + _GUTTER
    folded.width = x - _GUTTER
    return folded


def _moved_start(wire: Wire, dx: float, dy: float) -> tuple[tuple[float, float], ...]:
    """All but the last point go with this column; that one is settled with the next."""
    return (*wire.moved(dx, dy).points[:-1], wire.points[-1])


def _joined(wire: Wire, foot: float, gutter: float, dx: float) -> Wire:
    """Down to the foot of its column, up between the two, and down into the next."""
    *before, (x, _) = wire.points
    head = _HEAD - _FOOT
    way = ((before[-1][0], foot), (gutter, foot), (gutter, head), (x + dx, head), (x + dx, _HEAD))
    return replace(wire, points=(*before, *way))
