"""Lay out a picture: one scene per flow, long scenes folded into columns, and all scenes on one page with a legend."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import ceil, sqrt

from wfc_runtime.picture.coordinates import Columns, Rows, draw_wire
from wfc_runtime.picture.grid import place, structure_of
from wfc_runtime.picture.model import MEANINGS, Flow, Line, Node, Panel, Picture, Shape, color_of
from wfc_runtime.picture.routes import find_routes
from wfc_runtime.picture.scene import Box, Figure, Scene, Text, Wire, figures_of, fits, width_of
from wfc_runtime.picture.text import shorten, wrap

_PITCH = 170.0
"""The approximate distance between columns: a wide frame covers as many columns as it needs."""


def lay_out(flow: Flow) -> Scene:
    shape = structure_of(flow)
    figures = figures_of(flow, lay_out)
    grid = place(flow, shape, _spans(figures))
    routes = find_routes(shape, grid)
    columns, rows = Columns(grid, figures, routes), Rows(grid, figures, routes)
    scene = Scene(columns.width, rows.height)
    boxes: list[Box] = []
    for node, figure, x, y in zip(flow.nodes, figures, columns.x, rows.y, strict=True):
        box = Box(node, 0, 0, figure.width, figure.height, figure.texts, figure.rules).moved(x, y)
        boxes.append(box)
        scene.boxes.append(box)
        if figure.inside:
            scene.add(figure.inside, box.left, box.top)
    scene.wires += [draw_wire(route, grid, boxes, columns, rows) for route in routes]
    return scene


def _spans(figures: list[Figure]) -> list[int]:
    widest = max((figure.width for figure in figures if not figure.inside), default=0.0)
    return [max(0, ceil((figure.width - widest) / _PITCH)) if figure.inside else 0 for figure in figures]


# Folding a long chart into columns. A cut is possible above a node if all lines at that height lead to it.

_TALL, _SLIM = 1400.0, 1.8
"""Charts up to this height, or up to this ratio of height to width, are not folded."""
_ASPECT = 1.5
_GUTTER, _HEAD, _FOOT = 56.0, 34.0, 18.0
_WORTH = 0.75
_ROUNDS = 20


@dataclass
class _Cut:
    """A node at the top of a column, and the wires that lead to it from the previous column."""

    top: float
    wires: list[Wire]


@dataclass
class _Column:
    top: float = 0.0
    boxes: list[Box] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)
    leaving: list[Wire] = field(default_factory=list)

    def edges(self) -> tuple[float, float, float]:
        """The left, right and bottom edge of the content."""
        xs = [x for box in self.boxes for x in (box.left, box.right)]
        ys = [box.bottom for box in self.boxes]
        for wire in (*self.wires, *self.leaving):
            points = wire.points[:-1]
            xs += [x for x, _ in points]
            ys += [y for _, y in points]
            for text in wire.label:
                width = width_of(text.text, text.style)
                xs += [text.x, text.x + (width if text.anchor == "start" else -width)]
        return min(xs), max(xs), max(ys)


def fold_into_columns(scene: Scene) -> Scene:
    if scene.height <= _TALL or scene.height <= _SLIM * scene.width:
        return scene
    columns = max(2, round(sqrt(_ASPECT * scene.height / (scene.width + _GUTTER))))
    cuts = _choose(list(_possible_cuts(scene)), scene.height, columns)
    if not cuts:
        return scene
    folded = _side_by_side(_split(scene, cuts))
    return folded if folded.height < _WORTH * scene.height else scene


def _possible_cuts(scene: Scene) -> Iterator[_Cut]:
    """From top to bottom, the nodes with nothing above them at that height except lines that lead to them."""
    tops = sorted([*(box.top for box in scene.boxes), *(_top(wire) for wire in scene.wires)])
    bottoms = sorted([*(box.bottom for box in scene.boxes), *(_bottom(wire) for wire in scene.wires)])
    leading: dict[str, list[Wire]] = {}
    for wire in scene.wires:
        leading.setdefault(wire.target, []).append(wire)
    for box in sorted(scene.boxes, key=lambda box: box.top):
        wires = leading.get(box.node.id, [])
        # The number of boxes and wires at this height, without comparing each of them: those that started minus those
        # that ended.
        height = box.top - 2
        passing = bisect_right(tops, height) - bisect_left(bottoms, height)
        if (
            wires
            and passing == len(wires)
            and all(_bottom(wire) == wire.points[-1][1] == box.top for wire in wires)
        ):
            yield _Cut(box.top, wires)


def _top(wire: Wire) -> float:
    return min(y for _, y in wire.points)


def _bottom(wire: Wire) -> float:
    return max(y for _, y in wire.points)


def _choose(cuts: list[_Cut], height: float, columns: int) -> list[_Cut]:
    """The cuts that make the deepest of this many columns as shallow as possible, found by bisection."""
    low, high = height / columns, height
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


def _split(scene: Scene, cuts: list[_Cut]) -> list[_Column]:
    starts = [cut.top for cut in cuts]
    columns = [_Column(top) for top in (0.0, *starts)]
    for column, cut in zip(columns, cuts, strict=False):
        column.leaving = cut.wires
    for box in scene.boxes:
        columns[bisect_right(starts, box.top)].boxes.append(box)
    gone = {id(wire) for cut in cuts for wire in cut.wires}
    for wire in scene.wires:
        if id(wire) not in gone:
            columns[bisect_right(starts, _top(wire))].wires.append(wire)
    return columns


def _side_by_side(columns: list[_Column]) -> Scene:
    folded = Scene()
    arriving: list[Wire] = []
    x = foot = 0.0
    for number, column in enumerate(columns):
        left, right, bottom = column.edges()
        dx, dy = x - left, (_HEAD if number else 0.0) - column.top
        folded.boxes += [box.moved(dx, dy) for box in column.boxes]
        folded.wires += [wire.moved(dx, dy) for wire in column.wires]
        folded.wires += [_joined(wire, foot, x - _GUTTER / 2, dx) for wire in arriving]
        foot = bottom + dy + _FOOT
        folded.height = max(folded.height, foot if column.leaving else bottom + dy)
        arriving = [replace(wire.moved(dx, dy), points=_moved_start(wire, dx, dy)) for wire in column.leaving]
        x += right - left + _GUTTER
    folded.width = x - _GUTTER
    return folded


def _moved_start(wire: Wire, dx: float, dy: float) -> tuple[tuple[float, float], ...]:
    """Move all points but the last one with this column; the last one belongs to the next column."""
    return (*wire.moved(dx, dy).points[:-1], wire.points[-1])


def _joined(wire: Wire, foot: float, gutter: float, dx: float) -> Wire:
    """A wire down to the foot of its column, up between the two columns, and down into the next."""
    *before, (x, _) = wire.points
    head = _HEAD - _FOOT
    way = ((before[-1][0], foot), (gutter, foot), (gutter, head), (x + dx, head), (x + dx, _HEAD))
    return replace(wire, points=(*before, *way))


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
    page.add(scene.of_chart(panel.chart), x + (width - scene.width) / 2, y + _PAD + _head(panel, width))


def _heading(panel: Panel, width: float) -> list[Text]:
    room = width - 2 * _PAD
    title = wrap(panel.caption, [fits("heading", room)])
    narrow = fits("detail", min(room, _READABLE))
    notes = wrap(shorten(panel.note, 400), 3 * [narrow])
    if panel.inputs:
        notes += wrap(shorten(f"inputs: {', '.join(panel.inputs)}", 400), 3 * [narrow])
    texts = [Text(text, 0, 12, "heading", "start") for text in title]
    return texts + [Text(note, 0, 30 + _LEADING * n, "detail", "start") for n, note in enumerate(notes)]


def _head(panel: Panel, width: float) -> float:
    return _PAGE_HEAD + _LEADING * (len(_heading(panel, width)) - 1) + 8


def _add_legend(page: Page, picture: Picture) -> None:
    x, y = _MARGIN + 4, page.height + 6
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
        if line in used:
            yield Wire("", "", line, ((-2.0, 0.0), (18.0, 0.0))), MEANINGS[line]
