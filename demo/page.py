"""A gate answered on the live page: in a browser without a window, where chromium is there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from wfc_runtime.service.sqlite import SqliteService

ROOT = Path(__file__).parents[1]
_REQUEST = "Add rate limiting to our public API, without a new service."


def work_gate(folder: Path) -> None:
    """Start a run that asks a person, and answer it on the page."""
    state = folder / "page.db"
    service = SqliteService.open(state, ROOT / "generated")
    run = service.start("interactive-planning", {}, actor="demo")["workflow_id"]
    command = [sys.executable, "-m", "wfc", "ui", "--no-open", "--port", "0", "--state", str(state)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        print(f"$ wfc ui\n{said}", end="", flush=True)
        link = re.search(r"http://\S+", said)
        chromium = shutil.which("chromium")
        if link is None:
            raise SystemExit("the page did not start")
        if chromium is None or find_spec("playwright") is None:
            print("no chromium here: run `wfc ui` and open the link that it prints")
            return
        _answer(link[0], chromium)
        [event] = [one for one in service.history(run)["events"] if one.get("step_id") == "ask-request"]
        waits = service.status(run)["action"]["step_id"]
        print(f"answered in the browser by {event['actor']}; the run now waits in {waits}")
    finally:
        process.terminate()
        process.wait()
        service.close()


def _answer(link: str, chromium: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(link)
        page.get_by_label("Your name").fill("Ada")
        page.get_by_label("Your name").blur()
        print(f"the page asks: {page.locator('.message').inner_text()}")
        page.get_by_label("Your answer", exact=True).fill(_REQUEST)
        page.get_by_role("button", name="Submit").click()
        page.get_by_text("Answered.", exact=True).wait_for()
        browser.close()
