"""From columns to coordinates: how wide columns and channels are, and where the lanes in them run."""

from __future__ import annotations

from collections.abc import Iterator

from wfc.graph.figures import Figure, label_lines, width_of
from wfc.graph.ground import BOTTOM, FOOT, LEFT, RIGHT
from wfc.graph.lanes import Interval, share_lanes
from wfc.graph.placing import Grid
from wfc.graph.routing import LaneKey, Route

_LANE, _SIDE, _CHANNEL = 12.0, 14.0, 40.0
_STUCK, _FRAME_GAP = 20.0, 16.0
_FRAME_SHARE = 120.0
"""What a frame asks of its own column; the rest of it covers the columns beside."""


class Across:
    """x of each node's centre, of each column's axis and of each lane."""

    def __init__(self, grid: Grid, figures: list[Figure], routes: list[Route]) -> None:
        self._grid, self._figures, self._routes = grid, figures, routes
        self._columns = [0.0] * grid.columns
        for node, figure in enumerate(figures):
            if node not in grid.stuck:
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
        for node, step in grid.stuck.items():
            self.x[node] += figures[step].width / 2 + _STUCK + figures[node].width / 2
        return max([x, *(self.x[node] + figures[node].width / 2 for node in frames)])

    def _column(self, column: int, x: float, frames: list[int]) -> float:
        """In the first column frames are centred; in others they begin where the column does."""
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
        """Give lanes their places from x on; returns where the next column may begin."""
        near, left = share_lanes((key, span) for key, (span, right) in groups.items() if not right)
        far, right = share_lanes((key, span) for key, (span, right) in groups.items() if right)
        outer = channel in (0, self._grid.columns)
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
        """Per channel, how far each group of links runs, and whether it belongs to what is on the right."""
        found: dict[int, dict[LaneKey, tuple[Interval, bool]]] = {}
        for route in self._routes:
            if route.channel is None:
                continue
            start, end = route.stretch(self._grid)
            columns = (self._grid.column[route.arc.source], self._grid.column[route.arc.target])
            groups = found.setdefault(route.channel, {})
            (low, high), right = groups.get(route.lane, ((start, end), True))
            span = (min(low, start), max(high, end))
            groups[route.lane] = (span, right and min(columns) >= route.channel)
        return found

    # -- labels ----------------------------------------------------------------

    def _labels(self) -> list[tuple[float, float]]:
        """Per channel, the room that labels need on its left and on its right."""
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
                # What is wider than half the column reaches into the channel beside it.
                over = wide + 8 - self._columns[self._grid.column[source]] / 2
                if over > 0:
                    yield self._grid.column[source] + 1, LEFT, over + 4
            elif wide and route.leave in (LEFT, FOOT):
                yield self._grid.column[source], RIGHT, wide + 12
            elif wide:
                yield self._grid.after(source), LEFT, wide + (12 if route.channel is not None else 22)
