"""Nothing overlaps, no line runs through a node, every line ends where it should: in any flow."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from tests.unit.graph.geometry import faults, outside, overlapping_boxes, wires_through_boxes
from tests.unit.graph.samples import SHIPPED, flow_of, random_flow, shipped
from wfc.graph import to_picture
from wfc.graph.drawing import Box, Drawing, Wire
from wfc.graph.fold import fold
from wfc.graph.layout import lay_out
from wfc.graph.model import Flow, Line, Link, Node, Shape
from wfc.graph.sharing import own_stretches
from wfc.graph.sheet import lay_out_sheet


def chain(count: int) -> Flow:
    nodes = [Node(f"n{number}", Shape.BOX, f"step {number}", "shell") for number in range(count)]
    return Flow("chain", nodes, [Link(one.id, other.id) for one, other in pairwise(nodes)])


def box(drawing: Drawing, title: str) -> Box:
    return next(box for box in drawing.boxes if box.node.title == title)


def wire(drawing: Drawing, source: str, target: str) -> Wire:
    return next(wire for wire in drawing.wires if (wire.source, wire.target) == (source, target))


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_workflows_are_drawn_without_a_fault(name: str) -> None:
    for panel in to_picture(shipped(name)).panels:
        drawing = lay_out(panel.flow)
        assert faults(drawing) == {}
        assert faults(fold(drawing)) == {}


@pytest.mark.parametrize("name", SHIPPED)
def test_panels_and_legend_of_the_shipped_workflows_stand_apart_inside_the_sheet(name: str) -> None:
    sheet = lay_out_sheet(to_picture(shipped(name)))
    panels = sheet.panels
    for panel in panels:
        assert panel.x > 0
        assert panel.y > 0
        assert panel.x + panel.width < sheet.width
        assert panel.y + panel.height < sheet.height
    for number, one in enumerate(panels):
        for other in panels[number + 1 :]:
            apart_across = one.x + one.width < other.x or other.x + other.width < one.x
            assert apart_across or one.y + one.height < other.y or other.y + other.height < one.y
    assert overlapping_boxes(sheet) == []
    assert wires_through_boxes(sheet) == []
    assert outside(sheet) == []


@pytest.mark.parametrize("seed", range(60))
def test_any_graph_at_all_is_drawn_without_a_fault(seed: int) -> None:
    drawing = lay_out(random_flow(Random(seed)))
    assert faults(drawing) == {}
    assert faults(fold(drawing)) == {}


def test_a_flow_of_one_node_is_as_large_as_the_node() -> None:
    drawing = lay_out(Flow("one", [Node("a", Shape.BOX, "a", "shell")]))
    (only,) = drawing.boxes
    assert only.width <= drawing.width < only.width + 10
    assert only.height == drawing.height


def test_an_empty_flow_is_nothing_at_all() -> None:
    assert lay_out(Flow("none")).boxes == []


def test_the_main_flow_is_a_straight_line_down() -> None:
    drawing = lay_out(chain(9))
    assert len({one.x for one in drawing.boxes}) == 1
    assert all(len(one.points) == 2 for one in drawing.wires)


GUARD = """\
  - {id: build, type: shell, command: make, output_to: out}
  - id: check
    type: condition
    if: "{{ state.out.exit_code != 0 }}"
    then: [{id: stop, type: return, value: 1}]
  - {id: ship, type: shell, command: make ship}
