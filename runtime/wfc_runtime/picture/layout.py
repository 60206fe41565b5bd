"""Lay out a picture: one scene per flow, long scenes folded into columns, and all scenes on one page with a legend."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import ceil, inf, sqrt

from wfc_runtime.picture.coordinates import Columns, Rows, draw_wire
from wfc_runtime.picture.figures import Figure, figures_of, fits, width_of
from wfc_runtime.picture.grid import place, structure_of
from wfc_runtime.picture.model import MEANINGS, Flow, Line, Node, Panel, Picture, Shape, color_of
from wfc_runtime.picture.routes import find_routes
from wfc_runtime.picture.scene import Box, Scene, Text, Wire
from wfc_runtime.picture.text import shorten, wrap

_PITCH = 170.0
"""The approximate distance between columns: a wide frame covers as many columns as it needs."""


def lay_out(flow: Flow) -> Scene:
    shape = structure_of(flow)
    figures = figures_of(flow, lay_out)
    grid = place(flow, shape, _spans(figures))
    # Routes need the grid, and coordinates need the routes: lanes take space between columns and rows.
    routes = find_routes(shape, grid)
    columns, rows = Columns(grid, figures, routes), Rows(grid, figures, routes)
    scene = Scene(columns.width, rows.height)
    boxes: list[Box] = []
    for node, figure, x, y in zip(flow.nodes, figures, columns.x, rows.y, strict=True):
        box = Box(node, 0, 0, figure.width, figure.height, figure.texts, figure.rules).moved(x, y)
        boxes.append(box)
        scene.boxes.append(box)
        # The inside of a frame was laid out separately; it is moved as a whole.
        if figure.inside:
            scene.add(figure.inside, box.left, box.top)
    scene.wires += [draw_wire(route, grid, boxes, columns, rows) for route in routes]
    return scene


def _spans(figures: list[Figure]) -> list[int]:
    widest = max((figure.width for figure in figures if not figure.inside), default=0.0)
    return [max(0, ceil((figure.width - widest) / _PITCH)) if figure.inside else 0 for figure in figures]


# Folding a long chart into columns. A cut is possible at a height where there is no node, and every line runs straight
# down or up. These lines continue in the next column: along the foot of the one, up between the two, and down from the
# head of the other.

_TALL, _SLIM = 1000.0, 1.3
"""Charts up to this height, or up to this ratio of height to width, are not folded."""
_VERY_TALL = 1400.0
"""Charts up to this height are folded only where a single line crosses the cut."""
_ASPECT = 1.5
_GUTTER, _HEAD, _FOOT, _LANE = 56.0, 34.0, 18.0, 9.0
_WORTH = 0.75
_MOST_LANES, _PRICE = 5, 0.05
"""Lines that may cross a cut side by side, and how much shorter a fold must be for each further one."""
_ROUNDS = 20
_ABOVE = 2.0
"""A cut is a little above the nodes of the next column, so that a line that ends there crosses it."""


@dataclass(frozen=True)
class _Cut:
    """A height, and the lines that cross it: those at the same place are one bundle."""

    top: float
    crossings: tuple[float, ...]

    @property
    def height(self) -> float:
        return self.top - _ABOVE

    def lane_of(self, x: float) -> int:
        """The lane of a line. With the rightmost line in the first one, no two of them cross."""
        return len(self.crossings) - 1 - self.crossings.index(x)


def fold_into_columns(scene: Scene) -> Scene:
    if scene.height <= _TALL or scene.height <= _SLIM * scene.width:
        return scene
    # The number of columns that gives the page about this ratio of width to height.
    columns = max(2, round(sqrt(_ASPECT * scene.height / (scene.width + _GUTTER))))
    possible = list(_possible_cuts(scene))
    best, least = None, _WORTH * scene.height
    for lanes in range(1, (_MOST_LANES if scene.height > _VERY_TALL else 1) + 1):
        cuts = _choose([cut for cut in possible if len(cut.crossings) <= lanes], scene.height, columns)
        # A fold with the same cuts was tried with fewer lanes.
        if cuts and max(len(cut.crossings) for cut in cuts) == lanes:
            fold = _Fold(scene, cuts)
            # A fold with more crossing lines is harder to follow, so it must be worth it.
            price = fold.size[1] * (1 + _PRICE * (lanes - 1))
            if price < least:
                best, least = fold, price
    return scene if best is None else _side_by_side(scene, best)


def _possible_cuts(scene: Scene) -> Iterator[_Cut]:
    """From top to bottom, the heights right above a node at which there is no other node and no level line."""
    tops = sorted(box.top for box in scene.boxes)
    bottoms = sorted(box.bottom for box in scene.boxes)
    level = sorted(y for wire in scene.wires for (_, y), (_, other) in pairwise(wire.points) if y == other)
    upright = _Upright(scene.wires)
    for top in dict.fromkeys(tops):
        height = top - _ABOVE
        # Those that started minus those that ended, without comparing each of them.
        is_free = bisect_right(tops, height) == bisect_left(bottoms, height)
        if is_free and bisect_left(level, height) == bisect_left(level, top):
            crossings = upright.at(height)
            if 0 < len(crossings) <= _MOST_LANES:
                yield _Cut(top, crossings)


class _Upright:
    """The upright stretches of all lines, in the order of their upper ends."""

    def __init__(self, wires: list[Wire]) -> None:
        stretches = [
            (*sorted((y, other)), x)
            for wire in wires
            for (x, y), (_, other) in pairwise(wire.points)
            if y != other
        ]
        self._stretches = sorted(stretches)
        self._next = 0
        self._open: dict[float, float] = {}
        """The lowest end of those that began above the last height, by their place: a bundle counts once."""

    def at(self, height: float) -> tuple[float, ...]:
        """Where lines cross a height. Heights are asked from top to bottom, so each stretch is visited once."""
        while self._next < len(self._stretches) and self._stretches[self._next][0] < height:
            _, low, x = self._stretches[self._next]
            self._open[x] = max(low, self._open.get(x, low))
            self._next += 1
        self._open = {x: low for x, low in self._open.items() if low > height}
        return tuple(sorted(self._open))


def _choose(cuts: list[_Cut], height: float, columns: int) -> list[_Cut]:
    """The cuts that make the deepest of this many columns as shallow as possible, found by bisection."""
    low, high = height / columns, height
    # Enough rounds for a fraction of a pixel.
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        if len(_cuts_for(middle, cuts, height)) < columns:
            high = middle
        else:
            low = middle
    return _cuts_for(high, cuts, height)


def _cuts_for(depth: float, cuts: list[_Cut], height: float) -> list[_Cut]:
    """The cuts between columns, each as late as possible, so that no column is deeper than this if possible."""
    chosen: list[_Cut] = []
    start = 0.0
    for cut, following in zip(cuts, [*(cut.top for cut in cuts[1:]), height], strict=False):
        if following - start > depth:
            chosen.append(cut)
            start = cut.top
    return chosen


@dataclass
class _Column:
    """The part of a chart between two cuts: the extent of its content, and where that is moved to."""

    top: float
    left: float = inf
    right: float = 0.0
    bottom: float = 0.0
    dx: float = 0.0
    dy: float = 0.0

    def cover(self, x: float, y: float, width: float = 0.0) -> None:
        self.left, self.right = min(self.left, x), max(self.right, x + width)
        self.bottom = max(self.bottom, y)


class _Fold:
    """A chart, the cuts through it, and the columns between them."""

    def __init__(self, scene: Scene, cuts: list[_Cut]) -> None:
        self.cuts = cuts
        self._heights = [cut.height for cut in cuts]
        self._paths: dict[tuple[int, float], list[tuple[float, float]]] = {}
        self.columns = [_Column(top) for top in (0.0, *(cut.top for cut in cuts))]
        for box in scene.boxes:
            column = self.column_at(box.top)
            column.cover(box.left, box.bottom, box.width)
        for wire in scene.wires:
            for (x, y), (other, end) in pairwise(wire.points):
                # Lines may go up.
                first, last = sorted((y, end))
                # A line may run through a whole column without a corner in it.
                for column in self.columns[self.number_at(first) : self.number_at(last) + 1]:
                    column.cover(min(x, other), column.top, abs(x - other))
                self.column_at(last).cover(other, last)
            for text in wire.label:
                width = width_of(text.text, text.style)
                self.column_at(text.y).cover(
                    text.x if text.anchor == "start" else text.x - width, text.y, width
                )
        self._place()

    def _place(self) -> None:
        x = 0.0
        for number, column in enumerate(self.columns):
            lanes = len(self.cuts[number - 1].crossings) if number else 0
            column.dx = x - column.left
            column.dy = (_HEAD + _LANE * (lanes - 1) if number else 0.0) - column.top
            x += column.right - column.left + _GUTTER
            if number < len(self.cuts):
                x += _LANE * (len(self.cuts[number].crossings) - 1)

    def number_at(self, y: float) -> int:
        return bisect_right(self._heights, y)

    def column_at(self, y: float) -> _Column:
        return self.columns[self.number_at(y)]

    def moved(self, x: float, y: float) -> tuple[float, float]:
        column = self.column_at(y)
        return x + column.dx, y + column.dy

    def path_across(self, number: int, x: float) -> list[tuple[float, float]]:
        """The way of a line from the foot of a column to the head of the next one."""
        # The lines of a bundle share it.
        if (number, x) not in self._paths:
            self._paths[number, x] = self._path_across(number, x)
        return self._paths[number, x]

    def _path_across(self, number: int, x: float) -> list[tuple[float, float]]:
        cut, before, after = self.cuts[number], self.columns[number], self.columns[number + 1]
        lane = _LANE * cut.lane_of(x)
        foot = before.bottom + before.dy + _FOOT + lane
        gutter = before.right + before.dx + _GUTTER / 2 + lane
        head = _HEAD - _FOOT + lane
        return [(x + before.dx, foot), (gutter, foot), (gutter, head), (x + after.dx, head)]

    @property
    def size(self) -> tuple[float, float]:
        depths = [column.bottom + column.dy for column in self.columns]
        feet = [_FOOT + _LANE * (len(cut.crossings) - 1) for cut in self.cuts]
        last = self.columns[-1]
        return last.right + last.dx, max(map(sum, zip(depths, [*feet, 0.0], strict=True)))


def _side_by_side(scene: Scene, fold: _Fold) -> Scene:
    folded = Scene(*fold.size)
    for box in scene.boxes:
        column = fold.column_at(box.top)
        folded.boxes.append(box.moved(column.dx, column.dy))
    folded.wires += [_folded(wire, fold) for wire in scene.wires]
    return folded


def _folded(wire: Wire, fold: _Fold) -> Wire:
    points = [fold.moved(*wire.points[0])]
    for (_, y), (x, end) in pairwise(wire.points):
        first, last = fold.number_at(y), fold.number_at(end)
        for number in range(first, last):
            points += fold.path_across(number, x)
        # Against the direction of the columns, for a line that leads back.
        for number in range(first - 1, last - 1, -1):
            points += reversed(fold.path_across(number, x))
        points.append(fold.moved(x, end))
    label = tuple(text.moved(fold.column_at(text.y).dx, fold.column_at(text.y).dy) for text in wire.label)
    return replace(wire, points=tuple(points), label=label)


# The page: the chart of the workflow, its tasks beside it, and a legend.

_MARGIN, _PAD, _PAGE_GUTTER = 16.0, 22.0, 16.0
_PAGE_HEAD, _LEADING = 26.0, 15.0
_LEAST = 260.0
_READABLE = 720.0


@dataclass(frozen=True)
class Frame:
    """A panel's outline and heading."""

    x: float
    y: float
    width: float
    height: float
    texts: tuple[Text, ...]
    tip: tuple[str, ...]


