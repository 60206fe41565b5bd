"""The picture of a workflow, before anything is drawn."""

from __future__ import annotations

import pytest

from tests.unit.graph.samples import SHIPPED, flow_of, picture_of, shipped
from wfc.picture import to_picture
from wfc_runtime.picture.model import Flow, Line, Link, Node, Shape


def node(flow: Flow, title: str) -> Node:
    return next(node for node in flow.walk() if node.title == title)


def links(flow: Flow) -> set[tuple[str, str, str]]:
    return {(link.source, link.target, link.label) for link in flow.links}


def test_steps_are_boxes_between_a_start_and_an_end() -> None:
    flow = flow_of("  - {id: build, type: shell, command: make, output_to: out}\n")
    assert [node.shape for node in flow.nodes] == [Shape.START, Shape.BOX, Shape.END]
    assert (flow.nodes[1].title, flow.nodes[1].detail, flow.nodes[1].color) == (
        "build",
        "shell → out",
        "agent",
    )
    assert links(flow) == {("start", "build", ""), ("build", "finished", "")}


def test_a_step_called_start_does_not_clash_with_the_start() -> None:
    flow = flow_of("  - {id: start, type: shell, command: make}\n")
    assert [node.id for node in flow.nodes] == ["start_2", "start", "finished"]


def test_a_condition_is_a_choice_with_its_text_shortened_and_two_ways_out() -> None:
    flow = flow_of(
        """\
  - id: check
    type: condition
    if: "{{ inputs.force or state.out.exit_code == 0 }}"
    then: [{id: ship, type: shell, command: make ship}]
    else: [{id: tell, type: prompt, prompt_type: info, message: No.}]
"""
    )
    check = node(flow, "check")
    assert (check.shape, check.detail, check.loop) == (Shape.CHOICE, "force or out.exit_code == 0", False)
    assert {("check", "ship", "yes"), ("check", "tell", "no")} <= links(flow)


def test_a_condition_that_keeps_its_value_shows_what_it_asks() -> None:
    flow = flow_of(
        """\
  - id: check
    type: condition
    if: "{{ inputs.force }}"
    output_to: forced
    then: [{id: ship, type: shell, command: make ship}]
"""
    )
    assert node(flow, "check").detail == "force"
    assert "writes: forced" in node(flow, "check").tip


def test_when_is_a_choice_without_a_title_before_its_step() -> None:
    flow = flow_of('  - {id: ship, type: shell, command: make, when: "{{ inputs.go }}"}\n')
    choice = next(node for node in flow.nodes if node.shape is Shape.CHOICE)
    assert (choice.title, choice.detail, choice.color) == ("", "go", "control")
    assert {(choice.id, "ship", "yes"), (choice.id, "finished", "no")} <= links(flow)


def test_a_loop_is_one_choice_with_a_bound_and_a_way_back() -> None:
    flow = flow_of(
        """\
  - id: poll
    type: while
    if: "{{ inputs.wait }}"
    max_iterations: 9
    steps:
      - {id: pause, type: wait, duration_seconds: 5}
      - {id: enough, type: break}
"""
    )
    head = node(flow, "poll")
    assert (head.shape, head.loop) == (Shape.CHOICE, True)
    assert [node.title for node in flow.nodes] == ["", "poll", "pause", "enough", ""]
    assert {
        ("start", head.id, ""),
        (head.id, "pause", "yes, at most 9"),
        (head.id, "finished", "no"),
    } <= links(flow)
    assert ("enough", "finished", "") in links(flow)
    assert node(flow, "pause").detail == "wait 5 s"
    assert node(flow, "enough").shape is Shape.JUMP


def test_a_jump_back_says_how_often_and_where_it_goes_when_used_up() -> None:
    flow = flow_of(
        """\
  - {id: improve, type: shell, command: make}
  - {id: again, type: goto, target: improve, max_iterations: 3, else: done}
  - {id: skip, type: goto, target: done, max_iterations: 1}
  - {id: done, type: shell, command: make}
"""
    )
    assert Link("again", "improve", "again, at most 3", Line.AGAIN) in flow.links
    assert Link("again", "done", "used up", Line.FLOW) in flow.links
    assert Link("skip", "done", "", Line.FLOW) in flow.links


def test_retry_is_a_badge_and_not_a_step_of_its_own() -> None:
    flow = flow_of("  - {id: push, type: shell, command: make, retry: {max_attempts: 4}}\n")
    assert node(flow, "push").badge == "4 tries"
    assert len(flow.nodes) == 3


def test_a_handler_is_reached_by_an_error_line() -> None:
    flow = flow_of(
        """\
  - {id: push, type: shell, command: make, on_error: {goto: clean}}
  - {id: tell, type: shell, command: make, on_error: continue}
  - {id: clean, type: shell, command: make}
"""
    )
    assert Link("push", "clean", "on error", Line.ERROR) in flow.links
    assert Link("tell", "clean", "also on error", Line.FLOW) in flow.links


def test_every_return_has_an_end_of_its_own() -> None:
    flow = flow_of(
        """\
  - id: check
    type: condition
    if: "{{ inputs.bad }}"
    then: [{id: stop, type: return, value: 1}]
  - {id: done, type: return, value: 2}
"""
    )
    ends = [node.id for node in flow.nodes if node.shape is Shape.END]
    assert ends == ["stop_end", "done_end"]
    assert {("stop", "stop_end", ""), ("done", "done_end", "")} <= links(flow)
    assert node(flow, "stop").color == "end"


def test_a_return_that_can_fail_has_an_error_line_to_where_it_goes_on() -> None:
    flow = flow_of(
        """\
  - {id: first, type: return, value: "{{ 1 / inputs.n }}", on_error: {goto: last}}
  - {id: last, type: return, value: 0}
"""
    )
    assert ("first", "last", "on error") in links(flow)
    assert [node.shape for node in flow.nodes].count(Shape.END) == 2