"""


def test_a_way_out_early_stands_beside_the_main_flow() -> None:
    drawing = lay_out(flow_of(GUARD))
    build, check, stop, ship = (box(drawing, title) for title in ("build", "check", "stop", "ship"))
    assert build.x == check.x == ship.x < stop.left
    assert check.y == stop.y < ship.y
    assert wire(drawing, "check", "ship").points[0] == (check.x, check.bottom)
    assert wire(drawing, "check", "stop").points == ((check.right, check.y), (stop.left, check.y))


def test_the_end_of_a_return_beside_the_main_flow_hangs_on_its_right() -> None:
    drawing = lay_out(flow_of(GUARD))
    stop, end = box(drawing, "stop"), next(one for one in drawing.boxes if one.node.id == "stop_end")
    assert end.y == stop.y
    assert 0 < end.left - stop.right < 30


def test_the_longer_of_two_branches_goes_straight_on() -> None:
    drawing = lay_out(
        flow_of(
            """\
  - id: check
    type: condition
    if: "{{ inputs.x }}"
    then: [{id: small, type: wait, duration_seconds: 1}]
    else: [{id: big, type: wait, duration_seconds: 1}, {id: more, type: wait, duration_seconds: 1}]
  - {id: after, type: shell, command: make}
"""
        )
    )
    assert (
        box(drawing, "big").x
        == box(drawing, "more").x
        == box(drawing, "check").x
        < box(drawing, "small").left
    )
    assert box(drawing, "after").top > box(drawing, "more").bottom


def test_what_a_loop_repeats_stands_beside_it_and_leads_back() -> None:
    drawing = lay_out(
        flow_of(
            """\
  - id: poll
    type: while
    if: "{{ inputs.x }}"
    max_iterations: 3
    steps: [{id: look, type: shell, command: make}, {id: rest, type: wait, duration_seconds: 1}]
  - {id: after, type: shell, command: make}
"""
        )
    )
    poll, look, rest, after = (box(drawing, title) for title in ("poll", "look", "rest", "after"))
    assert poll.x == after.x
    assert poll.right < look.left
    assert poll.y == look.y < rest.y
    back = wire(drawing, "rest", "poll_turn")
    assert back.line is Line.AGAIN
    assert poll.x < back.points[-1][0] < poll.right


def test_branches_stand_side_by_side_in_their_frame() -> None:
    drawing = lay_out(
        flow_of(
            """\
  - id: both
    type: parallel
    branches:
      one: [{id: a, type: shell, command: make a}]
      two: [{id: b, type: shell, command: make b}]
"""
        )
    )
    frame, one, two = (box(drawing, title) for title in ("both", "a", "b"))
    assert frame.left < one.left < one.right < two.left < two.right < frame.right
    assert one.y == two.y
    assert [text.text for text in frame.texts] == ["one", "two", "both"]


def test_links_to_one_place_share_their_line_and_are_drawn_once() -> None:
    steps = "".join(
        f"  - {{id: s{number}, type: shell, command: make, on_error: {{goto: last}}}}\n"
        for number in range(5)
    )
    drawing = lay_out(
        flow_of(
            f"{steps}  - {{id: mid, type: shell, command: make}}\n  - {{id: last, type: shell, command: make}}\n"
        )
    )
    failing = [one for one in drawing.wires if one.line is Line.ERROR]
    assert len({one.points[1][0] for one in failing}) == 1
    whole = [one for one, reach in own_stretches(failing) if reach == len(one.points) - 1]
    assert [one.source for one in whole] == ["s0"]


def test_a_long_chart_is_folded_into_columns_with_every_link_in_place() -> None:
    drawing = lay_out(chain(100))
    folded = fold(drawing)
    assert drawing.height > 10 * drawing.width
    assert folded.height < 2 * folded.width
    assert faults(folded) == {}
    assert len(folded.boxes) == len(drawing.boxes)
    assert len(folded.wires) == len(drawing.wires)


def test_a_short_chart_is_not_folded() -> None:
    drawing = lay_out(chain(10))
    assert fold(drawing) is drawing


def test_a_chart_is_not_folded_across_lines_that_run_past() -> None:
    flow = chain(60)
    flow.links.append(Link("n59", "n0", "again", Line.AGAIN))
    drawing = lay_out(flow)
    assert fold(drawing) is drawing


def test_the_same_flow_is_always_laid_out_the_same() -> None:
    assert lay_out(random_flow(Random(7))) == lay_out(random_flow(Random(7)))
