"""The documentation is true: what it shows was printed by the commands it names. UPDATE=1 rewrites what is stale."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.page import Page
from tests.support import ROOT

DOCS = ROOT / "docs"
UPDATE = bool(os.environ.get("UPDATE"))
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
LIBRARY = sorted((DOCS / "library").glob("*.md"))
RUN = [path for path in PAGES if "```console" in path.read_text(encoding="utf-8")]


def made(*which: str) -> dict[str, str]:
    """In a process of its own: other tests add step types and rules to those of theirs."""
    command = [sys.executable, DOCS / "build.py", "--json", *which]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_pages_made_from_the_code_are_up_to_date() -> None:
    assert_current(made())


def test_pages_and_pictures_of_the_library_are_up_to_date_and_there_are_no_others() -> None:
    found = made("library")
    there = {f"library/{path.name}" for path in (DOCS / "library").iterdir()}
    assert {name for name in found if name != "gallery.md"} == there
    assert_current(found)


def assert_current(found: dict[str, str]) -> None:
    stale = []
    for name, text in found.items():
        path = DOCS / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if UPDATE:
                path.write_text(text, encoding="utf-8")
    assert UPDATE or not stale, f"stale: {', '.join(stale)}; run `make docs`"


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.name)
def test_every_command_of_a_page_prints_what_the_page_shows(path: Path, tmp_path: Path) -> None:
    page = Page(path)
    page.run(tmp_path, update=UPDATE)
    assert page.stale == [], "\n\n".join(page.stale)


def test_the_gallery_shows_every_workflow_of_the_library_and_their_pages_link_to_what_is_there() -> None:
    gallery = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert len(LIBRARY) >= 40
    for path in LIBRARY:
        assert f'<a href="library/{path.name}"><img src="library/{path.stem}.svg"' in gallery
        assert path.with_suffix(".svg").is_file()
        test_every_link_leads_somewhere(path)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_link_leads_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE
    )
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        file, _, anchor = target.partition("#")
        assert not file or (path.parent / file).exists(), f"{path.name} links to {target}"
        assert file or anchor in anchors, f"{path.name} links to {target}"
