"""A flow laid out: nodes on the grid, links along its channels and gaps, all with coordinates."""

from __future__ import annotations

from math import ceil

from wfc.graph.across import Across
from wfc.graph.down import Down
from wfc.graph.drawing import Box, Drawing
from wfc.graph.figures import Figure, figures_of
from wfc.graph.model import Flow
from wfc.graph.placing import place
from wfc.graph.routing import find_routes
from wfc.graph.structure import structure_of
from wfc.graph.wiring import draw_wire

_PITCH = 170.0
"""About how far apart columns are: a wide frame covers as many as it takes."""


def lay_out(flow: Flow) -> Drawing:
    shape = structure_of(flow)
    figures = figures_of(flow, lay_out)
    grid = place(flow, shape, _spans(figures))
    routes = find_routes(shape, grid)
    across, down = Across(grid, figures, routes), Down(grid, figures, routes)
    drawing = Drawing(across.width, down.height)
    boxes: list[Box] = []
    for node, figure, x, y in zip(flow.nodes, figures, across.x, down.y, strict=True):
        box = Box(node, 0, 0, figure.width, figure.height, figure.texts, figure.rules).moved(x, y)
        boxes.append(box)
        drawing.boxes.append(box)
        if figure.inside:
            drawing.add(figure.inside, box.left, box.top)
    drawing.wires += [draw_wire(route, grid, boxes, across, down) for route in routes]
    return drawing


def _spans(figures: list[Figure]) -> list[int]:
    widest = max((figure.width for figure in figures if not figure.inside), default=0.0)
    return [max(0, ceil((figure.width - widest) / _PITCH)) if figure.inside else 0 for figure in figures]
