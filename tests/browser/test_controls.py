"""The controls of the page in a browser: lists, downloads, actions, the chart, and requests that fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from tests.browser.conftest import ASK, Opened
from tests.browser.test_page import HOSTILE, NOT_LIVE, waiting
from tests.page.support import Page, serving
from tests.runtime.support import OK, Box, children, steps
from tests.support import wait_until

REFUSED = {"error": {"code": "store_busy", "message": "the store is busy", "hint": "Try again."}}
EACH = """
name: each
version: 1.0.0
inputs:
  items: {type: array, required: true}
tasks:
  one:
    inputs: {item: {type: string}}
    steps:
      - {id: look, type: shell, command: "echo {{ inputs.item | shquote }}"}
steps:
  - {id: all, type: foreach, items: "{{ inputs.items }}", task: one, max_parallel: 200, output_to: found}
"""
SLOW = steps(
    "{id: build, type: shell, command: make, timeout: 60}",
    "{id: agree, type: prompt, prompt_type: confirm, message: 'Ship it?', output_to: go}",
    "{id: last, type: shell, command: make, timeout: 60}",
    name="slow",
)
HEAD = "inputs:\n  note: {type: string, required: true}"
LARGE = steps(
    "{id: read, type: shell, command: make, retry: {max_attempts: 2}, output_to: text}",
    "{id: more, type: shell, command: make}",
    name="large",
    head=HEAD,
)


def refuse(tab: Tab, pattern: str) -> None:
    tab.route(pattern, lambda route: route.fulfill(status=503, json=REFUSED))


def is_refused(tab: Tab, pattern: str, button: str) -> None:
    """A press of a button whose request fails shows the service's words; what was there stays."""
    refuse(tab, pattern)
    tab.get_by_role("button", name=button, exact=True).first.click()
    expect(tab.get_by_role("alert")).to_contain_text("the store is busy")
    expect(tab.get_by_role("alert")).to_contain_text("Try again.")
    tab.unroute(pattern)


def test_addresses_without_a_place_or_a_run_say_so_and_lead_back(served: Page, open_tab: Opened) -> None:
    open_tab.expected.append("status of 404")  # type: ignore[attr-defined]
    tab = open_tab(served, "/nowhere")
    for path in ("/nowhere", "/runs/x/nothing", "/runs/%E0%A4%A", "/workflows/a/b"):
        reply = tab.goto(f"{served.address}{path}")
        assert reply is not None
        expect(tab.get_by_role("heading", name="Nothing here")).to_be_visible()
        assert (path, reply.status) in ((path, 404), ("/runs/%E0%A4%A", 200))
    expect(tab).to_have_title("Not found · wfc")
    tab.get_by_role("link", name="To the inbox").click()
    expect(tab.get_by_text("Nothing waits for you.")).to_be_visible()
    tab.goto(f"{served.address}/runs/{'a' * 26}")
    expect(tab.get_by_role("alert")).to_contain_text("there is no run")
    expect(tab.get_by_role("alert")).not_to_contain_text("list_runs")
    tab.get_by_role("link", name="All runs").click()
    expect(tab.get_by_role("heading", name="Runs", level=1)).to_be_visible()


