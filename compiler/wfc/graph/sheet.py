"""The whole sheet: the workflow's chart, its tasks beside it, and a legend."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from wfc.graph.drawing import Box, Drawing, Text, Wire
from wfc.graph.figures import fits, width_of
from wfc.graph.fold import fold
from wfc.graph.layout import lay_out
from wfc.graph.model import Line, Node, Panel, Picture, Shape
from wfc.graph.palette import MEANINGS, color_of
from wfc.graph.words import shorten, wrap

_MARGIN, _PAD, _GUTTER = 16.0, 22.0, 16.0
_HEAD, _LEADING = 26.0, 15.0
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
class Sheet(Drawing):
    panels: list[Frame] = field(default_factory=list)
    legend: list[tuple[Box | Wire, Text]] = field(default_factory=list)


def lay_out_sheet(picture: Picture) -> Sheet:
    charts = [(panel, fold(lay_out(panel.flow))) for panel in picture.panels]
    sizes = [_size(panel, drawing) for panel, drawing in charts]
    sheet = Sheet()
    for (panel, drawing), (width, height), (x, y) in zip(charts, sizes, _places(sizes), strict=True):
        _put(sheet, panel, drawing, (x, y, width, height))
        sheet.width = max(sheet.width, x + width + _MARGIN)
        sheet.height = max(sheet.height, y + height + _MARGIN)
    _add_legend(sheet, picture)
    return sheet


def _size(panel: Panel, drawing: Drawing) -> tuple[float, float]:
    heading = min(width_of(panel.caption, "heading"), 420.0)
    width = max(drawing.width, heading, _LEAST) + 2 * _PAD
    return width, drawing.height + 2 * _PAD + _head(panel, width)


def _places(sizes: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The first at the left; the others in columns beside it, no deeper than the deepest of all."""
    deepest = max((height for _, height in sizes), default=0.0)
    places: list[tuple[float, float]] = []
    x, y, widest = _MARGIN, _MARGIN, 0.0
    for number, (width, height) in enumerate(sizes):
        if number == 1 or (number and y + height > _MARGIN + deepest):
            x, y, widest = x + widest + _GUTTER, _MARGIN, 0.0
        places.append((x, y))
        y += height + _GUTTER
        widest = max(widest, width)
    return places


def _put(sheet: Sheet, panel: Panel, drawing: Drawing, at: tuple[float, float, float, float]) -> None:
    x, y, width, height = at
    texts = tuple(text.moved(x + _PAD, y + _PAD) for text in _heading(panel, width))
    inputs = (f"inputs: {', '.join(panel.inputs)}",) if panel.inputs else ()
    tip = (panel.caption, *((shorten(panel.note, 300),) if panel.note else ()), *inputs)
    sheet.panels.append(Frame(x, y, width, height, texts, tip))
    sheet.add(drawing, x + (width - drawing.width) / 2, y + _PAD + _head(panel, width))


def _heading(panel: Panel, width: float) -> list[Text]:
    room = width - 2 * _PAD
    title = wrap(panel.caption, [fits("heading", room)])
    narrow = fits("detail", min(room, _READABLE))
    notes = wrap(shorten(panel.note, 400), [narrow, narrow])
    if panel.inputs:
        notes += wrap(shorten(f"inputs: {', '.join(panel.inputs)}", 400), [narrow])
    texts = [Text(text, 0, 12, "heading", "start") for text in title]
    return texts + [Text(note, 0, 30 + _LEADING * n, "detail", "start") for n, note in enumerate(notes)]


def _head(panel: Panel, width: float) -> float:
    return _HEAD + _LEADING * (len(_heading(panel, width)) - 1) + 8


def _add_legend(sheet: Sheet, picture: Picture) -> None:
    x, y = _MARGIN + 4, sheet.height + 6
    right = max(sheet.width, 500.0)
    for sample, meaning in _samples(sheet, picture):
        wide = 24 + width_of(meaning, "label") + 18
        if x + wide > right and x > _MARGIN + 4:
            x, y = _MARGIN + 4, y + 20
        sheet.legend.append((sample.moved(x, y), Text(meaning, x + 22, y + 4, "label", "start")))
        x += wide
        sheet.width = max(sheet.width, x)
    sheet.height = y + 6 + _MARGIN


def _samples(sheet: Sheet, picture: Picture) -> Iterator[tuple[Box | Wire, str]]:
    for name in picture.colors():
        yield Box(Node(name, Shape.BOX, color=name), 8, 0, 16, 12), color_of(name).meaning
    used = {wire.line for wire in sheet.wires}
    for line in (Line.ERROR, Line.AGAIN):
        if line in used:
            yield Wire("", "", line, ((-2.0, 0.0), (18.0, 0.0))), MEANINGS[line]
