"""What the page shows of the peers is what was measured."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.bench import chart
from tests.bench.contest import FLOOR, PEERS, WFC


@pytest.fixture
def recorded() -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(chart.RECORDED.read_text(encoding="utf-8"))
    return figures


def test_the_page_shows_the_recorded_figures(recorded: dict[str, Any]) -> None:
    text = chart.PAGE.read_text(encoding="utf-8")
    assert chart.with_table(text, recorded) == text
    assert chart.CHART.read_text(encoding="utf-8") == chart.render_svg(recorded)
    assert f"]({chart.CHART.relative_to(chart.PAGE.parent).as_posix()})" in text


def test_the_recorded_figures_are_of_a_long_run_of_a_hundred_and_of_all_engines(
    recorded: dict[str, Any],
) -> None:
    assert (recorded["steps"], recorded["bytes"], recorded["runs"]) == (200, 300, 100)
    wanted = {engine.name: list(engine.packages) for engine in (WFC, FLOOR, *PEERS)}
    assert {engine["name"]: engine["packages"] for engine in recorded["engines"]} == wanted


def test_a_change_of_one_figure_changes_table_and_chart(recorded: dict[str, Any]) -> None:
    changed = json.loads(json.dumps(recorded))
    changed["engines"][-1]["one"]["to_wfc"] *= 2
    assert chart.render_table(changed) != chart.render_table(recorded)
    assert chart.render_svg(changed) != chart.render_svg(recorded)
