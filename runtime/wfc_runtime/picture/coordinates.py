"""Coordinates of a routed grid: column widths, row heights, lanes, and the corners of each link."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterable, Iterator
from math import sqrt
from typing import TypeVar

from wfc_runtime.picture.figures import LABEL_LEADING, Figure, label_lines, width_of
from wfc_runtime.picture.grid import Grid
from wfc_runtime.picture.model import Line, Shape
from wfc_runtime.picture.routes import BOTTOM, FOOT, LEFT, RIGHT, TOP, LaneKey, Route
from wfc_runtime.picture.scene import Box, Point, Text, Wire

# Lanes. Parallel lines get one lane each; lines to the same target share one.

Interval = tuple[int, int]
Key = TypeVar("Key", bound=Hashable)


def assign_lanes(intervals: Iterable[tuple[Key, Interval]]) -> tuple[dict[Key, int], int]:
    """A lane for each interval, so that no two on one lane touch, and the number of lanes. Short ones come first."""
    lanes: list[list[Interval]] = []
    found: dict[Key, int] = {}
    # Short ones near the nodes, so that long lines pass outside them.
    for key, interval in sorted(intervals, key=lambda item: item[1][1] - item[1][0]):
        lane = next((index for index, taken in enumerate(lanes) if _fits(taken, interval)), len(lanes))
        if lane == len(lanes):
            lanes.append([])
        insort(lanes[lane], interval)
        found[key] = lane
    return found, len(lanes)


def _fits(taken: list[Interval], interval: Interval) -> bool:
    # The list is sorted, so only the two neighbours can touch.
    at = bisect_left(taken, interval)
    return (at == 0 or taken[at - 1][1] < interval[0]) and (at == len(taken) or taken[at][0] > interval[1])


_LANE, _SIDE, _CHANNEL = 12.0, 14.0, 40.0
_STUCK, _FRAME_GAP = 20.0, 16.0
_FRAME_SHARE = 120.0
"""The width that a frame needs in its own column; the rest of it may cover the columns to its right."""


class Columns:
    """The x coordinates of node centres, column axes and lanes."""

    def __init__(self, grid: Grid, figures: list[Figure], routes: list[Route]) -> None:
        self._grid, self._figures, self._routes = grid, figures, routes
        self._columns = [0.0] * grid.columns
        for node, figure in enumerate(figures):
            if node not in grid.stuck:
                # A frame is much wider than a column; only a part of it determines the column's width.
                wanted = min(figure.width, _FRAME_SHARE) if figure.inside else figure.width
                self._columns[grid.column[node]] = max(self._columns[grid.column[node]], wanted)
        self.lane: dict[LaneKey, float] = {}
        self.axis: list[float] = []
        self.x = [0.0] * len(figures)
        self.width = self._lay_out()

    def _lay_out(self) -> float:
        grid, figures = self._grid, self._figures
        lanes, labels = self._lanes(), self._labels()
        frames = [node for node, figure in enumerate(figures) if figure.inside]
        # The leftmost position of each channel: a frame covers several columns and pushes what follows it to the right.
        clear = [0.0] * (grid.columns + 1)
        x = 0.0
        for channel in range(grid.columns + 1):
            x = self._channel(channel, max(x, clear[channel]), lanes.get(channel, {}), labels[channel])
            if channel < grid.columns:
                mine = [node for node in frames if grid.column[node] == channel]
                x = self._column(channel, x, mine)
                for node in mine:
                    edge = self.x[node] + figures[node].width / 2 + _FRAME_GAP
                    clear[grid.after(node)] = max(clear[grid.after(node)], edge)
        for node, figure in enumerate(figures):
            if not figure.inside:
                self.x[node] = self.axis[grid.column[node]]
        # A stuck end is drawn beside its step and is not part of the column.
        for node, step in grid.stuck.items():
            # Only now, when the place of the step is known.
            self.x[node] += figures[step].width / 2 + _STUCK + figures[node].width / 2
        return max([x, *(self.x[node] + figures[node].width / 2 for node in frames)])

    def _column(self, column: int, x: float, frames: list[int]) -> float:
        """Place a column and its frames. In the first column frames are centred; in others they start at its left."""
        wide = self._columns[column]
        if column == 0:
            x += max([0.0, *((self._figures[node].width - wide) / 2 for node in frames)])
        self.axis.append(x + wide / 2)
        for node in frames:
            half = self._figures[node].width / 2
            self.x[node] = self.axis[column] if column == 0 or half <= wide / 2 else x + half
        return x + wide

    # -- channels --------------------------------------------------------------

    def _channel(
        self,
        channel: int,
        x: float,
        groups: dict[LaneKey, tuple[Interval, bool]],
        labels: tuple[float, float],
    ) -> float:
        """Place lanes from x on; returns the position where the next column may start."""
        near, left = assign_lanes((key, span) for key, (span, right) in groups.items() if not right)
        far, right = assign_lanes((key, span) for key, (span, right) in groups.items() if right)
        # Lanes of nodes on the left fill the channel from the left, the others from the right: this avoids crossings.
        outer = channel in (0, self._grid.columns)
        # The first channel is the left margin, which is narrow if nothing runs in it.
        start = x + (max(_SIDE, labels[0]) if channel or labels[0] else 2.0)
        end = start + _LANE * (left + right)
        for key, lane in near.items():
            self.lane[key] = start + _LANE * lane
        for key, lane in far.items():
            self.lane[key] = end - _LANE * (lane + 1)
        if outer and not groups:
            return x + max(labels) + 2.0
        if channel == self._grid.columns:
            return end
        end += max(_SIDE, labels[1]) - (_LANE if groups else 0.0)
        return max(end, x + (_CHANNEL if channel else 0.0))

    def _lanes(self) -> dict[int, dict[LaneKey, tuple[Interval, bool]]]:
        """Per channel, the extent of each group of links, and whether it belongs to nodes on the right."""
        found: dict[int, dict[LaneKey, tuple[Interval, bool]]] = {}
        for route in self._routes:
            if route.channel is None:
                continue
            start, end = route.stretch(self._grid)
            columns = (self._grid.column[route.arc.source], self._grid.column[route.arc.target])
            groups = found.setdefault(route.channel, {})
            (low, high), right = groups.get(route.lane, ((start, end), True))
            span = (min(low, start), max(high, end))
            # On the right only if all links of the group are.
            groups[route.lane] = (span, right and min(columns) >= route.channel)
        return found

    # -- labels ----------------------------------------------------------------

    def _labels(self) -> list[tuple[float, float]]:
        """Per channel, the space that labels need on its left and on its right."""
        found = [(0.0, 0.0)] * (self._grid.columns + 1)
        for channel, side, room in self._rooms():
            left, right = found[channel]
            found[channel] = (max(left, room), right) if side == LEFT else (left, max(right, room))
        return found

    def _rooms(self) -> Iterator[tuple[int, str, float]]:
        for route in self._routes:
            source, target = route.arc.source, route.arc.target
            wide = max((width_of(line, "label") for line in label_lines(route.arc.link.label)), default=0.0)
            if target in self._grid.stuck:
                yield self._grid.after(source), LEFT, _STUCK + self._figures[target].width + 10
            elif wide and route.leave == BOTTOM:
                # A label wider than half the column reaches into the channel beside it.
                over = wide + 8 - self._columns[self._grid.column[source]] / 2
                if over > 0:
                    yield self._grid.column[source] + 1, LEFT, over + 4
            elif wide and route.leave in (LEFT, FOOT):
                yield self._grid.column[source], RIGHT, wide + 12
            elif wide:
                yield self._grid.after(source), LEFT, wide + (12 if route.channel is not None else 22)


_TRACK, _GAP, _ARROW, _LABEL_PAD, _PLAIN = 11.0, 28.0, 15.0, 6.0, 9.0

_Out = int
_In = tuple[int, Line, bool]


class Rows:
    """The y coordinates of node centres and tracks."""

    def __init__(self, grid: Grid, figures: list[Figure], routes: list[Route]) -> None:
        self._grid, self._routes = grid, routes
        self._out: dict[_Out, float] = {}
        self._in: dict[_In, float] = {}
        depths = [0.0] * grid.rows
        for node, figure in enumerate(figures):
            depths[grid.row[node]] = max(depths[grid.row[node]], figure.height)
        middles: list[float] = []
        self.height = self._lay_out(depths, middles)
        self.y = [middles[row] for row in grid.row]

    def out_track(self, route: Route) -> float:
        return self._out[route.arc.number]

    def in_track(self, route: Route) -> float:
        return self._in[_group(route)]

    def _lay_out(self, depths: list[float], middles: list[float]) -> float:
        outs, ins = self._leaving(), self._arriving()
        labels = self._labels()
        y = 0.0
        for gap in range(self._grid.rows + 1):
            y = self._gap(gap, y, outs.get(gap, {}), ins.get(gap, {}), labels.get(gap, 0))
            if gap < self._grid.rows:
                middles.append(y + depths[gap] / 2)
                y += depths[gap]
        return y

    def _gap(
        self, gap: int, y: float, outs: dict[_Out, Interval], ins: dict[_In, Interval], labels: int
    ) -> float:
        """Place the tracks of a gap, leaving ones above arriving ones; returns the position where the row starts."""
        leaving, first = assign_lanes(outs.items())
        arriving, second = assign_lanes(ins.items())
        count = first + second
        # No line above the first row or below the last one.
        if gap in (0, self._grid.rows) and not count:
            return y
        start = y + (_LABEL_PAD + LABEL_LEADING * labels if labels else _PLAIN)
        for out, track in leaving.items():
            self._out[out] = start + _TRACK * track
        for group, track in arriving.items():
            # Arriving lines from the bottom up, so that the nearest lane is next to its row.
            self._in[group] = start + _TRACK * (count - 1 - track)
        return max(y + _GAP, start + _TRACK * max(0, count - 1) + _ARROW)

    def _leaving(self) -> dict[int, dict[_Out, Interval]]:
        found: dict[int, dict[_Out, Interval]] = {}
        for route in self._routes:
            if route.out_gap is not None:
                source, _, across = self._places(route)
                found.setdefault(route.out_gap, {})[route.arc.number] = (
                    min(source, across),
                    max(source, across),
                )
        return found

    def _arriving(self) -> dict[int, dict[_In, Interval]]:
        found: dict[int, dict[_In, Interval]] = {}
        for route in self._routes:
            if route.in_gap is not None:
                _, target, across = self._places(route)
                groups = found.setdefault(route.in_gap, {})
                low, high = groups.get(_group(route), (target, target))
                groups[_group(route)] = (min(low, across), max(high, across))
        return found

    def _places(self, route: Route) -> tuple[int, int, int]:
        """Source, target and channel as horizontal positions: channels have even numbers, columns odd ones."""
        source, target = (2 * self._grid.column[node] + 1 for node in (route.arc.source, route.arc.target))
        return source, target, source if route.channel is None else 2 * route.channel

    def _labels(self) -> dict[int, int]:
        """Per gap, the number of lines of the labels at its top."""
        found: dict[int, int] = {}
        for route in self._routes:
            lines = label_lines(route.arc.link.label)
            if route.leave in (BOTTOM, FOOT) and lines:
                gap = self._grid.row[route.arc.source] + 1
                found[gap] = max(found.get(gap, 0), len(lines))
        return found


def _group(route: Route) -> _In:
    return (route.arc.target, route.arc.link.line, route.arc.back)


# The line of each link, corner by corner, and the position of its label.

_FOOT = 16.0
_LEAVE = {RIGHT: 0.0, LEFT: -6.0}
_ENTER = {RIGHT: 12.0, LEFT: 9.0}
"""Vertical distance from a node's middle at which lines leave and enter its sides, so that they never overlap."""


