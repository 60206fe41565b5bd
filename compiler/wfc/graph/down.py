"""From rows to coordinates: how deep rows and gaps are, and where the tracks in them run."""

from __future__ import annotations

from wfc.graph.figures import LABEL_LEADING, Figure, label_lines
from wfc.graph.ground import BOTTOM, FOOT
from wfc.graph.lanes import Interval, share_lanes
from wfc.graph.model import Line
from wfc.graph.placing import Grid
from wfc.graph.routing import Route

_TRACK, _GAP, _ARROW, _LABEL_PAD, _PLAIN = 11.0, 28.0, 15.0, 6.0, 9.0

_Out = int
_In = tuple[int, Line, bool]


class Down:
    """y of each node's centre and of each track."""

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
        """Place the tracks, those that leave above those that arrive; returns where the row begins."""
        leaving, first = share_lanes(outs.items())
        arriving, second = share_lanes(ins.items())
        count = first + second
        if gap in (0, self._grid.rows) and not count:
            return y
        start = y + (_LABEL_PAD + LABEL_LEADING * labels if labels else _PLAIN)
        for out, track in leaving.items():
            self._out[out] = start + _TRACK * track
        for group, track in arriving.items():
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
        """Source, target and channel from left to right: channels are even places, columns odd ones."""
        source, target = (2 * self._grid.column[node] + 1 for node in (route.arc.source, route.arc.target))
        return source, target, source if route.channel is None else 2 * route.channel

    def _labels(self) -> dict[int, int]:
        """Per gap, how many lines the labels at its top have."""
        found: dict[int, int] = {}
        for route in self._routes:
            lines = label_lines(route.arc.link.label)
            if route.leave in (BOTTOM, FOOT) and lines:
                gap = self._grid.row[route.arc.source] + 1
                found[gap] = max(found.get(gap, 0), len(lines))
        return found


def _group(route: Route) -> _In:
    return (route.arc.target, route.arc.link.line, route.arc.back)
