"""The line of each link, corner by corner, and where its label stands."""

from __future__ import annotations

from math import sqrt

from wfc.graph.across import Across
from wfc.graph.down import Down
from wfc.graph.drawing import Box, Point, Text, Wire
from wfc.graph.figures import LABEL_LEADING, label_lines
from wfc.graph.ground import BOTTOM, FOOT, LEFT, RIGHT, TOP
from wfc.graph.model import Shape
from wfc.graph.placing import Grid
from wfc.graph.routing import Route

_FOOT = 16.0
_LEAVE = {RIGHT: 0.0, LEFT: -6.0}
_ENTER = {RIGHT: 12.0, LEFT: 9.0}
"""How far from a node's middle lines leave and enter at its sides, so that they never lie on each other."""


def draw_wire(route: Route, grid: Grid, boxes: list[Box], across: Across, down: Down) -> Wire:
    arc = route.arc
    source, target = boxes[arc.source], boxes[arc.target]
    above, below = across.axis[grid.column[arc.source]], across.axis[grid.column[arc.target]]
    if route.leave == BOTTOM:
        points = [(above, source.bottom)]
    elif route.leave == FOOT:
        points = [_foot(source, above)]
    else:
        points = [side_port(source, route.leave, _LEAVE[route.leave])]
    if route.out_gap is not None:
        points.append((points[-1][0], down.out_track(route)))
    if route.channel is not None:
        points.append((across.lane[route.lane], points[-1][1]))
    if route.enter == TOP:
        if route.in_gap is not None:
            track = down.in_track(route)
            points += [(points[-1][0], track), (below, track)]
        points.append((below, target.top))
    else:
        end = side_port(target, route.enter, _ENTER[route.enter] if route.channel is not None else 0.0)
        points += [(points[-1][0], end[1]), end]
    label = _label(arc.link.label, route.leave, points[0])
    return Wire(arc.link.source, arc.link.target, arc.link.line, _corners(points), label)


def side_port(box: Box, side: str, dy: float) -> Point:
    """Where a line meets a node's outline at its left or right, some way below the middle."""
    half = box.width / 2
    match box.node.shape:
        case Shape.CHOICE:
            half *= 1 - abs(dy) / (box.height / 2)
        case Shape.JUMP | Shape.EXIT | Shape.START | Shape.END | Shape.JOIN:
            radius = box.height / 2
            half -= radius - sqrt(max(0.0, radius**2 - dy**2))
    return (box.x + half if side == RIGHT else box.x - half, box.y + dy)


def _foot(box: Box, axis: float) -> Point:
    """Where a line leaves a node downwards, left of its axis."""
    x = axis - _FOOT
    away = box.x - x
    match box.node.shape:
        case Shape.CHOICE:
            return (x, box.y + box.height / 2 * (1 - away / (box.width / 2)))
        case Shape.JUMP | Shape.EXIT:
            radius = box.height / 2
            inset = max(0.0, away - (box.width / 2 - radius))
            return (x, box.y + sqrt(max(0.0, radius**2 - inset**2)))
    return (x, box.bottom)


def _label(label: str, leave: str, start: Point) -> tuple[Text, ...]:
    lines = label_lines(label)
    x, y = start
    if leave == BOTTOM:
        x, y, anchor = x + 6, y + 12, "start"
    elif leave == FOOT:
        x, y, anchor = x - 6, y + 14, "end"
    else:
        x, anchor = (x + 6, "start") if leave == RIGHT else (x - 6, "end")
        y -= 5 + LABEL_LEADING * (len(lines) - 1)
    return tuple(Text(line, x, y + LABEL_LEADING * n, "label", anchor) for n, line in enumerate(lines))


def _corners(points: list[Point]) -> tuple[Point, ...]:
    """Without points where nothing turns."""
    kept: list[Point] = []
    for point in points:
        if kept and point == kept[-1]:
            continue
        if len(kept) > 1 and (
            kept[-2][0] == kept[-1][0] == point[0] or kept[-2][1] == kept[-1][1] == point[1]
        ):
            kept[-1] = point
        else:
            kept.append(point)
    return tuple(kept)
