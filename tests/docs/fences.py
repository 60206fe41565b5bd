"""The fences of the pages, and which test holds each: one that no test knows fails the build."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT

DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
_MARK = re.compile(r"^ *(`{3,}|~{3,})(.*)$")


@dataclass(frozen=True)
class Fence:
    page: str
    """Its path in the project."""
    line: int
    language: str
    title: str
    """The file that it shows, where a page that is run from top to bottom says so."""
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def fences(path: Path) -> Iterator[Fence]:
    """Every fence of a page, of whatever language and indentation."""
    page = str(path.relative_to(ROOT))
    opened: tuple[int, str, str] | None = None
    body: list[str] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(keepends=True), 1):
        mark = _MARK.match(line.rstrip("\n"))
        if opened is None and mark:
            opened, body = (number, mark[1], mark[2].strip()), []
        elif opened and mark and mark[1] == opened[1] and not mark[2].strip():
            language, _, title = opened[2].partition(" title=")
            yield Fence(page, opened[0], language, title, "".join(body))
            opened = None
        else:
            body.append(line)
    assert opened is None, f"{page}:{opened and opened[0]}: the fence is not closed"


FENCES = {path.relative_to(ROOT).as_posix(): list(fences(path)) for path in PAGES}
HELD: dict[Fence, str] = {}
"""Each fence that a test looks at, and the name of the test."""


def fence_of(page: str, opening: str) -> Fence:
    """The one fence of a page that begins so."""
    found = [fence for fence in FENCES[page] if fence.text.startswith(opening)]
    assert len(found) == 1, f"{page} has {len(found)} fences that begin with {opening!r}"
    return found[0]


def holds(*wanted: tuple[str, str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a test the texts of the fences (page and how it begins) that it sees to, as `texts`."""
    found = [fence_of(*one) for one in wanted]

    def hold(test: Callable[..., Any]) -> Callable[..., Any]:
        HELD.update(dict.fromkeys(found, test.__name__))
        texts = [fence.text for fence in found]
        return pytest.mark.parametrize("texts", [texts], ids=[" ".join(map(str, found))])(test)

    return hold
