"""A flow laid out: nodes on the grid, links along its channels and gaps, all with coordinates."""

from __future__ import annotations

from math import ceil

from wfc.graph.drawing import Box, Drawing
from wfc.graph.figures import Figure, figures_of
from wfc.graph.model import Flow
from wfc.graph.placing import place
from wfc.graph.plan import Plan
from wfc.graph.routing import find_routes
from wfc.graph.structure import structure_of
from wfc.graph.wiring import draw_wires

_PITCH = 170.0
"""The least distance of two columns: a wide frame covers as many as fit."""


def lay_out(flow: Flow) -> Drawing:
    shape = structure_of(flow)
    figures = figures_of(flow, lay_out)
    grid = place(flow, shape, _spans(figures))
    routes = find_routes(flow, shape, grid)
    plan = Plan(flow, shape, grid, figures, routes)
    drawing = Drawing(plan.width, plan.height)
    boxes = [_box(flow, number, figure, plan) for number, figure in enumerate(figures)]
    for box, figure in zip(boxes, figures, strict=True):
        drawing.boxes.append(box)
        if figure.inside:
            drawing.add(figure.inside, box.left, box.top)
    drawing.wires += draw_wires(flow, shape, routes, boxes, plan)
    return drawing


def _spans(figures: list[Figure]) -> list[int]:
    widest = max((figure.width for figure in figures if not figure.inside), default=0.0)
    return [max(0, ceil((figure.width - widest) / _PITCH)) if figure.inside else 0 for figure in figures]


def _box(flow: Flow, number: int, figure: Figure, plan: Plan) -> Box:
    box = Box(flow.nodes[number], 0, 0, figure.width, figure.height, figure.texts, figure.rules)
    return box.moved(plan.x[number], plan.y[number])