def test_new_runs_wait_behind_a_button_and_older_ones_are_asked_for(
    project: Box, served: Page, open_tab: Opened
) -> None:
    open_tab.expected.append("status of 503")  # type: ignore[attr-defined]
    project.compile(SLOW)
    for _ in range(55):
        project.service.start("asks")
    tab = open_tab(served, "/runs?workflow=asks")
    expect(tab.locator("tr[data-row]")).to_have_count(50)
    is_refused(tab, "**/api/runs?*before=*", "Older runs")
    expect(tab.locator("tr[data-row]")).to_have_count(50)
    tab.get_by_role("button", name="Older runs").click()
    expect(tab.locator("tr[data-row]")).to_have_count(55)
    expect(tab.get_by_role("alert")).to_have_count(0)
    expect(tab.get_by_role("img", name="live", exact=True)).to_be_visible()
    top = tab.locator("tr[data-row]").first.get_attribute("data-run")
    project.service.start("slow")
    # One that has moved on before the page heard of it is new as well.
    runs = [waiting(project), *(str(project.service.start("asks")["workflow_id"]) for _ in range(2))]
    expect(tab.get_by_role("button", name="3 new", exact=True)).to_be_visible()
    assert tab.locator("tr[data-row]").first.get_attribute("data-run") == top
    tab.get_by_role("button", name="3 new").click()
    expect(tab.locator("tr[data-row]").first).to_have_attribute("data-run", runs[-1])
    expect(tab.locator("button.fresh")).to_have_count(0)
    project.service.submit(runs[0], "agree", {"confirmed": True})
    expect(tab.locator(f"tr[data-run='{runs[0]}']")).to_contain_text("label")
    expect(tab.locator("button.fresh")).to_have_count(0)


def test_a_gate_that_another_answers_leaves_the_others_where_they_are(
    project: Box, served: Page, open_tab: Opened
) -> None:
    """If the list closed up, somebody would type on into the form of another run."""
    runs = [waiting(project) for _ in range(3)]
    for run in runs:
        project.service.submit(run, "agree", {"confirmed": True})
    tab = open_tab(served)
    field = tab.locator(f"[data-run='{runs[1]}']").get_by_label("Your answer", exact=True)
    field.press_sequentially("for the sec")
    project.service.submit(runs[0], "label", {"input": "x"})
    expect(tab.get_by_text("This is not asked any more.")).to_be_visible()
    tab.keyboard.type("ond")
    expect(field).to_have_value("for the second")
    assert tab.locator(".gates > li").evaluate_all("all => all.map((one) => one.dataset.run)") == runs
    tab.reload()
    expect(tab.locator(".gates > li")).to_have_count(2)
    expect(field).to_have_value("for the second")


def test_children_are_a_table_with_counts_and_a_filter(project: Box, open_tab: Opened) -> None:
    open_tab.expected.append("status of 503")  # type: ignore[attr-defined]
    service = project.compile(EACH).service
    reply = service.start("each", {"items": [HOSTILE, *map(str, range(119))]}, actor="an agent")
    run, found = reply["workflow_id"], children(reply)
    service.submit(found[1], "look", OK)
    service.submit(found[2], "look", {"error": "broken"})
    with serving(project.root) as served:
        tab = open_tab(served, f"/runs/{run}/children")
        expect(tab.locator("tr[data-row]")).to_have_count(100)
        expect(tab.locator("tr[data-row]").first).to_contain_text("<b>bold</b> ⟨U+202E⟩gnp.exe")
        is_refused(tab, "**/family?*after=*", "More")
        expect(tab.locator("tr[data-row]")).to_have_count(100)
        tab.get_by_role("button", name="More", exact=True).click()
        # A hundred at a time, and two have ended.
        expect(tab.locator("tr[data-row]")).to_have_count(102)
        expect(tab.get_by_role("alert")).to_have_count(0)
        # What was loaded stays when something happens.
        expect(tab.get_by_role("img", name="live", exact=True)).to_be_visible()
        service.submit(found[50], "look", OK)
        expect(tab.locator("tr[data-row]").nth(50)).to_contain_text("completed")
        expect(tab.locator("tr[data-row]")).to_have_count(102)
        tab.get_by_role("button", name="completed 2").click()
        expect(tab.locator("tr[data-row]")).to_have_count(2)
        tab.get_by_role("button", name="completed 2").click()
        expect(tab.locator("tr[data-row]")).to_have_count(100)
        tab.locator("tr[data-row] a").nth(1).click()
        expect(tab.get_by_role("heading", level=1)).to_contain_text("one")
        expect(tab.locator(".crumbs")).to_contain_text("each")
        tab.close()


