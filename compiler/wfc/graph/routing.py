"""Which way each link takes through the grid.

Nodes stand in cells. Between the columns run channels, between the rows gaps, and both are free of nodes: a link goes
straight to a neighbour, or along gaps and one channel. So no link ever crosses a node, whatever the flow looks like.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from wfc.graph.model import Flow, Line
from wfc.graph.placing import Grid
from wfc.graph.structure import Structure

BOTTOM, RIGHT, LEFT, TOP = "bottom", "right", "left", "top"

_ROW, _COLUMN, _CROSSING, _BEND = 1.0, 1.5, 4.0, 0.5
"""What a route costs: its length, the lines it crosses and its corners."""
_AGAINST = 3.0
"""Reading goes to the right: a way on that sets out to the left surprises."""


@dataclass(frozen=True)
class Route:
    link: int
    leave: str
    enter: str
    channel: int | None = None
    """Channel k is left of column k."""
    out_gap: int | None = None
    """The gap it takes to its channel, where it leaves at the bottom. Gap g is above row g."""
    in_gap: int | None = None
    """The gap it takes to its target, where it enters at the top."""


def find_routes(flow: Flow, shape: Structure, grid: Grid) -> list[Route]:
    """A route for each link, in the order of the links."""
    return _Router(flow, shape, grid).routes()


class _Router:
    def __init__(self, flow: Flow, shape: Structure, grid: Grid) -> None:
        self._flow, self._shape, self._grid = flow, shape, grid
        self._cells: set[tuple[int, int]] = set()
        self._rows_in: list[list[int]] = [[] for _ in range(grid.columns)]
        self._blocked: list[list[int]] = [[] for _ in range(grid.columns + 1)]
        for node in sorted(range(len(flow.nodes)), key=grid.row.__getitem__):
            if node not in grid.stuck:
                self._occupy(node)
        self._entered_above: set[tuple[int, int]] = set()
        self._used: dict[int, set[str]] = {}
        self._lanes: dict[tuple[int, Line, int | None, str], tuple[int, int]] = {}
        self._vertical = [[0] * (2 * grid.rows + 2) for _ in range(grid.columns)]
        self._sideways = [[0] * (grid.rows + 1) for _ in range(grid.columns + 1)]

    def _occupy(self, node: int) -> None:
        row, column, span = self._grid.row[node], self._grid.column[node], self._grid.span[node]
        for covered in range(column, column + span + 1):
            self._cells.add((row, covered))
            if covered < self._grid.columns:
                self._rows_in[covered].append(row)
                if covered > column:
                    self._blocked[covered].append(row)

    def routes(self) -> list[Route]:
        found: dict[int, Route] = {}
        rest: list[int] = []
        for link in range(len(self._shape.ends)):
            route = self._stuck(link) or self._straight(link) or self._aside(link)
            if route is None:
                rest.append(link)
            else:
                found[link] = self._take(route)
        self._sideways = [list(accumulate(row, initial=0)) for row in self._sideways]
        self._entered_above = set(self._entered_from_above(found))
        for link in sorted(rest, key=self._reach):
            best = min(self._ways(link), key=lambda way: way[0], default=None)
            found[link] = self._take(best[1] if best else self._round(link))
        return [found[link] for link in range(len(self._shape.ends))]

    def _entered_from_above(self, found: dict[int, Route]) -> Iterator[tuple[int, int]]:
        """The cells of nodes that some link may enter at the top: nothing else may come down on them."""
        for link, (_, target) in enumerate(self._shape.ends):
            if link not in found or found[link].enter == TOP:
                row, column = self._grid.row[target], self._grid.column[target]
                yield from ((row, covered) for covered in range(column, column + self._grid.span[target] + 1))

    def _reach(self, link: int) -> tuple[int, int]:
        source, target = self._shape.ends[link]
        return abs(self._grid.row[source] - self._grid.row[target]), link

    def _take(self, route: Route) -> Route:
        source, target = self._shape.ends[route.link]
        self._used.setdefault(source, set()).add(route.leave)
        if route.leave == BOTTOM and route.channel is None:
            line = self._vertical[self._grid.column[source]]
            last = 2 * self._grid.row[target] + (route.in_gap is None)
            for place in range(2 * self._grid.row[source] + 2, last):
                line[place] = 1
        if route.channel is not None:
            self._extend(route)
        return route

    def _extend(self, route: Route) -> None:
        start, end = self.stretch(route)
        lane = self._lanes.get(self._lane(route))
        self._lanes[self._lane(route)] = (min(lane[0], start), max(lane[1], end)) if lane else (start, end)

    def _lane(self, route: Route) -> tuple[int, Line, int | None, str]:
        return (self._shape.ends[route.link][1], self._flow.links[route.link].line, route.channel, route.enter)

    def _alone(self, route: Route) -> tuple[int, int]:
        """The part of its way along a channel that a link does not share with another to the same place."""
        start, end = self.stretch(route)
        lane = self._lanes.get(self._lane(route))
        if lane is None or lane[0] > end or lane[1] < start:
            return start, end
        if start < lane[0] and end > lane[1]:
            return start, end
        return (start, max(start, lane[0])) if start < lane[0] else (min(end, lane[1]), end)

    def stretch(self, route: Route) -> tuple[int, int]:
        """From where to where it runs along its channel: rows are odd places, gaps even ones."""
        source, target = self._shape.ends[route.link]
        start = 2 * route.out_gap if route.out_gap is not None else 2 * self._grid.row[source] + 1
        end = 2 * route.in_gap if route.in_gap is not None else 2 * self._grid.row[target] + 1
        return min(start, end), max(start, end)

    # -- the plain ways --------------------------------------------------------

    def _stuck(self, link: int) -> Route | None:
        return Route(link, RIGHT, LEFT) if self._shape.ends[link][1] in self._grid.stuck else None

    def _straight(self, link: int) -> Route | None:
        source, target = self._shape.ends[link]
        column = self._grid.column[source]
        if column != self._grid.column[target] or self._is_used(source, BOTTOM):
            return None
        return Route(link, BOTTOM, TOP) if self._is_clear_below(source, self._grid.row[target]) else None

    def _aside(self, link: int) -> Route | None:
        source, target = self._shape.ends[link]
        row, start, end = self._grid.row[source], self._after(source), self._grid.column[target]
        if row != self._grid.row[target] or end < start or self._is_used(source, RIGHT):
            return None
        if not self._is_clear(row, start, end):
            return None
        for channel in range(start, end + 1):
            self._sideways[channel][row] += 1
        return Route(link, RIGHT, LEFT)

    # -- the others ------------------------------------------------------------

    def _ways(self, link: int) -> Iterator[tuple[float, Route]]:
        source, target = self._shape.ends[link]
        free = [side for side in (BOTTOM, RIGHT, LEFT) if not self._is_used(source, side)] or [BOTTOM, RIGHT, LEFT]
        if BOTTOM in free and not self._shape.back[link]:
            drop = self._drop(link)
            if drop is not None:
                yield drop
        for channel in range(self._grid.columns + 1):
            for leave in free:
                for enter in (RIGHT, LEFT, TOP) if self._shape.back[link] else (TOP,):
                    way = self._through(link, channel, leave, enter)
                    if way is not None:
                        yield way

    def _drop(self, link: int) -> tuple[float, Route] | None:
        """Down the source's own column, then across to the target's top."""
        source, target = self._shape.ends[link]
        row, column = self._grid.row[target], self._grid.column[source]
        if (row, column) in self._entered_above or not self._is_clear_below(source, row):
            return None
        across = self._crossed_columns(2 * row, column, self._grid.column[target])
        length = _ROW * (row - self._grid.row[source]) + _COLUMN * abs(column - self._grid.column[target])
        return length + _CROSSING * across + _BEND * 2, Route(link, BOTTOM, TOP, in_gap=row)

    def _through(self, link: int, channel: int, leave: str, enter: str) -> tuple[float, Route] | None:
        source, target = self._shape.ends[link]
        start, end = self._leave(source, channel, leave), self._enter(target, channel, enter)
        if start is None or end is None or self._is_blocked(channel, start, end):
            return None
        out_gap = start // 2 if leave == BOTTOM else None
        route = Route(link, leave, enter, channel, out_gap, end // 2 if enter == TOP else None)
        top, bottom = self._alone(route)
        lines = self._sideways[channel]
        crossed = lines[bottom // 2] - lines[min((top + 1) // 2, bottom // 2)]
        crossed += self._crossed_columns(start, self._grid.column[source], channel, channels=True)
        crossed += self._crossed_columns(end, self._grid.column[target], channel, channels=True)
        width = abs(channel - self._grid.column[source] - 0.5) + abs(channel - self._grid.column[target] - 0.5)
        bends = (leave == BOTTOM) * 2 + (enter == TOP) * (2 if not self._shape.back[link] else 4)
        cost = _ROW * (bottom - top) / 2 + _COLUMN * width + _CROSSING * crossed + _BEND * bends
        if leave == LEFT and not self._shape.back[link]:
            cost += _AGAINST
        return cost, route

    def _round(self, link: int) -> Route:
        """The outermost way, which nothing ever blocks."""
        source, target = self._shape.ends[link]
        return Route(link, BOTTOM, TOP, 0, self._grid.row[source] + 1, self._grid.row[target])

    def _leave(self, node: int, channel: int, side: str) -> int | None:
        """Where a route from this side of a node comes into a channel: rows are odd places, gaps even ones."""
        row = self._grid.row[node]
        if side == BOTTOM:
            return 2 * row + 2
        return 2 * row + 1 if self._is_open(node, channel, side) else None

    def _enter(self, node: int, channel: int, side: str) -> int | None:
        row = self._grid.row[node]
        if side == TOP:
            return 2 * row
        return 2 * row + 1 if self._is_open(node, channel, side) else None

    def _is_open(self, node: int, channel: int, side: str) -> bool:
        row, column, after = self._grid.row[node], self._grid.column[node], self._after(node)
        if side == RIGHT:
            return channel >= after and self._is_clear(row, after, channel)
        return channel <= column and self._is_clear(row, channel, column)

    # -- what is in the way ----------------------------------------------------

    def _after(self, node: int) -> int:
        """The channel right of a node."""
        return min(self._grid.column[node] + self._grid.span[node] + 1, self._grid.columns)

    def _is_used(self, node: int, side: str) -> bool:
        return side in self._used.get(node, ())

    def _is_clear(self, row: int, start: int, end: int) -> bool:
        return not any((row, column) in self._cells for column in range(start, end))

    def _is_clear_below(self, node: int, row: int) -> bool:
        """Whether the node's column holds nothing between it and a row further down."""
        rows = self._rows_in[self._grid.column[node]]
        following = bisect_right(rows, self._grid.row[node])
        return row > self._grid.row[node] and (following == len(rows) or rows[following] >= row)

    def _is_blocked(self, channel: int, start: int, end: int) -> bool:
        top, bottom = sorted((start, end))
        rows = self._blocked[channel]
        return bisect_left(rows, top // 2) < bisect_left(rows, (bottom + 1) // 2)

    def _crossed_columns(self, place: int, start: int, end: int, channels: bool = False) -> int:
        """How many vertical lines stand in columns strictly between two places of a row or gap."""
        first, last = sorted((start, end))
        if channels and start < end:
            columns = range(start + 1, end)
        elif channels:
            columns = range(end, start)
        else:
            columns = range(first + 1, last)
        return sum(self._vertical[column][place] for column in columns if column < self._grid.columns)