def draw_wire(route: Route, grid: Grid, boxes: list[Box], columns: Columns, rows: Rows) -> Wire:
    arc = route.arc
    source, target = boxes[arc.source], boxes[arc.target]
    above, below = columns.axis[grid.column[arc.source]], columns.axis[grid.column[arc.target]]
    if route.leave == BOTTOM:
        points = [(above, source.bottom)]
    elif route.leave == FOOT:
        points = [_foot(source, above)]
    else:
        points = [side_port(source, route.leave, _LEAVE[route.leave])]
    if route.out_gap is not None:
        points.append((points[-1][0], rows.out_track(route)))
    if route.channel is not None:
        points.append((columns.lane[route.lane], points[-1][1]))
    if route.enter == TOP:
        if route.in_gap is not None:
            track = rows.in_track(route)
            points += [(points[-1][0], track), (below, track)]
        points.append((below, target.top))
    else:
        end = side_port(target, route.enter, _ENTER[route.enter] if route.channel is not None else 0.0)
        points += [(points[-1][0], end[1]), end]
    label = _label(arc.link.label, route.leave, points[0])
    return Wire(arc.link.source, arc.link.target, arc.link.line, _corners(points), label)


def side_port(box: Box, side: str, dy: float) -> Point:
    """The point where a line meets the left or right outline of a node, `dy` below its middle."""
    half = box.width / 2
    match box.node.shape:
        # The outline of a diamond recedes with the distance from its middle.
        case Shape.CHOICE:
            half *= 1 - abs(dy) / (box.height / 2)
        case Shape.JUMP | Shape.EXIT | Shape.START | Shape.END | Shape.JOIN:
            radius = box.height / 2
            # The same for the round end of a box or circle.
            half -= radius - sqrt(max(0.0, radius**2 - dy**2))
    return (box.x + half if side == RIGHT else box.x - half, box.y + dy)


def _foot(box: Box, axis: float) -> Point:
    """The point where a line leaves the bottom of a node, left of its axis."""
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
    """The points where the line turns, and both ends."""
    kept: list[Point] = []
    for point in points:
        if kept and point == kept[-1]:
            continue
        # Three points in a line: the middle one is not a corner.
        if len(kept) > 1 and (
            kept[-2][0] == kept[-1][0] == point[0] or kept[-2][1] == kept[-1][1] == point[1]
        ):
            kept[-1] = point
        else:
            kept.append(point)
    return tuple(kept)
