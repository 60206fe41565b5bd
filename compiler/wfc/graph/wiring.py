"""The line of each link, corner by corner, and where its label stands."""

from __future__ import annotations

from math import sqrt

from wfc.graph.drawing import Box, Point, Text, Wire
from wfc.graph.model import Flow, Shape
from wfc.graph.plan import LABEL_LEADING, Plan, label_lines
from wfc.graph.routing import BOTTOM, LEFT, RIGHT, Route
from wfc.graph.structure import Structure

_LEAVE = {RIGHT: 0.0, LEFT: -6.0}
_ENTER = {RIGHT: 12.0, LEFT: 9.0}
"""How far from a node's middle lines leave and enter at its sides, so that they never lie on each other."""


def draw_wires(flow: Flow, shape: Structure, routes: list[Route], boxes: list[Box], plan: Plan) -> list[Wire]:
    wires: list[Wire] = []
    for route in routes:
        source, target = shape.ends[route.link]
        link = flow.links[route.link]
        points = _points(route, boxes[source], boxes[target], plan, plan.axis_of(source), plan.axis_of(target))
        label = _label(link.label, route.leave, points[0])
        wires.append(Wire(link.source, link.target, link.line, _simplified(points), label))
    return wires


def _points(
    route: Route, source: Box, target: Box, plan: Plan, source_axis: float, target_axis: float
) -> list[Point]:
    if route.leave == BOTTOM:
        points = [(source_axis, source.bottom)]
        if route.out_gap is not None:
            points.append((source_axis, plan.out_track(route)))
    else:
        points = [side_port(source, route.leave, _LEAVE[route.leave])]
    if route.channel is not None:
        points.append((plan.lane(route), points[-1][1]))
    if route.in_gap is not None:
        track = plan.in_track(route)
        points += [(points[-1][0], track), (target_axis, track)]
    elif route.channel is not None:
        end = side_port(target, route.enter, _ENTER[route.enter])
        points += [(points[-1][0], end[1]), end]
    elif route.enter == LEFT:
        points.append(side_port(target, LEFT, 0.0))
    if route.enter not in (LEFT, RIGHT):
        points.append((target_axis, target.top))
    return points


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


def _label(label: str, leave: str, start: Point) -> tuple[Text, ...]:
    lines = label_lines(label)
    x, y = start
    if leave == BOTTOM:
        return tuple(Text(line, x + 6, y + 12 + LABEL_LEADING * n, "label", "start") for n, line in enumerate(lines))
    first = y - 5 - LABEL_LEADING * (len(lines) - 1)
    x, anchor = (x + 6, "start") if leave == RIGHT else (x - 6, "end")
    return tuple(Text(line, x, first + LABEL_LEADING * n, "label", anchor) for n, line in enumerate(lines))


def _simplified(points: list[Point]) -> tuple[Point, ...]:
    """Without points that are no corners."""
    kept: list[Point] = []
    for point in points:
        if kept and point == kept[-1]:
            continue
        if len(kept) > 1 and (kept[-2][0] == kept[-1][0] == point[0] or kept[-2][1] == kept[-1][1] == point[1]):
            kept[-1] = point
        else:
            kept.append(point)
    return tuple(kept)
