"""Links that run together for the rest of their way are drawn once from there on: lines on lines look fat."""

from __future__ import annotations

from collections.abc import Iterator

from wfc.graph.drawing import Point, Wire
from wfc.graph.model import Line

_Rail = tuple[str, Line, bool, float]
"""A straight line that links to one target share: upright or level, and where."""


def own_stretches(wires: list[Wire]) -> Iterator[tuple[Wire, int]]:
    """Each wire with the number of the point up to which it has to be drawn; the longest come first."""
    drawn: dict[_Rail, tuple[float, float]] = {}
    for wire in sorted(wires, key=_length, reverse=True):
        pairs = list(zip(wire.points, wire.points[1:], strict=False))
        reach = len(pairs)
        while reach > 1 and _is_drawn(drawn, wire, *pairs[reach - 1]):
            reach -= 1
        for start, end in pairs[:reach]:
            rail, low, high = _on_rail(wire, start, end)
            old = drawn.get(rail)
            drawn[rail] = (
                (min(low, old[0]), max(high, old[1]))
                if old and old[0] <= high and low <= old[1]
                else (low, high)
            )
        yield wire, reach


def _is_drawn(drawn: dict[_Rail, tuple[float, float]], wire: Wire, start: Point, end: Point) -> bool:
    rail, low, high = _on_rail(wire, start, end)
    old = drawn.get(rail)
    return old is not None and old[0] <= low and high <= old[1]


def _on_rail(wire: Wire, start: Point, end: Point) -> tuple[_Rail, float, float]:
    upright = start[0] == end[0]
    at, one, other = (start[0], start[1], end[1]) if upright else (start[1], start[0], end[0])
    return (wire.target, wire.line, upright, at), min(one, other), max(one, other)


def _length(wire: Wire) -> float:
    return sum(
        abs(x1 - x2) + abs(y1 - y2) for (x1, y1), (x2, y2) in zip(wire.points, wire.points[1:], strict=False)
    )
