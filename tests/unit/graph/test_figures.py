"""The text in the figures of a chart: whole wherever there is room, and in the middle."""

from __future__ import annotations

import pytest

from tests.unit.graph.samples import SHIPPED, shipped
from wfc.picture import to_picture
from wfc_runtime.picture.build import fields_flow
from wfc_runtime.picture.figures import figures_of
from wfc_runtime.picture.layout import lay_out
from wfc_runtime.picture.model import Flow, Node, Shape
from wfc_runtime.picture.scene import Box


def texts_of(shape: Shape, title: str, detail: str) -> list[str]:
    (figure,) = figures_of(Flow("", [Node("one", shape, title, detail)]), lay_out)
    return [text.text for text in figure.texts]


def choices(name: str) -> list[Box]:
    scenes = [lay_out(panel.flow) for panel in to_picture(shipped(name)).panels]
    return [box for scene in scenes for box in scene.boxes if box.node.shape is Shape.CHOICE]


@pytest.mark.parametrize("name", SHIPPED)
def test_no_name_and_no_condition_of_the_shipped_workflows_is_cut(name: str) -> None:
    for box in choices(name):
        shown = "".join(text.text for text in box.texts).replace(" ", "")
        assert shown == (box.node.title + box.node.detail).replace(" ", "")


@pytest.mark.parametrize("name", SHIPPED)
def test_the_text_of_a_choice_is_in_its_middle(name: str) -> None:
    for box in choices(name):
        middle = sum(text.y for text in box.texts) / len(box.texts)
        # A line of text is placed by its base line.
        assert middle - box.y == pytest.approx(3.7, abs=1)


def test_a_long_name_in_a_choice_takes_two_lines() -> None:
    shown = texts_of(Shape.CHOICE, "verify-behaviour-reviewer-asked", "'behaviour-reviewer' in verify_again")
    assert "".join(shown[:2]) == "verify-behaviour-reviewer-asked"
    assert " ".join(shown[2:]) == "'behaviour-reviewer' in verify_again"


def test_a_condition_without_spaces_breaks_after_a_mark() -> None:
    assert texts_of(Shape.CHOICE, "internal", "/^(chore|ci|wip)/i.test(subject)") == [
        "internal",
        "/^(chore|ci|wip)/i.",
        "test(subject)",
    ]


def test_what_stands_between_commas_stays_on_one_line() -> None:
    assert texts_of(Shape.BOX, "stop", "return status: cancelled, stage: confirm the deployment") == [
        "stop",
        "return status: cancelled,",
        "stage: confirm the deployment",
    ]
    written = "set_state → review_algorithm_reviewer, review_waiting_reviewer, review_memory_reviewer"
    assert texts_of(Shape.BOX, "round", written) == [
        "round",
        "set_state",
        "→ review_algorithm_reviewer,",
        "review_waiting_reviewer,",
        "review_memory_reviewer",
    ]


def test_a_step_without_details_has_one_line() -> None:
    assert texts_of(Shape.BOX, "state", "") == ["state"]


@pytest.mark.parametrize(
    "lines",
    [
        ("git_status.exit_code != 0", "or git_status.stdout | trim", "| length > 0"),
        ("test_run.exit_code != 0 or", "all_tests.exit_code != 0"),
        ("verification is defined and", "verification is ok"),
    ],
)
def test_a_condition_has_few_lines_that_break_between_operands_if_they_can(lines: tuple[str, ...]) -> None:
    assert texts_of(Shape.CHOICE, "check", " ".join(lines)) == ["check", *lines]


def test_computed_fields_are_linked_to_what_they_read_and_to_nothing_else() -> None:
    flow = fields_flow("w", {"total": (("cart",), "{{ input }}"), "today": ((), "{{ inputs.day }}")})
    assert [node.title for node in flow.nodes] == ["cart", "total", "today"]
    assert [(link.source, link.target) for link in flow.links] == [("field_cart", "field_total")]