def test_a_person_hands_in_downloads_exports_and_starts_again(
    project: Box, open_tab: Opened, tmp_path: Path
) -> None:
    # A refused download, and inputs of the wrong type.
    open_tab.expected.extend(("status of 503", "status of 400"))  # type: ignore[attr-defined]
    service = project.compile(LARGE).service
    run = str(service.start("large", {"note": "n" * 2000}, actor="somebody, cli")["workflow_id"])
    with serving(project.root) as served:
        tab = open_tab(served, f"/runs/{run}/history")
        expect(tab.locator(".run-head")).to_contain_text("by somebody, cli")
        tab.get_by_label("Your name").fill("Ada")
        tab.get_by_label("Your name").blur()
        # What was opened stays open when rows move down.
        tab.locator(".events summary").click()
        expect(tab.locator(".events details[open] pre")).to_contain_text("note")
        tab.get_by_text("Hand in a result for the agent").click()
        tab.get_by_label("Result as JSON").or_(tab.get_by_label("exit_code")).first.wait_for()
        service.submit(run, "read", {"error": "broken"})
        expect(tab.locator(".events li")).to_have_count(2)
        expect(tab.locator(".events details[open] .seq")).to_have_text("1")
        tab.get_by_label("Only failures").check()
        expect(tab.locator(".events li")).to_have_count(1)
        expect(tab.locator(".events li")).to_contain_text("read")
        tab.get_by_label("Only failures").uncheck()
        expect(tab.locator(".events li")).to_have_count(2)
        wait_until(lambda: service.status(run)["action"]["step_id"].startswith("read"))
        big = {**OK, "stdout": "x" * 50_000}
        service.submit(run, service.status(run)["action"]["step_id"], big)
        _hand_in(tab)
        wait_until(lambda: service.status(run)["status"] == "completed")
        actors = [one.get("actor") for one in service.history(run)["events"]]
        assert actors[-1] == "person:Ada, page, for the agent"
        tab.get_by_role("link", name="state").click()
        is_refused(tab, "**/state/text*", "Download")
        with tab.expect_download() as saved:
            tab.get_by_role("button", name="Download").click()
        saved.value.save_as(tmp_path / "value.json")
        assert json.loads((tmp_path / "value.json").read_text("utf-8")) == big
        is_refused_action(tab, "**/export", "Export")
        with tab.expect_download() as saved:
            tab.get_by_role("button", name="Export").click()
        saved.value.save_as(tmp_path / "run.json")
        assert run in (tmp_path / "run.json").read_text("utf-8")
        tab.get_by_role("button", name="Start again…").click()
        inputs = tab.get_by_label("Inputs")
        expect(inputs).to_have_value(json.dumps({"note": "n" * 2000}, indent=2))
        inputs.fill('{"note": 1}')
        tab.get_by_role("button", name="Start", exact=True).click()
        expect(tab.locator(".ask .notice.is-failed")).to_contain_text("note")
        inputs.fill('{"note": "again"}')
        tab.get_by_role("button", name="Start", exact=True).click()
        expect(tab.locator(".run-head")).to_contain_text("by person:Ada, page")
        assert run not in tab.url
        tab.close()


def _hand_in(tab: Tab) -> None:
    expect(tab.locator("section.now")).to_contain_text("more")
    box = tab.locator("section.now details")
    if box.get_attribute("open") is None:
        tab.get_by_text("Hand in a result for the agent").click()
    if tab.get_by_label("Result as JSON").count():
        tab.get_by_label("Result as JSON").fill(json.dumps(OK))
    else:
        tab.locator("section.now").get_by_label("stdout").fill("fine")
        tab.locator("section.now").get_by_label("stderr").fill("")
        tab.locator("section.now").get_by_label("exit_code").fill("0")
    tab.get_by_role("button", name="Submit").click()


