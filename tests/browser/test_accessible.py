"""The four places are accessible: axe finds nothing, in both themes, and dimmed text of the chart can be read."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import Opened
from tests.browser.test_page import waiting
from tests.page.support import Page
from tests.runtime.support import Box
from tests.unit.graph.test_renderers import contrast

PLACES = {
    "inbox": "/",
    "runs": "/runs",
    "timeline": "/runs/{run}",
    "history": "/runs/{run}/history",
    "state": "/runs/{run}/state?at=2",
    "source": "/runs/{run}/source",
    "workflow": "/workflows/asks",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_wrong(project: Box, served: Page, open_tab: Opened, scheme: str) -> None:
    run = waiting(project)
    tab = open_tab(served, color_scheme=scheme)
    found: dict[str, Any] = {}
    for name, path in PLACES.items():
        tab.goto(served.address + path.format(run=run))
        expect(tab.get_by_role("heading", level=1)).to_be_visible()
        expect(tab.get_by_text("Loading…")).to_have_count(0)
        if name != "inbox" and name != "runs":
            expect(tab.locator("svg.chart")).to_be_visible()
        violations = Axe().run(tab).response["violations"]
        found[name] = [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in violations]
    assert {name: one for name, one in found.items() if one} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_of_the_chart_can_be_read(
    project: Box, served: Page, open_tab: Opened, scheme: str
) -> None:
    run = waiting(project)
    tab = open_tab(served, f"/runs/{run}", color_scheme=scheme)
    expect(tab.locator(".node.now")).to_be_visible()
    pairs = tab.evaluate(
        """() => [...document.querySelectorAll("svg.chart .node[role]")].flatMap((node) => {
            const shape = getComputedStyle(node.querySelector("rect, polygon")).fill;
            return [...node.querySelectorAll("text")].map((text) => [getComputedStyle(text).fill, shape]);
        })"""
    )
    assert pairs
    for text, fill in pairs:
        assert contrast(_hex(text), _hex(fill)) >= 4.5


def _hex(color: str) -> str:
    numbers = color.removeprefix("rgb(").removesuffix(")").split(", ")
    return "#" + "".join(f"{int(one):02x}" for one in numbers)


def test_on_a_phone_the_form_comes_first_and_nothing_overflows(
    project: Box, served: Page, open_tab: Opened
) -> None:
    run = waiting(project)
    tab = open_tab(served, f"/runs/{run}", viewport={"width": 390, "height": 800})
    expect(tab.locator("svg.chart")).to_be_visible()
    form, chart = tab.get_by_role("button", name="Yes").bounding_box(), tab.locator("#chart").bounding_box()
    assert form is not None
    assert chart is not None
    assert form["y"] < chart["y"]
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
