"""Choose the route of each link through the grid.

Nodes occupy cells. Channels run between the columns and gaps between the rows, and neither contains nodes: a link goes
straight to a neighbour, or along gaps and one channel, so no link crosses a node.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from wfc_runtime.picture.grid import Arc, Grid, Structure
from wfc_runtime.picture.model import Line

# Positions along a column are numbered from the top: gap 0 is position 0, row 0 position 1, gap 1 position 2.

BOTTOM, RIGHT, LEFT, TOP, FOOT = "bottom", "right", "left", "top", "foot"
"""The sides where links meet a node. The foot is beside the bottom, for a link that finds all sides taken."""


class Occupancy:
    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self._cells: set[tuple[int, int]] = set()
        self._rows: list[list[int]] = [[] for _ in range(grid.columns)]
        """The rows in which each column has a node."""
        self._blocked: list[list[int]] = [[] for _ in range(grid.columns + 1)]
        """The rows in which a wide node covers each channel."""
        for node in sorted(range(len(grid.row)), key=grid.row.__getitem__):
            if node not in grid.stuck:
                self._occupy(node)
        self._upright = [[0] * (2 * grid.rows + 2) for _ in range(grid.columns)]
        # Counts and not flags: several lines may share a channel.
        self._level = [[0] * (grid.rows + 1) for _ in range(grid.columns + 1)]
        # Prefix sums of the level lines, computed on demand: crossings are counted for every candidate route.
        self._sums: list[list[int]] | None = None

    def _occupy(self, node: int) -> None:
        row, column = self.grid.row[node], self.grid.column[node]
        for covered in range(column, column + self.grid.span[node] + 1):
            self._cells.add((row, covered))
            if covered < self.grid.columns:
                self._rows[covered].append(row)
                if covered > column:
                    self._blocked[covered].append(row)

    # -- nodes -----------------------------------------------------------------

    def is_clear(self, row: int, start: int, end: int) -> bool:
        """Whether a row has no node in some columns."""
        return not any((row, column) in self._cells for column in range(start, end))

    def is_clear_below(self, node: int, row: int) -> bool:
        """Whether the node's column has no node between it and a row further down."""
        rows = self._rows[self.grid.column[node]]
        following = bisect_right(rows, self.grid.row[node])
        return row > self.grid.row[node] and (following == len(rows) or rows[following] >= row)

    def is_open(self, node: int, channel: int, side: str) -> bool:
        """Whether the path from this side of a node to a channel is free."""
        row, column, after = self.grid.row[node], self.grid.column[node], self.grid.after(node)
        if side == RIGHT:
            return channel >= after and self.is_clear(row, after, channel)
        return channel <= column and self.is_clear(row, channel, column)

    def is_blocked(self, channel: int, top: int, bottom: int) -> bool:
        """Whether a wide node covers a channel between two positions."""
        rows = self._blocked[channel]
        # Positions alternate between gaps and rows, hence the halves.
        return bisect_left(rows, top // 2) < bisect_left(rows, (bottom + 1) // 2)

    # -- lines -----------------------------------------------------------------

    def draw_upright(self, column: int, top: int, bottom: int) -> None:
        line = self._upright[column]
        for place in range(top, bottom):
            line[place] = 1

    def draw_level(self, row: int, start: int, end: int) -> None:
        """Record a horizontal line along a row, through some channels."""
        for channel in range(start, end + 1):
            self._level[channel][row] += 1
        self._sums = None

    def crossed_in_channel(self, channel: int, top: int, bottom: int) -> int:
        """The number of horizontal lines that a line along a channel would cross."""
        if self._sums is None:
            self._sums = [list(accumulate(lines, initial=0)) for lines in self._level]
        sums = self._sums[channel]
        # A line that ends at the same height is not crossed.
        return sums[bottom // 2] - sums[min((top + 1) // 2, bottom // 2)]

    def crossed_in_place(self, place: int, columns: range) -> int:
        """The number of vertical lines that a line along a row or gap would cross."""
        return sum(self._upright[column][place] for column in columns if column < self.grid.columns)


_ROW, _COLUMN, _CROSSING, _BEND = 1.0, 1.5, 4.0, 0.5
"""The cost of a route: its length, the lines that it crosses, and its corners."""
_AGAINST = 3.0
"""Extra cost of a link that starts to the left, since people read to the right."""

LaneKey = tuple[int | None, int, Line, str, bool]


@dataclass(frozen=True)
class Route:
    arc: Arc
    leave: str
    enter: str
    channel: int | None = None
    """Channel k is to the left of column k."""
    out_gap: int | None = None
    """The gap that leads to its channel, if it leaves at the bottom. Gap g is above row g."""
    in_gap: int | None = None
    """The gap that leads to its target, if it enters at the top."""

    @property
    def lane(self) -> LaneKey:
        """Links with the same lane key are drawn together: they have the same target and enter it in the same way."""
        return (self.channel, self.arc.target, self.arc.link.line, self.enter, self.arc.back)

    def stretch(self, grid: Grid) -> tuple[int, int]:
        """The first and last position along its channel."""
        start = 2 * grid.row[self.arc.source] + 1 if self.out_gap is None else 2 * self.out_gap
        end = 2 * grid.row[self.arc.target] + 1 if self.in_gap is None else 2 * self.in_gap
        return min(start, end), max(start, end)


def find_routes(shape: Structure, grid: Grid) -> list[Route]:
    """A route for each link, in the order of the links."""
    return _Router(shape, grid).routes()


class _Router:
    def __init__(self, shape: Structure, grid: Grid) -> None:
        self._shape, self._grid, self._occupancy = shape, grid, Occupancy(grid)
        covered = (column + span + 1 for column, span in zip(grid.column, grid.span, strict=True))
        self._overhang = max(covered, default=grid.columns) - grid.columns
        """The number of columns by which the widest frame exceeds the grid; the last channel is that far away."""
        self._entered_above: set[tuple[int, int]] = set()
        self._used: dict[int, set[str]] = {}
        self._lanes: dict[LaneKey, tuple[int, int]] = {}

    def routes(self) -> list[Route]:
        found: dict[int, Route] = {}
        # Simple routes first: they occupy the cells that the search for the others has to avoid.
        rest: list[Arc] = []
        for arc in self._shape.arcs:
            route = self._stuck(arc) or self._straight(arc) or self._aside(arc)
            if route is None:
                rest.append(arc)
            else:
                found[arc.number] = self._take(route)
        # After the simple routes, which may occupy the space above a node.
        self._entered_above = set(self._cells_entered_above(found))
        # Short links first: they have fewer alternatives.
        for arc in sorted(rest, key=lambda arc: (self._rows_between(arc), arc.number)):
            best = min(self._ways(arc), key=lambda way: way[0], default=None)
            found[arc.number] = self._take(best[1] if best else self._round(arc))
        return [found[arc.number] for arc in self._shape.arcs]

    def _rows_between(self, arc: Arc) -> int:
        return abs(self._grid.row[arc.source] - self._grid.row[arc.target])

    def _cells_entered_above(self, found: dict[int, Route]) -> Iterator[tuple[int, int]]:
        """The cells of nodes that a link may enter at the top: no other link may come down on them."""
        for arc in self._shape.arcs:
            if arc.number not in found or found[arc.number].enter == TOP:
                row, column = self._grid.row[arc.target], self._grid.column[arc.target]
                yield from ((row, column + more) for more in range(self._grid.span[arc.target] + 1))

    def _take(self, route: Route) -> Route:
        arc, grid = route.arc, self._grid
        self._used.setdefault(arc.source, set()).add(route.leave)
        if route.channel is not None:
            start, end = route.stretch(grid)
            low, high = self._lanes.get(route.lane, (start, end))
            self._lanes[route.lane] = (min(low, start), max(high, end))
        elif route.leave == BOTTOM:
            # Straight down, or down and then across.
            last = 2 * grid.row[arc.target] + (route.in_gap is None)
            self._occupancy.draw_upright(grid.column[arc.source], 2 * grid.row[arc.source] + 2, last)
        elif arc.target not in grid.stuck:
            self._occupancy.draw_level(grid.row[arc.source], grid.after(arc.source), grid.column[arc.target])
        return route

    def _is_used(self, node: int, side: str) -> bool:
        return side in self._used.get(node, ())

    # -- simple routes ---------------------------------------------------------

    def _stuck(self, arc: Arc) -> Route | None:
        return Route(arc, RIGHT, LEFT) if arc.target in self._grid.stuck else None

    def _straight(self, arc: Arc) -> Route | None:
        column, row = self._grid.column, self._grid.row
        if column[arc.source] != column[arc.target] or self._is_used(arc.source, BOTTOM):
            return None
        return (
            Route(arc, BOTTOM, TOP) if self._occupancy.is_clear_below(arc.source, row[arc.target]) else None
        )

    def _aside(self, arc: Arc) -> Route | None:
        row, start, end = self._grid.row, self._grid.after(arc.source), self._grid.column[arc.target]
        if row[arc.source] != row[arc.target] or end < start or self._is_used(arc.source, RIGHT):
            return None
        return Route(arc, RIGHT, LEFT) if self._occupancy.is_clear(row[arc.source], start, end) else None

    def _round(self, arc: Arc) -> Route:
        """The outermost route, which is never blocked."""
        # The bottom is taken by another link, so this one leaves beside it.
        leave = FOOT if self._is_used(arc.source, BOTTOM) else BOTTOM
        return Route(arc, leave, TOP, 0, self._grid.row[arc.source] + 1, self._grid.row[arc.target])

    # -- candidate routes with their costs -------------------------------------

    def _ways(self, arc: Arc) -> Iterator[tuple[float, Route]]:
        free = [side for side in (BOTTOM, RIGHT, LEFT) if not self._is_used(arc.source, side)]
        if BOTTOM in free and not arc.back:
            yield from self._drop(arc)
        for channel in range(self._grid.columns + 1):
            for leave in free:
                # Only a link back may enter from the side: forward links arrive from above, as people read.
                for enter in (RIGHT, LEFT, TOP) if arc.back else (TOP,):
                    yield from self._through(arc, channel, leave, enter)

    def _drop(self, arc: Arc) -> Iterator[tuple[float, Route]]:
        """Down the column of the source, then across to the top of the target."""
        row, column, end = (
            self._grid.row[arc.target],
            self._grid.column[arc.source],
            self._grid.column[arc.target],
        )
        if (row, column) in self._entered_above or not self._occupancy.is_clear_below(arc.source, row):
            return
        crossed = self._occupancy.crossed_in_place(2 * row, range(min(column, end) + 1, max(column, end)))
        length = _ROW * self._rows_between(arc) + _COLUMN * abs(column - end)
        yield length + _CROSSING * crossed + _BEND * 2, Route(arc, BOTTOM, TOP, in_gap=row)

    def _through(self, arc: Arc, channel: int, leave: str, enter: str) -> Iterator[tuple[float, Route]]:
        grid, occupancy = self._grid, self._occupancy
        if leave != BOTTOM and not occupancy.is_open(arc.source, channel, leave):
            return
        if enter != TOP and not occupancy.is_open(arc.target, channel, enter):
            return
        out_gap = grid.row[arc.source] + 1 if leave == BOTTOM else None
        in_gap = grid.row[arc.target] if enter == TOP else None
        route = Route(arc, leave, enter, channel, out_gap, in_gap)
        if not occupancy.is_blocked(channel, *route.stretch(grid)):
            yield self._cost(route, channel), route

    def _cost(self, route: Route, channel: int) -> float:
        arc, grid = route.arc, self._grid
        top, bottom = self._own_stretch(route)
        crossed = self._occupancy.crossed_in_channel(channel, top, bottom)
        # A back link that enters at the top goes around the node first.
        bends = 2 * (route.leave == BOTTOM) + (4 if arc.back else 2) * (route.enter == TOP)
        width = 0.0
        gaps = ((arc.source, route.out_gap), (arc.target, route.in_gap))
        for node, gap in gaps:
            place = 2 * grid.row[node] + 1 if gap is None else 2 * gap
            column = grid.column[node]
            between = range(column + 1, channel) if column < channel else range(channel, column)
            crossed += self._occupancy.crossed_in_place(place, between)
            width += abs(channel - column - 0.5) + (self._overhang if channel == grid.columns else 0)
        level = grid.row[arc.source] == grid.row[arc.target]
        against = _AGAINST if route.leave == LEFT and (level or not arc.back) else 0.0
        return _ROW * (bottom - top) / 2 + _COLUMN * width + _CROSSING * crossed + _BEND * bends + against

    def _own_stretch(self, route: Route) -> tuple[int, int]:
        """The part of its path along a channel that a link does not share with others."""
        start, end = route.stretch(self._grid)
        # A link that shares its lane with others pays only for the part that is new.
        low, high = self._lanes.get(route.lane, (end + 1, start - 1))
        if low > end or high < start or (start < low and high < end):
            return start, end
        return (start, low) if start < low else (min(end, high), end)
