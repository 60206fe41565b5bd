"""Nothing overlaps, no line runs through a node, every line ends where it should: in any flow."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from tests.unit.graph.geometry import faults, outside, overlapping_boxes, wires_through_boxes
from tests.unit.graph.samples import SHIPPED, flow_of, random_flow, shipped
from wfc.picture import to_picture
from wfc_runtime.picture.layout import fold_into_columns, lay_out, lay_out_page
from wfc_runtime.picture.model import Flow, Line, Link, Node, Shape
from wfc_runtime.picture.scene import Box, Scene, Wire
from wfc_runtime.picture.svg import own_stretches


def chain(count: int) -> Flow:
    nodes = [Node(f"n{number}", Shape.BOX, f"step {number}", "shell") for number in range(count)]
    return Flow("chain", nodes, [Link(one.id, other.id) for one, other in pairwise(nodes)])


def box(scene: Scene, title: str) -> Box:
    return next(box for box in scene.boxes if box.node.title == title)


def wire(scene: Scene, source: str, target: str) -> Wire:
    return next(wire for wire in scene.wires if (wire.source, wire.target) == (source, target))


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_workflows_are_drawn_without_a_fault(name: str) -> None:
    for panel in to_picture(shipped(name)).panels:
        scene = lay_out(panel.flow)
        assert faults(scene) == {}
        assert faults(fold_into_columns(scene)) == {}


@pytest.mark.parametrize("name", SHIPPED)
def test_panels_and_legend_of_the_shipped_workflows_stand_apart_inside_the_sheet(name: str) -> None:
    page = lay_out_page(to_picture(shipped(name)))
    panels = page.panels
    for panel in panels:
        assert panel.x > 0
        assert panel.y > 0
        assert panel.x + panel.width < page.width
        assert panel.y + panel.height < page.height
    for number, one in enumerate(panels):
        for other in panels[number + 1 :]:
            apart_across = one.x + one.width < other.x or other.x + other.width < one.x
            assert apart_across or one.y + one.height < other.y or other.y + other.height < one.y
    assert overlapping_boxes(page) == []
    assert wires_through_boxes(page) == []
    assert outside(page) == []


@pytest.mark.parametrize("seed", range(60))
def test_any_graph_at_all_is_drawn_without_a_fault(seed: int) -> None:
    scene = lay_out(random_flow(Random(seed)))
    assert faults(scene) == {}
    assert faults(fold_into_columns(scene)) == {}


def test_a_flow_of_one_node_is_as_large_as_the_node() -> None:
    scene = lay_out(Flow("one", [Node("a", Shape.BOX, "a", "shell")]))
    (only,) = scene.boxes
    assert only.width <= scene.width < only.width + 10
    assert only.height == scene.height


def test_an_empty_flow_is_nothing_at_all() -> None:
    assert lay_out(Flow("none")).boxes == []


def test_the_main_flow_is_a_straight_line_down() -> None:
    scene = lay_out(chain(9))
    assert len({one.x for one in scene.boxes}) == 1
    assert all(len(one.points) == 2 for one in scene.wires)


GUARD = """\
  - {id: build, type: shell, command: make, output_to: out}
  - id: check
    type: condition
    if: "{{ state.out.exit_code != 0 }}"
    then: [{id: stop, type: return, value: 1}]
  - {id: ship, type: shell, command: make ship}
