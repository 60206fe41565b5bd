"""The page in a browser: gates are answered, changes are seen, and hostile text stays text."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

from playwright.sync_api import expect

from tests.browser.conftest import ASK, Opened
from tests.page.support import Page, serving
from tests.runtime.support import OK, Box, steps
from tests.support import wait_until
from wfc_runtime.service.journal_entries import Logged, Summary

HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\"> <b>bold</b> \u202egnp.exe ${7*7} {{ 7*7 }} </script>"
)


def waiting(project: Box) -> str:
    """A run that another process has started, and that asks."""
    run = str(project.service.start("asks", actor="an agent")["workflow_id"])
    project.service.submit(run, "build", OK)
    return run


def test_a_gate_answered_on_the_page_moves_a_run_of_another_process(
    project: Box, served: Page, open_tab: Opened
) -> None:
    run = waiting(project)
    tab = open_tab(served)
    tab.get_by_label("Your name").fill("Ada")
    tab.get_by_label("Your name").blur()
    expect(tab.locator(".message", has_text="Ship it?")).to_be_visible()
    expect(tab).to_have_title("(1) Inbox · wfc")
    tab.get_by_role("button", name="Yes").click()
    expect(tab.locator(".message", has_text="Under which name?")).to_be_visible()
    tab.get_by_label("Your answer", exact=True).fill("Ada's release")
    tab.get_by_role("button", name="Submit").click()
    wait_until(lambda: project.service.status(run)["status"] == "completed")
    assert project.service.status(run)["result"] == {"go": True, "name": "Ada's release"}
    events = project.service.history(run)["events"]
    assert [one["actor"] for one in events if one.get("step_id") == "agree"] == ["person:Ada, page"]


def test_what_happens_elsewhere_is_seen_without_a_reload(
    project: Box, served: Page, open_tab: Opened
) -> None:
    tab = open_tab(served)
    expect(tab.get_by_text("Nothing waits for you.")).to_be_visible()
    expect(tab.get_by_role("img", name="live", exact=True)).to_be_visible()
    run = waiting(project)
    expect(tab.locator(".message", has_text="Ship it?")).to_be_visible()
    expect(tab.locator("#said")).to_have_text("A run waits for you.")
    tab.goto(f"{served.address}/runs/{run}")
    expect(tab.locator(".node.now")).to_have_attribute("data-state", "agree")
    expect(tab.locator("h1")).to_contain_text("waits for you")
    project.service.submit(run, "agree", {"confirmed": False})
    expect(tab.locator(".node.now")).to_have_attribute("data-state", "label")
    expect(tab.locator("#said")).to_have_text("The run waits for you.")
    project.service.submit(run, "label", {"input": "x"})
    expect(tab.get_by_role("heading", name="Result")).to_be_visible()
    expect(tab.locator(".wire.taken")).to_have_count(5)


NOT_LIVE = "delete window.SharedWorker"


def test_a_page_without_live_updates_shows_what_its_own_answers_and_actions_did(
    project: Box, served: Page, open_tab: Opened
) -> None:
    """The stream may be late or lost. What a person does on the page must not wait for it."""
    run = waiting(project)
    tab = open_tab(served)
    tab.context.add_init_script(NOT_LIVE)
    tab.context.route("**/api/changes*", lambda route: None)
    tab.reload()
    tab.get_by_role("button", name="Yes").click()
    expect(tab.locator(".message", has_text="Under which name?")).to_be_visible()
    project.service.submit(run, "label", {"error": "nobody is there"})
    tab.goto(f"{served.address}/runs/{run}")
    tab.get_by_role("combobox", name="Show").select_option("range")
    tab.get_by_role("combobox", name="From").select_option("label")
    tab.get_by_role("button", name="Retry…").click()
    tab.get_by_role("button", name="Retry", exact=True).click()
    expect(tab.locator("table.timeline tbody tr")).to_contain_text(["label", "label@2"])
    expect(tab.locator(".node.now")).to_have_attribute("data-state", "label")
    tab.get_by_label("Your answer", exact=True).fill("x")
    tab.get_by_role("button", name="Submit").click()
    expect(tab.get_by_role("heading", name="Result")).to_be_visible()
    expect(tab.get_by_role("img", name="connecting", exact=True)).to_be_visible()


def test_the_list_stands_after_eight_requests(project: Box, served: Page, open_tab: Opened) -> None:
    waiting(project)
    tab = open_tab(served)
    tab.context.add_init_script(
        "new MutationObserver((_, me) => { if (document.querySelector('tr[data-row]')) {"
        " me.disconnect(); window.stood = performance.now(); } }).observe(document, { childList: true, subtree: true })"
    )
    tab.goto(f"{served.address}/runs")
    expect(tab.get_by_role("img", name="live", exact=True)).to_be_visible()
    asked = tab.evaluate(
        "performance.getEntriesByType('resource').filter((one) => one.startTime <= window.stood).map((one) => one.name)"
    )
    # The document itself is the eighth.
    assert len([url for url in asked if url.startswith("http")]) <= 7, asked


def test_of_two_pages_that_answer_at_once_one_wins_and_the_other_is_told(
    project: Box, served: Page, open_tab: Opened
) -> None:
    run = waiting(project)
    first, second = open_tab(served, f"/runs/{run}"), open_tab(served, f"/runs/{run}")
    for tab in (first, second):
        expect(tab.get_by_role("button", name="No", exact=True)).to_be_visible()
    # The second page does not hear of the first answer before it gives its own.
    second.route("**/api/runs/*", lambda route: route.abort())
    first.get_by_role("button", name="Yes").click()
    wait_until(lambda: "label" in str(project.service.status(run)["action"]["step_id"]))
    status, reply = served.post(
        f"/api/runs/{run}/answer", {"step_id": "agree", "shown": "0" * 32, "result": {"confirmed": False}}
    )
    assert (status, reply["error"]["code"]) == (409, "answered")
    second.get_by_role("button", name="No", exact=True).click()
    expect(second.locator(".form").get_by_role("alert")).to_contain_text("has already been answered")
    second.unroute("**/api/runs/*")
    second.get_by_role("button", name="Look again").click()
    expect(second.locator(".message", has_text="Under which name?")).to_be_visible()
    assert project.service.history(run)["events"][2]["result"] == {"confirmed": True}
    open_tab.expected.append("net::ERR_FAILED")  # type: ignore[attr-defined]  # of the requests that are cut off here
    open_tab.expected.append("status of 409")  # type: ignore[attr-defined]


def test_what_follows_each_answer_is_shown_and_a_failed_run_is_retried(
    project: Box, served: Page, open_tab: Opened
) -> None:
    run = waiting(project)
    tab = open_tab(served, f"/runs/{run}")
    expect(tab.locator(".after li")).to_have_text(["Yes: goes on with label", "No: goes on with label"])
    project.service.submit(run, "agree", {"error": "nobody is there"})
    tab.get_by_role("button", name="Retry…").click()
    tab.get_by_role("button", name="Retry", exact=True).click()
    expect(tab.get_by_text("It goes on from the step that failed.")).to_be_visible()
    assert project.service.status(run)["action"]["step_id"] == "agree@2"
    tab.get_by_role("combobox", name="Show").select_option("range")
    tab.get_by_role("combobox", name="From").select_option("agree")
    expect(tab.locator("table.timeline tbody tr")).to_have_count(2)
    tab.get_by_role("combobox", name="To").select_option("agree")
    expect(tab.locator("table.timeline tbody tr")).to_have_count(1)
    # Only what applies now: there is no newer version.
    expect(tab.get_by_role("button", name="Migrate…")).to_have_count(0)
    tab.goto(f"{served.address}/workflows/asks")
    expect(tab.get_by_text("1 run in progress")).to_be_visible()


def test_a_draft_survives_an_update_and_a_reload(project: Box, served: Page, open_tab: Opened) -> None:
    run = waiting(project)
    project.service.submit(run, "agree", {"confirmed": True})
    tab = open_tab(served)
    tab.get_by_label("Your answer", exact=True).fill("half a thou")
    other = waiting(project)
    expect(tab.locator(".message", has_text="Ship it?")).to_be_visible()
    expect(tab.get_by_label("Your answer", exact=True)).to_have_value("half a thou")
    tab.reload()
    expect(tab.get_by_label("Your answer", exact=True)).to_have_value("half a thou")
    assert (
        project.service.status(run)["status"] == project.service.status(other)["status"] == "pending_action"
    )


def test_a_page_goes_on_when_its_server_was_killed_and_is_back(project: Box, open_tab: Opened) -> None:
    run = waiting(project)
    with serving(project.root, serve=True, forked=False) as first:
        tab = open_tab(first, f"/runs/{run}")
        expect(tab.get_by_role("img", name="live", exact=True)).to_be_visible()
        os.kill(first.process.pid, signal.SIGKILL)
        first.process.wait()
        expect(tab.get_by_role("img", name="not live since")).to_be_visible()
        expect(tab.locator(".lost")).to_contain_text("not live since")
    with serving(project.root, serve=True, port=first.port):
        expect(tab.get_by_role("img", name="live", exact=True)).to_be_visible()
        tab.get_by_role("button", name="Yes").click()
        expect(tab.locator(".message", has_text="Under which name?")).to_be_visible()
        tab.close()
    open_tab.said.clear()  # type: ignore[attr-defined]  # the browser reports each failed request


def test_a_place_that_was_chosen_while_the_server_was_away_is_shown_when_it_is_back(
    project: Box, open_tab: Opened
) -> None:
    """Its script was never loaded: the address must not be that of one place and the page that of another."""
    run = waiting(project)
    with serving(project.root, serve=True, forked=False) as first:
        tab = open_tab(first)
        expect(tab.get_by_role("img", name="live", exact=True)).to_be_visible()
        os.kill(first.process.pid, signal.SIGKILL)
        first.process.wait()
        expect(tab.locator(".lost")).to_be_visible()
        tab.get_by_role("link", name="Runs").click()
        expect(tab.get_by_role("alert")).to_contain_text("the server does not answer")
        expect(tab.locator(".gates")).to_have_count(0)
        expect(tab.get_by_role("button", name="Try again")).to_be_visible()
    with serving(project.root, serve=True, port=first.port):
        expect(tab.locator(f"tr[data-run='{run}']")).to_be_visible()
        tab.close()
    open_tab.said.clear()  # type: ignore[attr-defined]  # the browser reports each failed request


def test_eight_tabs_are_live_at_the_same_time(project: Box, served: Page, open_tab: Opened) -> None:
    first = open_tab(served)
    tabs = [first, *(open_tab(served, "/", first.context) for _ in range(7))]
    for tab in tabs:
        expect(tab.get_by_role("img", name="live", exact=True)).to_be_visible()
    waiting(project)
    for tab in tabs:
        expect(tab.locator(".message", has_text="Ship it?")).to_be_visible()


def test_hostile_text_stays_text_in_every_view(project: Box, open_tab: Opened) -> None:
    hostile = steps(
        "{id: look, type: shell, command: 'echo {{ inputs.text | shquote }}', output_to: out}",
        "{id: ask, type: prompt, prompt_type: choice, needs_state: [out], message: '{{ inputs.text }}',"
        " options: ['{{ inputs.text }}', no], output_to: said}",
        "{id: bad, type: set_state, needs_state: [said],"
        " updates: {n: '{{ 1 // (state.said.selected | length * 0) }}'}}",
        name="hostile",
        head="inputs:\n  text: {type: string, required: true}",
    )
    service = project.compile(hostile).service
    run = service.start("hostile", {"text": HOSTILE + "x" * 50_000}, actor=HOSTILE)["workflow_id"]
    service.submit(run, "look", {**OK, "stdout": HOSTILE * 3}, actor=HOSTILE)
    with serving(project.root) as served:
        tab = open_tab(served)
        expect(tab.get_by_text("<b>bold</b>").first).to_be_visible()
        tab.get_by_label("<b>bold</b>").first.check()
        tab.get_by_role("button", name="Submit").click()
        wait_until(lambda: service.status(run)["status"] == "failed")
        for view in ("timeline", "history", "state", "source"):
            tab.goto(f"{served.address}/runs/{run}/{view}")
            expect(tab.get_by_role("heading", name="Failed", exact=True)).to_be_visible()
        expect(tab.locator("mark")).to_be_visible()
        tab.goto(f"{served.address}/runs/{run}/history")
        tab.locator(".events summary").first.click()
        assert tab.locator("img[src='x'], main b").count() == 0
        assert "owned" not in tab.title()
        assert "\u202e" not in tab.locator("main").inner_text()
        for path in ("/runs", "/workflows/hostile"):
            tab.goto(f"{served.address}{path}")
            expect(tab.get_by_role("heading", level=1)).to_be_visible()
            assert tab.locator("img[src='x'], main b").count() == 0
        tab.close()


MISSION = """
name: mission
version: 1.0.0
proof: git
phases:
  - id: design
    number: 1
    name: Design it
    agents: [{type: architect, subagent_type: general-purpose, scope: [docs/], prompt: Design it.}]
    completion: all agents success
