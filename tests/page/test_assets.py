"""What the browser gets: small, as written, and nothing from elsewhere."""

from __future__ import annotations

import gzip
import re
from hashlib import sha256
from pathlib import Path

import pytest

import wfc_runtime.page
from tests.page.support import Page

STATIC = Path(wfc_runtime.page.__file__).parent / "static"
LIT_HTML = "22115ca1002e4afc0dd2cb208f28d9c71a577a8989d4185028e26b29676e7842"
"""Of lit-html 3.3.3 as published, without its last line, which names a source map."""


def test_the_vendored_library_is_the_published_one() -> None:
    assert sha256((STATIC / "vendor" / "lit-html.js").read_bytes()).hexdigest() == LIT_HTML
    assert "BSD 3-Clause" in (STATIC / "vendor" / "lit-html.LICENSE.txt").read_text(encoding="utf-8")


def test_the_page_is_small() -> None:
    shipped = [path for path in STATIC.rglob("*") if path.suffix in (".html", ".js", ".css")]
    assert sum(len(gzip.compress(path.read_bytes())) for path in shipped) < 60_000


def test_nothing_of_the_page_is_inline_or_from_another_host() -> None:
    html = (STATIC / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=", html) == []
    for path in [*STATIC.glob("*.js"), STATIC / "page.css"]:
        text = path.read_text(encoding="utf-8")
        assert (
            re.findall(
                r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|unsafeHTML|style=", text
            )
            == []
        )
        assert [one for one in re.findall(r"https?://[^\s\"'`]+", text) if "www.w3.org" not in one] == []


def test_the_list_stands_after_few_requests() -> None:
    """The shell loads its views when they are needed: index, styles, shell, library and one view, then the data."""
    shell = (STATIC / "page.js").read_text(encoding="utf-8")
    assert re.findall(r'^import .* from "(.*)"', shell, re.MULTILINE) == ["./vendor/lit-html.js"]
    runs = (STATIC / "runs.js").read_text(encoding="utf-8")
    assert re.findall(r'^import .* from "(.*)"', runs, re.MULTILINE) == ["./page.js"]


@pytest.mark.parametrize(
    ("path", "view"),
    [
        ("/", "inbox.js"),
        ("/runs", "runs.js"),
        ("/runs/x", "run.js"),
        ("/runs/x/history", "run.js"),
        ("/workflows", "workflow.js"),
    ],
)
def test_the_shell_of_a_place_names_every_script_that_the_place_needs(
    page: Page, path: str, view: str
) -> None:
    _, _, body = page.send("GET", path)
    named = set(re.findall(r'rel="modulepreload" href="/static/([^"]+)"', body.decode()))
    assert view in named
    for script in ("page.js", *named):
        text = (STATIC / script).read_text(encoding="utf-8")
        imported = re.findall(r'^(?:import|\}) .*from "\./(.*)"', text, re.MULTILINE)
        assert {*imported} <= {*named, "page.js"}, script


def test_a_browser_that_has_a_file_gets_it_again_only_after_a_change(page: Page) -> None:
    for path in ("/runs", "/static/page.js", "/static/page.css"):
        _, headers, body = page.send("GET", path)
        assert body
        status, again, nothing = page.send("GET", path, headers={"If-None-Match": headers["etag"]})
        assert (status, again["etag"], nothing) == (304, headers["etag"], b"")
        status, _, whole = page.send("GET", path, headers={"If-None-Match": '"another"'})
        assert (status, whole) == (200, body)
