"""Take the pictures of docs/page.md: `python docs/screenshots.py`, where chromium and playwright are installed.

Not part of `make docs`: the times and ids in them differ each time. Take them again when the page looks different.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, sync_playwright

from wfc_runtime.service import actions_of
from wfc_runtime.service.sqlite import SqliteService

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "page"
_INPUTS = {
    "service": "checkout-api",
    "alert": "Error rate above 5 percent",
    "probes": [{"label": "pods", "command": "kubectl get pods"}],
    "tracker": {"owner": "acme", "repo": "incidents"},
}
_FACTS = {
    "summary": "Pods restart since the last deploy.",
    "likely_cause": "Connection pool exhausted after 1.42.0",
    "confidence": "high",
    "advice": "Roll back to 1.41.3",
}
_DONE = {"stdout": "checkout-api-1 CrashLoopBackOff", "stderr": "", "exit_code": 0}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state.db"
        service = SqliteService.open(state, ROOT / "generated")
        run = _fill(service)
        command = [sys.executable, "-m", "wfc", "ui", "--no-open", "--port", "0", "--state", str(state)]
        server = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        try:
            assert server.stderr is not None
            link = re.search(r"(http://\S+)(/#key=\S+)", server.stderr.readline())
            assert link is not None
            _take(link[1], link[2], run)
        finally:
            server.terminate()
            server.wait()
            service.close()


def _fill(service: SqliteService) -> str:
    """Runs in several places; returns one that asks for a confirmation."""
    record = {
        "write-record": {"response": "# Impact"},
        "open-issue": {**_DONE, "stdout": "https://github.com/acme/incidents/issues/9"},
        "show-record": {"acknowledged": True},
    }
    _decided(service, "Close as false alarm", {"ask-reason": {"input": "A load test"}, **record})
    failing = service.start("raise-coverage", actor="wfc run")
    service.submit(failing["workflow_id"], failing["action"]["step_id"], {"error": "pytest is not installed"})
    _decided(service, "Scale out", {})
    service.start("interactive-planning", actor="claude-code, mcp")
    service.cancel(service.start("raise-coverage", actor="wfc run")["workflow_id"], "Started twice.")
    _decided(service, None, {})
    return _decided(service, "Roll back", {})


def _decided(service: SqliteService, choice: str | None, more: dict[str, Any]) -> str:
    run = str(service.start("incident-triage", _INPUTS, actor="claude-code, mcp")["workflow_id"])
    answers: dict[str, Any] = {"assess-facts": _FACTS, **more}
    if choice is not None:
        answers["choose-action"] = {"selected": choice}
    for child in actions_of(service.status(run))[0]["parameters"]["children"]:
        service.submit(child["workflow_id"], "probe-system", _DONE)
    while (waits := actions_of(service.status(run))) and waits[0]["step_id"] in answers:
        service.submit(run, waits[0]["step_id"], answers[waits[0]["step_id"]])
    return run


def _take(address: str, key: str, run: str) -> None:
    chromium = shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1160, "height": 740})
        first = context.new_page()
        first.goto(f"{address}{key}")
        first.get_by_label("Your name").fill("Mara")
        first.get_by_label("Your name").blur()
        first.locator(".gates > li").first.wait_for()
        first.locator(".live.is-live").wait_for()
        first.screenshot(path=PICTURES / "inbox.png")
        _shot(context, f"{address}/runs", "tr[data-row]", "runs")
        _shot(context, f"{address}/runs/{run}", ".node.now", "run")
        _shot(context, f"{address}/runs/{run}", ".node.now", "run-dark", "dark")
        _shot(context, f"{address}/workflows/incident-triage", "svg.chart", "workflow")
        browser.close()


def _shot(context: BrowserContext, address: str, wanted: str, name: str, theme: Any = "light") -> None:
    page = context.new_page()
    page.emulate_media(color_scheme=theme)
    page.goto(address)
    page.locator(wanted).first.wait_for()
    page.locator(".live.is-live").wait_for()
    # What follows each answer is asked for after the question.
    if name.startswith("run-") or name == "run":
        page.locator(".after li").first.wait_for()
    page.screenshot(path=PICTURES / f"{name}.png")
    page.close()


if __name__ == "__main__":
    main()
