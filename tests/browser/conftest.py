"""A real browser: Debian's chromium, driven by playwright. Nothing is downloaded."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.page.support import Page, serving
from tests.runtime.support import Box, steps
from tests.support import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext
    from playwright.sync_api import Page as Tab

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ASK = steps(
    "{id: build, type: shell, command: make, output_to: built}",
    "{id: agree, type: prompt, prompt_type: confirm, message: 'Ship it?', output_to: go}",
    "{id: label, type: prompt, prompt_type: text, message: 'Under which name?', output_to: named}",
    "{id: done, type: return, needs_state: [go, named], value: {go: '{{ state.go.confirmed }}',"
    " name: '{{ state.named.input }}'}}",
    name="asks",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/browser/"):
            item.add_marker(pytest.mark.browser)


# Not one per session: playwright's loop counts as running until it ends, and other tests call `asyncio.run`.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        if os.environ.get("WFC_BROWSER") == "required":
            pytest.fail("chromium is required here, and is not installed")
        pytest.skip("no chromium: `apt-get install chromium` to test the page in a browser")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE * 1000)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Box]:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    box = Box(tmp_path).compile(ASK)
    # The clock of the other process is the real one.
    box.clock.now = time.time()
    yield box
    box.close()


@pytest.fixture
def served(project: Box) -> Iterator[Page]:
    _ = project.service
    with serving(project.root) as found:
        yield found


Opened = Callable[..., "Tab"]


@pytest.fixture
def open_tab(browser: Browser) -> Iterator[Opened]:
    """Opens tabs with a key. Afterwards, none may have said anything on its console or asked another host."""
    contexts: list[BrowserContext] = []
    said: list[str] = []
    foreign: list[str] = []
    expected: list[str] = []

    def open_(page: Page, path: str = "/", context: BrowserContext | None = None, **options: Any) -> Tab:
        if context is None:
            context = browser.new_context(**options)
            context.set_default_timeout(PATIENCE * 1000)
            context.add_init_script(
                f"if (!localStorage.getItem('wfc.key')) localStorage.setItem('wfc.key', '{page.key}')"
            )
            contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        tab.on("pageerror", lambda error: said.append(f"error: {error}"))
        tab.on("request", lambda asked: foreign.append(asked.url) if not _is_own(asked.url, page) else None)
        tab.goto(f"{page.address}{path}")
        return tab

    open_.said = said  # type: ignore[attr-defined]  # for tests in which a server goes away
    open_.expected = expected  # type: ignore[attr-defined]  # the browser reports each request that a test refuses
    yield open_
    for context in contexts:
        context.close()
    assert [one for one in said if not any(words in one for words in expected)] == []
    assert foreign == []


def _is_own(url: str, page: Page) -> bool:
    return url.startswith((f"{page.address}/", "data:", "blob:"))