@dataclass
class Page(Scene):
    panels: list[Frame] = field(default_factory=list)
    legend: list[tuple[Box | Wire, Text]] = field(default_factory=list)


def lay_out_page(picture: Picture) -> Page:
    charts = [(panel, fold_into_columns(lay_out(panel.flow))) for panel in picture.panels]
    sizes = [_size(panel, scene) for panel, scene in charts]
    page = Page()
    for (panel, scene), (width, height), (x, y) in zip(charts, sizes, _places(sizes), strict=True):
        _put(page, panel, scene, (x, y, width, height))
        page.width = max(page.width, x + width + _MARGIN)
        page.height = max(page.height, y + height + _MARGIN)
    _add_legend(page, picture)
    return page


def _size(panel: Panel, scene: Scene) -> tuple[float, float]:
    heading = min(width_of(panel.caption, "heading"), 420.0)
    width = max(scene.width, heading, _LEAST) + 2 * _PAD
    return width, scene.height + 2 * _PAD + _head(panel, width)


def _places(sizes: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The first panel at the left; the others in columns beside it, no deeper than the deepest panel."""
    deepest = max((height for _, height in sizes), default=0.0)
    places: list[tuple[float, float]] = []
    x, y, widest = _MARGIN, _MARGIN, 0.0
    for number, (width, height) in enumerate(sizes):
        # The second panel begins a new column: the workflow itself has the first one.
        if number == 1 or (number and y + height > _MARGIN + deepest):
            x, y, widest = x + widest + _PAGE_GUTTER, _MARGIN, 0.0
        places.append((x, y))
        y += height + _PAGE_GUTTER
        widest = max(widest, width)
    return places


def _put(page: Page, panel: Panel, scene: Scene, at: tuple[float, float, float, float]) -> None:
    x, y, width, height = at
    texts = tuple(text.moved(x + _PAD, y + _PAD) for text in _heading(panel, width))
    inputs = (f"inputs: {', '.join(panel.inputs)}",) if panel.inputs else ()
    tip = (panel.caption, *((shorten(panel.note, 300),) if panel.note else ()), *inputs)
    page.panels.append(Frame(x, y, width, height, texts, tip))
    # Centred, since the heading may be wider than the chart.
    page.add(scene.of_chart(panel.chart), x + (width - scene.width) / 2, y + _PAD + _head(panel, width))


def _heading(panel: Panel, width: float) -> list[Text]:
    room = width - 2 * _PAD
    title = wrap(panel.caption, [fits("heading", room)])
    narrow = fits("detail", min(room, _READABLE))
    # A narrow panel has room below rather than beside.
    notes = wrap(shorten(panel.note, 400), 6 * [narrow])
    if panel.inputs:
        notes += wrap(shorten(f"inputs: {', '.join(panel.inputs)}", 400), 3 * [narrow])
    texts = [Text(text, 0, 12, "heading", "start") for text in title]
    return texts + [Text(note, 0, 30 + _LEADING * n, "detail", "start") for n, note in enumerate(notes)]


def _head(panel: Panel, width: float) -> float:
    return _PAGE_HEAD + _LEADING * (len(_heading(panel, width)) - 1) + 8


def _add_legend(page: Page, picture: Picture) -> None:
    x, y = _MARGIN + 4, page.height + 6
    # Wide enough for the legend of a very small chart.
    right = max(page.width, 500.0)
    for sample, meaning in _samples(page, picture):
        wide = 24 + width_of(meaning, "label") + 18
        if x + wide > right and x > _MARGIN + 4:
            x, y = _MARGIN + 4, y + 20
        page.legend.append((sample.moved(x, y), Text(meaning, x + 22, y + 4, "label", "start")))
        x += wide
        page.width = max(page.width, x)
    page.height = y + 6 + _MARGIN


def _samples(page: Page, picture: Picture) -> Iterator[tuple[Box | Wire, str]]:
    for name in picture.colors():
        yield Box(Node(name, Shape.BOX, color=name), 8, 0, 16, 12), color_of(name).meaning
    used = {wire.line for wire in page.wires}
    for line in (Line.ERROR, Line.AGAIN):
        # Only what the picture contains is explained.
        if line in used:
            yield Wire("", "", line, ((-2.0, 0.0), (18.0, 0.0))), MEANINGS[line]