def is_refused_action(tab: Tab, pattern: str, button: str) -> None:
    refuse(tab, pattern)
    tab.get_by_role("button", name=button, exact=True).click()
    expect(tab.locator(".notice.is-failed", has_text="the store is busy").first).to_be_visible()
    tab.unroute(pattern)


def test_the_chart_is_zoomed_idle_time_is_folded_and_late_steps_are_marked(
    project: Box, open_tab: Opened
) -> None:
    service = project.compile(SLOW).service
    project.clock.now -= 8 * 3600
    run = str(service.start("slow")["workflow_id"])
    project.clock.now += 3
    service.submit(run, "build", OK)
    project.clock.now += 4 * 3600
    service.submit(run, "agree", {"confirmed": True})
    project.clock.now += 4 * 3600
    with serving(project.root) as served:
        tab = open_tab(served, f"/runs/{run}")
        chart = tab.locator("svg.chart")
        expect(chart).to_be_visible()

        def width() -> float:
            return float(chart.get_attribute("width") or 0)

        tab.get_by_role("button", name="100 %").click()
        whole = width()
        tab.get_by_role("button", name="Larger").click()
        assert width() == pytest.approx(whole * 1.25, abs=1)
        tab.get_by_role("button", name="Smaller").click()
        assert width() == pytest.approx(whole, abs=1)
        tab.locator("#chart").focus()
        for key, factor in (("+", 1.25), ("-", 1), ("-", 0.8), ("0", 1)):
            tab.keyboard.press(key)
            assert width() == pytest.approx(whole * factor, abs=1.5)
        for _ in range(5):
            tab.keyboard.press("+")
        tab.get_by_role("button", name="Fit").click()
        assert width() <= tab.locator("#chart").evaluate("one => one.clientWidth")
        expect(tab.get_by_text("Idle stretches are folded: 4 h 0 min, 4 h 0 min.")).to_be_visible()
        assert tab.locator(".axis text").all_text_contents() == ["4 h", "4 h"]
        # Three seconds beside eight hours are seen.
        first = tab.locator("table.timeline tbody tr").first.locator(".track")
        assert float(first.get_attribute("width") or 0) > 100
        expect(tab.locator("table.timeline tbody tr").last).to_contain_text("overdue")
        expect(tab.locator("section.now .is-late")).to_contain_text("overdue by")
        tab.goto(f"{served.address}/runs")
        expect(tab.locator("tr[data-row] .is-late")).to_have_text("overdue")
        tab.close()


def test_the_chart_of_a_workflow_is_zoomed_and_leads_to_lines_of_its_source(
    project: Box, served: Page, open_tab: Opened
) -> None:
    folder = project.root / "workflows"
    folder.mkdir()
    (folder / "asks.yaml").write_text(ASK, encoding="utf-8")
    tab = open_tab(served, "/workflows/asks")
    chart = tab.locator("svg.chart")
    before = chart.bounding_box()
    tab.get_by_role("button", name="Larger").click()
    after = chart.bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] > before["width"]
    tab.locator(".node[data-state=agree]").click()
    expect(tab.locator(".source tr.chosen")).to_contain_text("id: agree")
    expect(tab.locator(".node.chosen")).to_have_attribute("data-state", "agree")


def test_at_twice_the_size_nothing_is_cut_and_less_motion_means_none(
    project: Box, served: Page, open_tab: Opened
) -> None:
    run = waiting(project)
    # 1,280 pixels at 200 % are 640 of the page.
    zoomed: dict[str, Any] = {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2}
    tab = open_tab(served, **zoomed, reduced_motion="reduce")
    tab.context.add_init_script(NOT_LIVE)
    tab.context.route("**/api/changes*", lambda route: None)
    for path in ("/", "/runs", f"/runs/{run}", f"/runs/{run}/state", "/workflows", "/workflows/asks"):
        tab.goto(f"{served.address}{path}")
        expect(tab.get_by_role("heading", level=1)).to_be_visible()
        expect(tab.get_by_text("Loading…")).to_have_count(0)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 640, path
    expect(tab.get_by_role("img", name="connecting", exact=True)).to_be_visible()
    assert tab.evaluate("document.getAnimations().length") == 0
    tab.emulate_media(reduced_motion="no-preference")
    assert tab.evaluate("document.getAnimations().length") == 1


