"""What is in the way on a grid: nodes in their cells, and the lines that are settled already.

Places along a column are numbered from the top: gap 0 is place 0, row 0 place 1, gap 1 place 2, and so on.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate

from wfc.graph.placing import Grid

BOTTOM, RIGHT, LEFT, TOP, FOOT = "bottom", "right", "left", "top", "foot"
"""Where links meet a node. The foot is beside the bottom, for a link that finds all else taken."""


class Ground:
    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self._cells: set[tuple[int, int]] = set()
        self._rows: list[list[int]] = [[] for _ in range(grid.columns)]
        """The rows where each column holds a node."""
        self._blocked: list[list[int]] = [[] for _ in range(grid.columns + 1)]
        """The rows where a wide node lies across each channel."""
        for node in sorted(range(len(grid.row)), key=grid.row.__getitem__):
            if node not in grid.stuck:
                self._occupy(node)
        self._upright = [[0] * (2 * grid.rows + 2) for _ in range(grid.columns)]
        self._level = [[0] * (grid.rows + 1) for _ in range(grid.columns + 1)]
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
        """Whether a row holds nothing in some columns."""
        return not any((row, column) in self._cells for column in range(start, end))

    def is_clear_below(self, node: int, row: int) -> bool:
        """Whether the node's column holds nothing between it and a row further down."""
        rows = self._rows[self.grid.column[node]]
        following = bisect_right(rows, self.grid.row[node])
        return row > self.grid.row[node] and (following == len(rows) or rows[following] >= row)

    def is_open(self, node: int, channel: int, side: str) -> bool:
        """Whether the way from this side of a node to a channel is free."""
        row, column, after = self.grid.row[node], self.grid.column[node], self.grid.after(node)
        if side == RIGHT:
            return channel >= after and self.is_clear(row, after, channel)
        return channel <= column and self.is_clear(row, channel, column)

    def is_blocked(self, channel: int, top: int, bottom: int) -> bool:
        """Whether a wide node lies across a channel between two places."""
        rows = self._blocked[channel]
        return bisect_left(rows, top // 2) < bisect_left(rows, (bottom + 1) // 2)

    # -- lines -----------------------------------------------------------------

    def draw_upright(self, column: int, top: int, bottom: int) -> None:
        line = self._upright[column]
        for place in range(top, bottom):
            line[place] = 1

    def draw_level(self, row: int, start: int, end: int) -> None:
        """A line along a row, through some channels."""
        for channel in range(start, end + 1):
            self._level[channel][row] += 1
        self._sums = None

    def crossed_in_channel(self, channel: int, top: int, bottom: int) -> int:
        """How many level lines a line along a channel would cross."""
        if self._sums is None:
            self._sums = [list(accumulate(lines, initial=0)) for lines in self._level]
        sums = self._sums[channel]
        return sums[bottom // 2] - sums[min((top + 1) // 2, bottom // 2)]

    def crossed_in_place(self, place: int, columns: range) -> int:
        """How many upright lines a line along a row or gap would cross."""
        return sum(self._upright[column][place] for column in columns if column < self.grid.columns)
