"""The complete workflows of the specification, where it is at hand: each mistake about types and data flow is
found at its line, and nothing else is."""

from __future__ import annotations

import re

import pytest

from tests.support import ROOT, check

SPECIFICATION = ROOT.parent / "shared" / "seeds" / "000_08ba27c4e97dcc50.txt"
LINES = 2127
"""What follows is an older copy of the same document."""

OURS = re.compile(r"WF2(0[6-9]|1\d)|WF30[45]|WF311")
EXPECTED = {
    "deploy-service": [],
    "analyze-codebase": [(1662, "WF216")],
    "interactive-planning": [(1787, "WF218"), (1788, "WF218"), (1981, "WF211")],
    "pr-automation": [(2096, "WF217")],
}


def workflows() -> dict[str, tuple[int, str]]:
    """Each workflow by its name, with the line on which it begins."""
    text = "\n".join(SPECIFICATION.read_text(encoding="utf-8").split("\n")[:LINES])
    found = re.finditer(r'```yaml\n(name: "([\w-]+)".*?)```', text, re.S)
    return {match[2]: (text[: match.start(1)].count("\n") + 1, match[1]) for match in found}


@pytest.mark.skipif(not SPECIFICATION.is_file(), reason="the specification is not at hand")
@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_wrong_with_it_is_found_at_its_line(name: str) -> None:
    start, text = workflows()[name]
    found = [(start + one.span.line - 1, one.code) for one in check(text) if OURS.fullmatch(one.code)]
    assert found == EXPECTED[name]
