"""The complete workflows of the specification, where it is at hand: each mistake is found at its line, nothing else is,
and what can be mended by itself leaves no error."""

from __future__ import annotations

import re

import pytest

from tests.support import ROOT, SETTLED, W, fixed, found_by, load
from wfc.checker import has_errors
from wfc.findings import Diagnostic, Severity

SPECIFICATION = ROOT.parent / "shared" / "seeds" / "000_08ba27c4e97dcc50.txt"
LINES = 2127
"""What follows is an older copy of the same document."""

EXPECTED = {
    "deploy-service": {
        "WF002": [1625],
        "WF302": [1615, 1623],
        "WF501": [1597, 1603, 1610],
    },
    "analyze-codebase": {
        "WF216": [1662],
        "WF406": [1709],
        "WF501": [1651, 1701],
        "WF502": [1653],
        "WF602": [1668],
    },
    "interactive-planning": {
        "WF002": [1758, 1889],
        "WF211": [1981],
        "WF218": [1787, 1788],
        "WF301": [1884, 1981],
        "WF302": [1793, 1859],
        "WF602": [1794],
    },
    "pr-automation": {
        "WF224": [2096],
        "WF406": [2096],
    },
}


def workflows() -> dict[str, tuple[int, str]]:
    """Each workflow by its name, with the line on which it begins."""
    text = "\n".join(SPECIFICATION.read_text(encoding="utf-8").split("\n")[:LINES])
    found = re.finditer(r'```yaml\n(name: "([\w-]+)".*?)```', text, re.S)
    return {match[2]: (text[: match.start(1)].count("\n") + 1, match[1]) for match in found}


def check(text: str) -> list[Diagnostic]:
    return found_by(SETTLED, load(text))


at_hand = pytest.mark.skipif(not SPECIFICATION.is_file(), reason="the specification is not at hand")


@at_hand
@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_wrong_with_it_is_found_at_its_line(name: str) -> None:
    start, text = workflows()[name]
    found: dict[str, list[int]] = {}
    for one in check(text):
        if one.severity is not Severity.INFO:
            found.setdefault(one.code, []).append(start + one.span.line - 1)
    assert found == EXPECTED[name]


@at_hand
@pytest.mark.parametrize("name", EXPECTED)
def test_fixed_it_has_no_error(name: str) -> None:
    _, text = workflows()[name]
    assert not has_errors(check(fixed(text, check).texts[W]))