def test_hostile_text_of_256_kib_in_every_field_breaks_nothing(project: Box, open_tab: Opened) -> None:
    """In each field as much as it takes: without a space to break at, with every kind of markup, on a narrow screen."""
    # With the escapes of JSON just below the 256 KiB that inputs and results may have.
    long = (HOSTILE.replace(" ", "") * 4000)[:240_000]
    text = steps(
        "{id: look, type: shell, command: make, output_to: out}",
        "{id: ask, type: prompt, prompt_type: text, needs_state: [out], message: '{{ inputs.text }}', output_to: said}",
        "{id: bad, type: fail, needs_state: [said], message: '{{ state.said.input }}'}",
        name="hostile",
        head="description: '"
        + HOSTILE.replace("'", "") * 20
        + "'\ninputs:\n  text: {type: string, required: true}",
    )
    service = project.compile(text).service
    run = service.start("hostile", {"text": long}, actor=long)["workflow_id"]
    narrow: dict[str, Any] = {"viewport": {"width": 400, "height": 800}}
    with serving(project.root) as served:
        tab = open_tab(served, f"/runs/{run}", **narrow)

        def is_sound(path: str) -> None:
            tab.goto(f"{served.address}{path}")
            expect(tab.get_by_role("heading", level=1)).to_be_visible()
            expect(tab.get_by_text("Loading…")).to_have_count(0)
            assert tab.evaluate("document.documentElement.scrollWidth") <= 400, path
            assert tab.locator("img[src='x'], main b").count() == 0, path
            assert "owned" not in tab.title()

        is_sound(f"/runs/{run}")
        service.submit(run, "look", {**OK, "stdout": long}, actor=long)
        is_sound("/")
        expect(tab.locator(".message")).to_contain_text("more characters")
        tab.get_by_label("Your answer", exact=True).fill(long)
        tab.get_by_role("button", name="Submit").click()
        wait_until(lambda: service.status(run)["status"] == "failed")
        assert service.status(run)["error"]["step_id"] == "bad"
        for view in ("timeline", "journal", "history", "state", "source"):
            is_sound(f"/runs/{run}/{view}")
        expect(tab.get_by_role("heading", name="Failed", exact=True)).to_be_visible()
        is_sound(f"/runs/{run}/history")
        for place in range(tab.locator(".events summary").count()):
            tab.locator(".events summary").nth(place).click()
        assert tab.evaluate("document.documentElement.scrollWidth") <= 400
        assert tab.locator("img[src='x'], main b").count() == 0
        for path in ("/runs", "/workflows", "/workflows/hostile"):
            is_sound(path)
        tab.goto(f"{served.address}/runs/{'<b>' * 1000}")
        expect(tab.get_by_role("alert")).to_be_visible()
        open_tab.expected.extend(("status of 400", "status of 404"))  # type: ignore[attr-defined]
        assert tab.evaluate("document.documentElement.scrollWidth") <= 400
        tab.close()


def test_a_step_for_a_server_is_not_said_to_be_the_agents(project: Box, open_tab: Opened) -> None:
    text = steps(
        "{id: build, type: shell, command: make, runner: server}",
        "{id: look, type: shell, command: make}",
        name="served",
    )
    service = project.compile(text).service
    run = str(service.start("served")["workflow_id"])
    with serving(project.root) as served:
        tab = open_tab(served, f"/runs/{run}")
        expect(tab.locator("section.now")).to_contain_text("A server does this")
        service.submit(run, "build", OK)
        expect(tab.locator("section.now")).to_contain_text("The agent does this.")
        tab.close()