"""


def test_the_journal_shows_phases_tasks_and_entries_as_they_are_logged(
    project: Box, open_tab: Opened
) -> None:
    project.compile(MISSION)
    service = project.service
    run = str(service.start("mission")["workflow_id"])
    service.submit(run, "design-before", {"head": "", "status": ""})
    with serving(project.root) as page:
        tab = open_tab(page, f"/runs/{run}/journal")
        expect(tab.locator("tr", has_text="Design it")).to_contain_text("open")
        content = {"question": "Which store?", "chosen": HOSTILE, "reasoning": "One file."}
        service.log(Logged(run, "design", "decision", content))
        expect(tab.locator(".journal li")).to_have_count(1)
        expect(tab.locator(".journal li strong")).to_contain_text("<b>bold</b> ⟨U+202E⟩gnp.exe")
        tab.locator(".journal summary").click()
        expect(tab.get_by_text("One file.")).to_be_visible()
        expect(tab.locator(".journal li")).to_contain_text("design, architect")
        asked = {"description": "Which licence?", "requires_human": True}
        service.log(Logged(run, "design", "issue", asked))
        expect(tab.locator(".notice.is-failed")).to_have_text("Waits for a person: Which licence?")
        done = {"status": "success", "summary": "Written.", "files": ["docs/a.md"]}
        looked = {
            "changed": ["docs/a.md", "b.md"],
            "by_agent": {"architect": ["docs/a.md"]},
            "total": 2,
            "outside_scope": ["b.md"],
            "outside_total": 1,
            "proved": False,
        }
        service.submit(run, "design", done)
        service.submit(run, "design-changes", looked)
        expect(tab.locator("tr", has_text="Design it")).to_contain_text("1 outside the scopes: b.md")
        service.submit(run, "design-stop", {"selected": "go on"})
        service.log(Summary(run, "completed", "All done.", ["a page"]))
        tab.reload()
        expect(tab.locator(".notice.is-failed")).to_have_count(0)
        expect(tab.locator(".summary")).to_contain_text("All done.")
        expect(tab.locator("tr", has_text="Written.")).to_contain_text("success")
        # As of the first entry, the issue had not been logged.
        tab.locator(".journal summary").first.click()
        tab.get_by_role("link", name="The run as of this entry").click()
        expect(tab.locator(".journal li")).to_have_count(1)
        assert tab.title().startswith("mission")


def test_questions_have_labels_and_defaults(project: Box, open_tab: Opened) -> None:
    text = steps(
        "{id: setup, type: prompt, prompt_type: questions, message: Details., output_to: setup, questions: ["
        "{id: database, text: Which database?, choices: [{value: sqlite, label: SQLite, description: One file.}, pg],"
        " default: sqlite}, {id: owner, text: Who owns it?}, {id: note, text: Anything else?, required: false}]}",
        name="several",
    )
    service = project.compile(text).service
    run = service.start("several")["workflow_id"]
    with serving(project.root) as served:
        tab = open_tab(served, f"/runs/{run}")
        expect(tab.get_by_label("SQLite One file.")).to_be_checked()
        submit = tab.get_by_role("button", name="Submit")
        expect(submit).to_be_disabled()
        tab.get_by_label("Who owns it?").fill("me")
        submit.click()
        wait_until(lambda: service.status(run)["status"] == "completed")
        assert service.status(run)["result"]["setup"] == {"database": "sqlite", "owner": "me"}
        tab.close()


def test_the_slider_shows_the_run_as_it_was(project: Box, served: Page, open_tab: Opened) -> None:
    run = waiting(project)
    project.service.submit(run, "agree", {"confirmed": True})
    tab = open_tab(served, f"/runs/{run}/state")
    expect(tab.locator(".node.now")).to_have_attribute("data-state", "label")
    tab.get_by_role("slider").focus()
    tab.keyboard.press("ArrowLeft")
    expect(tab.locator(".node.now")).to_have_attribute("data-state", "agree")
    expect(tab).to_have_url(f"{served.address}/runs/{run}/state?at=2")
    expect(tab.locator(".fields tr.wrote")).to_contain_text("built")
    expect(tab.get_by_text("As of event 2 of 3.")).to_be_visible()
    # The timeline is as of then too: the gate had not been answered.
    tab.get_by_role("link", name="Timeline").click()
    expect(tab.locator("table.timeline tbody tr").last).to_contain_text("agree")
    expect(tab.locator("table.timeline tbody tr").last).to_contain_text("waits for a person")
    # Anywhere on the page, the keys step as on the slider.
    tab.get_by_role("heading", level=1).click()
    tab.keyboard.press("ArrowLeft")
    expect(tab.get_by_text("As of event 1 of 3.")).to_be_visible()
    tab.keyboard.press("ArrowRight")
    expect(tab.get_by_text("As of event 2 of 3.")).to_be_visible()
    tab.get_by_role("link", name="Back to now").click()
    expect(tab.locator(".node.now")).to_have_attribute("data-state", "label")
    # What is no event of the run is now.
    for odd in ("-1", "x", "1e3", "9" * 30, "0", "2.5"):
        tab.goto(f"{served.address}/runs/{run}?at={odd}")
        expect(tab.locator(".node.now")).to_have_attribute("data-state", "label")
        expect(tab.locator(".notice")).to_have_count(0)
    tab.goto(f"{served.address}/runs/{run}?at=999")
    expect(tab).to_have_url(f"{served.address}/runs/{run}")
    expect(tab.locator(".node.now")).to_have_attribute("data-state", "label")


def test_a_step_that_is_chosen_is_chosen_everywhere(project: Box, served: Page, open_tab: Opened) -> None:
    run = waiting(project)
    tab = open_tab(served, f"/runs/{run}")
    tab.locator(".node[data-state=build]").click()
    expect(tab).to_have_url(f"{served.address}/runs/{run}?step=build")
    expect(tab.locator(".timeline tr.chosen")).to_contain_text("build")
    tab.get_by_role("link", name="history").click()
    expect(tab.locator(".events li.chosen")).to_contain_text("build")


def test_a_run_is_cancelled_with_a_reason_and_the_refusal_of_a_second_time_is_shown(
    project: Box, served: Page, open_tab: Opened
) -> None:
    run = waiting(project)
    tab = open_tab(served, f"/runs/{run}")
    tab.get_by_role("button", name="Cancel…").click()
    tab.get_by_label("Reason").fill("not today")
    tab.get_by_role("button", name="Cancel the run").click()
    expect(tab.get_by_role("heading", name="Cancelled", exact=True)).to_be_visible()
    assert project.service.status(run)["reason"] == "not today"
    # The reason is of now, also while the chart is not.
    tab.goto(f"{served.address}/runs/{run}?at=1")
    expect(tab.get_by_role("heading", name="Cancelled, at event 3", exact=True)).to_be_visible()
    expect(tab.get_by_role("button", name="Cancel…")).to_have_count(0)


def test_a_read_only_page_has_no_buttons_that_change_anything(project: Box, open_tab: Opened) -> None:
    run = waiting(project)
    with serving(project.root, "--read-only") as served:
        tab = open_tab(served)
        expect(tab.locator(".message", has_text="Ship it?")).to_be_visible()
        expect(tab.get_by_role("button", name="Yes")).to_have_count(0)
        tab.goto(f"{served.address}/runs/{run}")
        expect(tab.locator(".message", has_text="Ship it?")).to_be_visible()
        expect(tab.get_by_text("read-only")).to_be_visible()
        expect(tab.get_by_role("button", name="Cancel…")).to_have_count(0)
        # A download changes nothing.
        expect(tab.get_by_role("button", name="Export")).to_be_visible()
        tab.close()


def test_a_link_opens_the_page_once_and_the_key_leaves_the_address(
    browser: Any, project: Box, open_tab: Opened
) -> None:
    with serving(project.root) as served:
        status, reply = served.post("/api/session", {"key": served.link})
        assert (status, reply["error"]["code"]) == (401, "link_used")
        context = browser.new_context()
        tab = context.new_page()
        tab.goto(f"{served.address}/#key={served.link}")
        expect(tab.get_by_text("This page needs a new link")).to_be_visible()
        assert "#key" not in tab.url
        context.close()


def test_a_tab_without_a_valid_key_goes_on_when_another_one_gets_it(
    project: Box, served: Page, open_tab: Opened
) -> None:
    open_tab.expected.append("status of 401")  # type: ignore[attr-defined]
    waiting(project)
    tab = open_tab(served)
    tab.evaluate("localStorage.setItem('wfc.key', 'of.another-server')")
    tab.reload()
    expect(tab.get_by_text("This page needs a new link")).to_be_visible()
    other = open_tab(served, "/runs", tab.context)
    other.evaluate(f"localStorage.setItem('wfc.key', '{served.key}')")
    expect(tab.locator(".message", has_text="Ship it?")).to_be_visible()


def test_keys_move_between_places_and_rows_but_never_answer(
    project: Box, served: Page, open_tab: Opened
) -> None:
    run = waiting(project)
    tab = open_tab(served)
    expect(tab.locator(".message", has_text="Ship it?")).to_be_visible()
    for key in ("y", "n", "Enter", "Space"):
        tab.keyboard.press(key)
    assert project.service.status(run)["action"]["step_id"] == "agree"
    tab.keyboard.press("g")
    tab.keyboard.press("r")
    expect(tab.get_by_role("heading", name="Runs", level=1)).to_be_visible()
    expect(tab.locator("tr[data-row]")).to_have_count(1)
    tab.keyboard.press("j")
    tab.keyboard.press("Enter")
    expect(tab).to_have_url(f"{served.address}/runs/{run}")
    tab.keyboard.press("?")
    expect(tab.get_by_role("heading", name="Keys")).to_be_visible()


def test_a_failure_names_its_step_what_failed_before_and_the_line(project: Box, open_tab: Opened) -> None:
    text = steps(
        "{id: read, type: shell, command: make, output_to: out, retry: {max_attempts: 2}}",
        "{id: sum, type: set_state, needs_state: [out], updates: {n: '{{ 1 // (state.out.exit_code * 0) }}'}}",
        name="fails",
        head="inputs:\n  key: {type: string, required: true, secret: true}\n  note: {type: string}",
    )
    project.compile(text)
    source = project.root / "workflows" / "fails.yaml"
    source.parent.mkdir()
    source.write_text(text, encoding="utf-8")
    service = project.service
    run = str(service.start("fails", {"key": "a-secret-of-mine", "note": "n"})["workflow_id"])
    service.submit(run, "read", {"error": "no such file"})
    service.submit(run, service.status(run)["action"]["step_id"], OK)
    with serving(project.root) as served:
        tab = open_tab(served, f"/runs/{run}")
        expect(tab.locator(".node.failed")).to_have_attribute("data-state", "sum")
        now = tab.locator("section.now")
        expect(now).to_contain_text("What failed before it")
        expect(now).to_contain_text("no such file")
        expect(now.locator("mark")).to_be_visible()
        expect(now.get_by_role("link", name="What was written before it")).to_be_visible()
        now.get_by_role("link", name="fails.yaml, line").click()
        expect(tab.get_by_role("group", name="Source")).to_be_visible()
        # Secrets are not kept: each is asked for in a field that hides it.
        tab.get_by_role("button", name="Start again…").click()
        expect(tab.get_by_label("Inputs")).to_have_value(json.dumps({"note": "n"}, indent=2))
        tab.get_by_label("key (hidden)").fill("another-secret")
        assert tab.get_by_label("key (hidden)").get_attribute("type") == "password"
        tab.get_by_role("button", name="Start", exact=True).click()
        expect(tab.locator(".node.now")).to_have_attribute("data-state", "read")
        assert "another-secret" not in json.dumps(tab.evaluate("({ ...localStorage })"))
        again = tab.url.rpartition("/")[2]
        assert service.status(again)["status"] == "pending_action"
        tab.close()


def test_a_hidden_tab_without_a_worker_still_hears_of_changes(
    project: Box, served: Page, open_tab: Opened
) -> None:
    tab = open_tab(served)
    tab.context.add_init_script(
        NOT_LIVE + "; Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' });"
        "const slow = window.setInterval; window.setInterval = (work) => slow(work, 50);"
    )
    tab.context.route("**/api/changes*", lambda route: route.abort())
    tab.reload()
    expect(tab.get_by_text("Nothing waits for you.")).to_be_visible()
    waiting(project)
    expect(tab.locator(".message", has_text="Ship it?")).to_be_visible()


def test_a_run_is_migrated_after_its_differences_were_shown(project: Box, open_tab: Opened) -> None:
    run = waiting(project)
    project.compile(ASK.replace("command: make", "command: make all"))
    with serving(project.root) as served:
        tab = open_tab(served, f"/runs/{run}")
        tab.get_by_role("button", name="Migrate…").click()
        expect(tab.locator(".ask")).to_contain_text("Steps that changed")
        tab.get_by_role("button", name="Migrate", exact=True).click()
        expect(tab.get_by_text("It goes on with the current version.")).to_be_visible()
        expect(tab.get_by_role("button", name="Migrate…")).to_have_count(0)
        tab.close()


def test_a_secret_that_a_person_types_is_hidden_and_never_kept(project: Box, open_tab: Opened) -> None:
    text = steps(
        "{id: ask, type: prompt, prompt_type: text, secret: true, message: 'The token?', output_to: token}",
        "{id: use, type: shell, needs_state: [token], command: 'echo {{ state.token.input | shquote }}'}",
        name="secretive",
    )
    service = project.compile(text).service
    run = service.start("secretive")["workflow_id"]
    with serving(project.root) as served:
        tab = open_tab(served)
        field = tab.get_by_label("Your answer (hidden)")
        field.fill("a-token-of-mine")
        assert field.get_attribute("type") == "password"
        # Enter in the field is no answer.
        field.press("Enter")
        assert "a-token-of-mine" not in json.dumps(tab.evaluate("({ ...localStorage })"))
        assert service.status(run)["action"]["step_id"] == "ask"
        tab.get_by_role("button", name="Submit").click()
        wait_until(lambda: service.status(run)["action"]["step_id"] == "use")
        for view in ("history", "state"):
            tab.goto(f"{served.address}/runs/{run}/{view}")
            expect(tab.get_by_text("Loading…")).to_have_count(0)
            assert "a-token-of-mine" not in tab.content()
        tab.close()


def test_defaults_of_a_form_are_shown_and_an_agents_empty_texts_are_results(
    project: Box, open_tab: Opened
) -> None:
    """What is submitted is what was shown: a default that is not visible would be an answer nobody gave."""
    text = steps(
        "{id: judge, type: delegate, agent: null, instructions: Judge., output_to: found, result_schema: {type: object,"
        " required: [fine, count, note], properties: {fine: {type: boolean, default: true},"
        " count: {type: integer, default: 3}, note: {type: string}}}}",
        name="judged",
    )
    service = project.compile(text).service
    run = service.start("judged")["workflow_id"]
    with serving(project.root) as served:
        tab = open_tab(served, f"/runs/{run}")
        tab.get_by_text("Hand in a result for the agent").click()
        expect(tab.get_by_label("fine")).to_be_checked()
        expect(tab.get_by_label("count")).to_have_value("3")
        tab.get_by_role("button", name="Submit").click()
        wait_until(lambda: service.status(run)["status"] == "completed")
        assert service.status(run)["result"]["found"] == {"fine": True, "count": 3, "note": ""}
        tab.close()