"""


def test_a_way_out_early_stands_beside_the_main_flow() -> None:
    scene = lay_out(flow_of(GUARD))
    build, check, stop, ship = (box(scene, title) for title in ("build", "check", "stop", "ship"))
    assert build.x == check.x == ship.x < stop.left
    assert check.y == stop.y < ship.y
    assert wire(scene, "check", "ship").points[0] == (check.x, check.bottom)
    assert wire(scene, "check", "stop").points == ((check.right, check.y), (stop.left, check.y))


def test_the_end_of_a_return_beside_the_main_flow_hangs_on_its_right() -> None:
    scene = lay_out(flow_of(GUARD))
    stop, end = box(scene, "stop"), next(one for one in scene.boxes if one.node.id == "stop_end")
    assert end.y == stop.y
    assert 0 < end.left - stop.right < 30


def test_the_longer_of_two_branches_goes_straight_on() -> None:
    scene = lay_out(
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
    assert box(scene, "big").x == box(scene, "more").x == box(scene, "check").x < box(scene, "small").left
    assert box(scene, "after").top > box(scene, "more").bottom


def test_what_a_loop_repeats_stands_beside_it_and_leads_back() -> None:
    scene = lay_out(
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
    poll, look, rest, after = (box(scene, title) for title in ("poll", "look", "rest", "after"))
    assert poll.x == after.x
    assert poll.right < look.left
    assert poll.y == look.y < rest.y
    back = wire(scene, "rest", "poll_turn")
    assert back.line is Line.AGAIN
    assert poll.x < back.points[-1][0] < poll.right


def test_branches_stand_side_by_side_in_their_frame() -> None:
    scene = lay_out(
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
    frame, one, two = (box(scene, title) for title in ("both", "a", "b"))
    assert frame.left < one.left < one.right < two.left < two.right < frame.right
    assert one.y == two.y
    assert [text.text for text in frame.texts] == ["one", "two", "both"]


def test_links_to_one_place_share_their_line_and_are_drawn_once() -> None:
    steps = "".join(
        f"  - {{id: s{number}, type: shell, command: make, on_error: {{goto: last}}}}\n"
        for number in range(5)
    )
    scene = lay_out(
        flow_of(
            f"{steps}  - {{id: mid, type: shell, command: make}}\n  - {{id: last, type: shell, command: make}}\n"
        )
    )
    failing = [one for one in scene.wires if one.line is Line.ERROR]
    assert len({one.points[1][0] for one in failing}) == 1
    whole = [one for one, reach in own_stretches(failing) if reach == len(one.points) - 1]
    assert [one.source for one in whole] == ["s0"]


def test_a_long_chart_is_folded_into_columns_with_every_link_in_place() -> None:
    scene = lay_out(chain(100))
    folded = fold_into_columns(scene)
    assert scene.height > 10 * scene.width
    assert folded.height < 2 * folded.width
    assert faults(folded) == {}
    assert len(folded.boxes) == len(scene.boxes)
    assert len(folded.wires) == len(scene.wires)


def test_a_short_chart_is_not_folded() -> None:
    scene = lay_out(chain(10))
    assert fold_into_columns(scene) is scene


def test_a_chart_taller_than_a_slide_is_folded_only_where_a_single_line_crosses() -> None:
    scene = lay_out(chain(17))
    assert 1000 < scene.height < 1400
    folded = fold_into_columns(scene)
    assert folded.height < 0.75 * scene.height
    assert faults(folded) == {}
    flow = chain(17)
    flow.links += [Link("n16", "n0", "again", Line.AGAIN), Link("n1", "n15", "skip", Line.FLOW)]
    crossed = lay_out(flow)
    assert fold_into_columns(crossed) is crossed


def test_lines_that_run_past_a_cut_continue_in_the_next_column() -> None:
    flow = chain(60)
    flow.links += [Link("n59", "n0", "again", Line.AGAIN), Link("n2", "n40", "skip", Line.FLOW)]
    scene = lay_out(flow)
    folded = fold_into_columns(scene)
    assert folded.height < scene.height / 3
    assert faults(folded) == {}


def test_a_chart_with_many_lines_past_every_node_is_not_folded() -> None:
    flow = chain(60)
    flow.links += [Link(f"n{59 - one}", f"n{one}", "again", Line.AGAIN) for one in range(8)]
    folded = fold_into_columns(lay_out(flow))
    assert faults(folded) == {}


def test_the_same_flow_is_always_laid_out_the_same() -> None:
    assert lay_out(random_flow(Random(7))) == lay_out(random_flow(Random(7)))
