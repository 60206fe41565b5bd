"""From the grid to coordinates: how wide columns and channels are, how deep rows and gaps."""

from __future__ import annotations

from collections.abc import Iterator

from wfc.graph.figures import Figure, width_of
from wfc.graph.lanes import Interval, share_lanes
from wfc.graph.model import Flow
from wfc.graph.placing import Grid
from wfc.graph.routing import BOTTOM, LEFT, RIGHT, Route
from wfc.graph.structure import Structure

LABEL_LEADING = 12.0
_LANE, _TRACK = 12.0, 11.0
_SIDE, _CHANNEL, _FRAME_GAP = 14.0, 40.0, 16.0
_STUCK = 20.0
_FRAME_SHARE = 120.0
"""What a frame asks of its own column; the rest of it covers the columns beside."""
_GAP, _ARROW, _LABEL_PAD = 28.0, 15.0, 6.0

Key = tuple[object, ...]


class Plan:
    """x and y of each node's centre, of each column's axis, and of the lanes and tracks that links take."""

    def __init__(
        self, flow: Flow, shape: Structure, grid: Grid, figures: list[Figure], routes: list[Route]
    ) -> None:
        self._flow, self._shape, self._grid, self._figures = flow, shape, grid, figures
        self._routes = routes
        self._lane_x: dict[Key, float] = {}
        self._track_y: dict[Key, float] = {}
        self.axis: list[float] = []
        self.x = [0.0] * len(figures)
        self.y = [0.0] * len(figures)
        self.width = self._columns()
        self.height = self._rows()

    def axis_of(self, node: int) -> float:
        return self.axis[self._grid.column[node]]

    def lane(self, route: Route) -> float:
        return self._lane_x[self._lane_key(route)]

    def in_track(self, route: Route) -> float:
        return self._track_y[self._in_key(route)]

    def out_track(self, route: Route) -> float:
        return self._track_y[_out_key(route)]

    # -- across ----------------------------------------------------------------

    def _columns(self) -> float:
        grid, figures = self._grid, self._figures
        wide = [0.0] * grid.columns
        for node, figure in enumerate(figures):
            if node not in grid.stuck:
                wanted = min(figure.width, _FRAME_SHARE) if figure.inside else figure.width
                wide[grid.column[node]] = max(wide[grid.column[node]], wanted)
        lanes, labels = self._lanes(), self._side_labels()
        for channel, room in self._overhanging(wide):
            left, right = labels.get(channel, (0.0, 0.0))
            labels[channel] = (max(left, room), right)
        frames = [node for node, figure in enumerate(figures) if figure.inside]
        clear: dict[int, float] = {}
        x = 0.0
        for channel in range(grid.columns + 1):
            x = max(x, clear.get(channel, 0.0))
            x = self._channel(channel, x, lanes.get(channel, {}), labels.get(channel, (0.0, 0.0)))
            if channel == grid.columns:
                break
            mine = [node for node in frames if grid.column[node] == channel]
            if channel == 0:
                overhang = max((figures[node].width / 2 for node in mine), default=0.0)
                x += max(0.0, overhang - wide[0] / 2)
            axis = x + wide[channel] / 2
            for node in mine:
                half = figures[node].width / 2
                centre = axis if channel == 0 or half <= wide[channel] / 2 else x + half
                self.x[node] = centre
                after = channel + grid.span[node] + 1
                after = min(after, grid.columns)
                clear[after] = max(clear.get(after, 0.0), centre + half + _FRAME_GAP)
            self.axis.append(axis)
            x += wide[channel]
        for node, figure in enumerate(figures):
            if not figure.inside:
                self.x[node] = self.axis[grid.column[node]]
        for node, step in grid.stuck.items():
            self.x[node] += figures[step].width / 2 + _STUCK + figures[node].width / 2
        return max([x, *(self.x[node] + figures[node].width / 2 for node in frames)])

    def _channel(
        self, channel: int, x: float, groups: dict[Key, tuple[Interval, bool]], labels: tuple[float, float]
    ) -> float:
        """Give lanes their places from x on; returns where the next column may begin."""
        near, left = share_lanes((key, span) for key, (span, right) in groups.items() if not right)
        far, right = share_lanes((key, span) for key, (span, right) in groups.items() if right)
        outer = channel in (0, self._grid.columns)
        start = x + (max(_SIDE, labels[0]) if channel or labels[0] else 2.0)
        for key, lane in near.items():
            self._lane_x[key] = start + _LANE * lane
        end = start + _LANE * (left + right)
        for key, lane in far.items():
            self._lane_x[key] = end - _LANE * (lane + 1)
        if outer and not groups:
            return x + max(labels) + 2.0
        if channel == self._grid.columns:
            return end
        end += max(_SIDE, labels[1]) - (_LANE if groups else 0.0)
        return max(end, x + (_CHANNEL if channel else 0.0))

    def _lanes(self) -> dict[int, dict[Key, tuple[Interval, bool]]]:
        """Per channel, the stretch of each group of links, and whether it belongs to the columns on its right."""
        found: dict[int, dict[Key, tuple[Interval, bool]]] = {}
        for route in self._routes:
            if route.channel is None:
                continue
            source, target = self._shape.ends[route.link]
            start = 2 * route.out_gap if route.out_gap is not None else 2 * self._grid.row[source] + 1
            end = 2 * route.in_gap if route.in_gap is not None else 2 * self._grid.row[target] + 1
            span = (min(start, end), max(start, end))
            right = min(self._grid.column[source], self._grid.column[target]) >= route.channel
            groups = found.setdefault(route.channel, {})
            key = self._lane_key(route)
            old = groups.get(key)
            groups[key] = (_union(old[0], span), old[1] and right) if old else (span, right)
        return found

    def _lane_key(self, route: Route) -> Key:
        _, target = self._shape.ends[route.link]
        return (route.channel, target, self._flow.links[route.link].line, route.enter, self._shape.back[route.link])

    def _side_labels(self) -> dict[int, tuple[float, float]]:
        """Per channel, the room that labels need on its left and on its right."""
        found: dict[int, tuple[float, float]] = {}
        for route in self._routes:
            label = self._flow.links[route.link].label
            source, target = self._shape.ends[route.link]
            stuck = _STUCK + self._figures[target].width + 10 if target in self._grid.stuck else 0.0
            if route.leave == BOTTOM or not (label or stuck):
                continue
            room = max([stuck, *(width_of(line, "label") + 12 for line in label_lines(label))])
            column = self._grid.column[source]
            channel = min(column + self._grid.span[source] + 1, self._grid.columns) if route.leave == RIGHT else column
            left, right = found.get(channel, (0.0, 0.0))
            if label and route.enter == LEFT and route.channel is None:
                room += 10
            found[channel] = (max(left, room), right) if route.leave == RIGHT else (left, max(right, room))
        return found

    def _overhanging(self, wide: list[float]) -> Iterator[tuple[int, float]]:
        """Labels below a node that are wider than half its column reach into the channel on its right."""
        for route in self._routes:
            lines = label_lines(self._flow.links[route.link].label)
            if route.leave == BOTTOM and lines:
                column = self._grid.column[self._shape.ends[route.link][0]]
                over = max(width_of(line, "label") for line in lines) + 8 - wide[column] / 2
                if over > 0:
                    yield column + 1, over + 4

    # -- down ------------------------------------------------------------------

    def _rows(self) -> float:
        grid = self._grid
        deep = [0.0] * grid.rows
        for node, figure in enumerate(self._figures):
            deep[grid.row[node]] = max(deep[grid.row[node]], figure.height)
        outs, ins = self._tracks()
        labels = self._bottom_labels()
        y = 0.0
        middle: list[float] = []
        for gap in range(grid.rows + 1):
            y = self._gap(gap, y, outs.get(gap, {}), ins.get(gap, {}), labels.get(gap, 0))
            if gap < grid.rows:
                middle.append(y + deep[gap] / 2)
                y += deep[gap]
        self.y = [middle[grid.row[node]] for node in range(len(self._figures))]
        return y

    def _gap(self, gap: int, y: float, outs: dict[Key, Interval], ins: dict[Key, Interval], labels: int) -> float:
        """Give tracks their places from y on, those that leave above those that arrive; returns where the row begins."""
        leaving, first = share_lanes(outs.items())
        arriving, second = share_lanes(ins.items())
        start = y + (_LABEL_PAD + LABEL_LEADING * labels if labels else 9.0)
        for key, track in leaving.items():
            self._track_y[key] = start + _TRACK * track
        for key, track in arriving.items():
            self._track_y[key] = start + _TRACK * (first + second - 1 - track)
        if gap in (0, self._grid.rows) and not outs and not ins:
            return y
        depth = start - y + _TRACK * max(0, first + second - 1) + _ARROW if first + second else start - y + _ARROW
        return y + max(_GAP, depth)

    def _tracks(self) -> tuple[dict[int, dict[Key, Interval]], dict[int, dict[Key, Interval]]]:
        outs: dict[int, dict[Key, Interval]] = {}
        ins: dict[int, dict[Key, Interval]] = {}
        for route in self._routes:
            source, target = (2 * self._grid.column[node] + 1 for node in self._shape.ends[route.link])
            across = source if route.channel is None else 2 * route.channel
            if route.out_gap is not None:
                outs.setdefault(route.out_gap, {})[_out_key(route)] = _span(source, across)
            if route.in_gap is not None:
                groups = ins.setdefault(route.in_gap, {})
                key, span = self._in_key(route), _span(across, target)
                groups[key] = _union(groups[key], span) if key in groups else span
        return outs, ins

    def _in_key(self, route: Route) -> Key:
        _, target = self._shape.ends[route.link]
        return ("in", target, self._flow.links[route.link].line, self._shape.back[route.link])

    def _bottom_labels(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for route in self._routes:
            lines = label_lines(self._flow.links[route.link].label)
            if route.leave == BOTTOM and lines:
                gap = self._grid.row[self._shape.ends[route.link][0]] + 1
                found[gap] = max(found.get(gap, 0), len(lines))
        return found


def label_lines(label: str) -> list[str]:
    return label.split(", ") if label else []


def _out_key(route: Route) -> Key:
    return ("out", route.link)


def _span(one: int, other: int) -> Interval:
    return (min(one, other), max(one, other))


def _union(one: Interval, other: Interval) -> Interval:
    return (min(one[0], other[0]), max(one[1], other[1]))