def test_parallel_is_a_frame_with_its_branches_and_their_ends() -> None:
    flow = flow_of(
        """\
  - id: both
    type: parallel
    branches:
      one: [{id: a, type: shell, command: make a}]
      two: [{id: b, type: shell, command: make b}]
  - {id: after, type: shell, command: make}
"""
    )
    frame = node(flow, "both")
    assert (frame.shape, [branch.title for branch in frame.branches]) == (Shape.PARALLEL, ["one", "two"])
    assert [node.shape for node in frame.branches[0].nodes] == [Shape.BOX, Shape.JOIN]
    assert ("both", "after", "") in links(flow)


def test_a_way_out_of_a_branch_is_shown_as_an_exit() -> None:
    flow = flow_of(
        """\
  - id: both
    type: parallel
    branches:
      one: [{id: a, type: shell, command: make a, on_error: {goto: after}}]
  - {id: after, type: shell, command: make}
"""
    )
    branch = node(flow, "both").branches[0]
    assert [node.title for node in branch.nodes if node.shape is Shape.EXIT] == ["to after"]


def test_a_tooltip_says_what_is_read_written_and_done() -> None:
    flow = flow_of(
        """\
  - id: push
    type: shell
    description: Publish it.
    needs_state: [image, tag]
    command: "docker push {{ state.image }}:{{ state.tag }}"
    timeout: 60
    retry: {max_attempts: 2, delay_seconds: 5}
    output_to: pushed
"""
    )
    assert node(flow, "push").tip == (
        "push (shell), line 4",
        "Publish it.",
        "reads: image, tag",
        "writes: pushed",
        "command: docker push {{ state.image }}:{{ state.tag }}",
        "timeout: 60",
        "retry: max attempts 2, delay seconds 5",
    )


def test_long_texts_are_shortened() -> None:
    flow = flow_of(f"  - {{id: ask, type: delegate, instructions: {'word ' * 200}}}\n")
    assert max(map(len, node(flow, "ask").tip)) < 160


def test_a_step_that_writes_much_lists_the_first_fields_only() -> None:
    flow = flow_of("  - {id: tally, type: set_state, updates: {a: 1, b: 2, c: 3, d: 4, e: 5}}\n")
    assert node(flow, "tally").detail == "set_state → a, b, +3"


def test_a_workflow_has_a_panel_for_itself_and_one_for_each_task() -> None:
    picture = to_picture(shipped("review-branch"))
    assert [panel.caption for panel in picture.panels] == [
        "review-branch 1.0.0",
        "task review_angle",
        "task verify_finding",
    ]
    assert picture.panels[1].inputs == ("angle", "base", "overview")


def test_one_task_can_be_shown_alone() -> None:
    picture = to_picture(shipped("review-branch"), "verify_finding")
    assert [panel.caption for panel in picture.panels] == ["task verify_finding"]


def test_colours_are_listed_once_in_the_order_in_which_they_appear() -> None:
    picture = picture_of(
        """\
  - {id: a, type: shell, command: make}
  - {id: b, type: set_state, updates: {x: 1}}
  - {id: c, type: shell, command: make}
"""
    )
    assert picture.colors() == ["agent", "state"]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_link_of_a_shipped_workflow_joins_two_nodes_of_its_flow(name: str) -> None:
    for panel in to_picture(shipped(name)).panels:
        flows = [panel.flow, *(branch for node in panel.flow.walk() for branch in node.branches)]
        for flow in flows:
            ids = [node.id for node in flow.nodes]
            assert len(ids) == len(set(ids))
            assert all(link.source in ids and link.target in ids for link in flow.links)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_step_of_a_shipped_workflow_is_in_its_picture(name: str) -> None:
    module = shipped(name)
    panels = [panel for panel in to_picture(module).panels if not panel.caption.startswith("computed fields")]
    for chart, panel in zip(module.charts, panels, strict=True):
        assert {state.title for state in chart.states()} <= {node.title for node in panel.flow.walk()}


def test_derived_fields_are_shown_with_what_they_are_computed_from() -> None:
    module = shipped("deps-audit")
    panel = next(one for one in to_picture(module).panels if one.chart == "fields")
    titles = [node.title for node in panel.flow.nodes]
    # Each line says what a field is computed from: one from the state to all of them would say nothing.
    assert "state" not in titles
    # Each field stands after those that it is computed from.
    order = [titles.index(name) for name in ("report", "outdated", "major", "minor", "summary")]
    assert order == sorted(order)
    assert ("field_major", "field_minor") in [(link.source, link.target) for link in panel.flow.links]


def test_a_return_shows_the_words_that_tell_it_from_others() -> None:
    flow = flow_of(
        """\
  - {id: a, type: shell, command: make, output_to: o}
  - {id: b, type: condition, needs_state: [o], if: "{{ state.o.exit_code == 0 }}", then: [
      {id: done, type: return, value: {status: done, code: "{{ 1 + 1 }}"}}]}
  - {id: failed, type: return, value: {status: failed}}
"""
    )
    assert [node(flow, name).detail for name in ("done", "failed")] == [
        "return status: done",
        "return status: failed",
    ]


def test_a_failure_of_a_condition_that_leads_where_no_leads_is_not_mentioned() -> None:
    flow = flow_of(
        """\
  - {id: a, type: shell, command: make, output_to: o}
  - {id: b, type: shell, command: make, needs_state: [o], when: "{{ state.o.exit_code == 0 }}", on_error: continue}
  - {id: c, type: shell, command: make}
"""
    )
    labels = [link.label for link in flow.links]
    assert "no" in labels
    assert not any("or on error" in label for label in labels)
