"""Which checks offer a fix, and of what kind: once shipped, people rely on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.errors.test_errors import FIXED, files_of, findings
from wfc.rules import BY_CODE, RULES

SAFE = ["WF002", "WF003", "WF005", "WF012", "WF209", "WF211", "WF216", "WF301", "WF302", "WF704"]
UNSAFE = [
    *("WF004", "WF006", "WF007", "WF009"),
    *("WF102", "WF103", "WF104", "WF106", "WF109", "WF111", "WF112"),
    *("WF113", "WF115", "WF118", "WF202", "WF203", "WF204", "WF206", "WF210", "WF213"),
    *("WF221", "WF222", "WF223"),
    *("WF303", "WF306", "WF307", "WF309", "WF316", "WF318"),
    *("WF401", "WF410", "WF412"),
    *("WF501", "WF502", "WF503", "WF505", "WF510"),
]
# A module that is out of date (WF701) is compiled again by `wfc compile`: nothing in the workflow is wrong.


def test_the_checks_that_should_offer_a_fix_are_the_ones_that_do() -> None:
    assert [rule.code for rule in RULES if rule.fix == "safe"] == SAFE
    assert [rule.code for rule in RULES if rule.fix == "unsafe"] == UNSAFE


@pytest.mark.parametrize("code", [*SAFE, *UNSAFE])
def test_a_case_shows_the_fix_with_the_safety_that_its_page_states(code: str) -> None:
    cases = [case for case in FIXED if case.parent.name == code]
    fixes = [found.fix for case in cases for found in findings(case) if found.code == code and found.fix]
    assert {fix.safe for fix in fixes} >= {BY_CODE[code].fix == "safe"}
    if code in UNSAFE:
        assert not any(fix.safe for fix in fixes)


@pytest.mark.parametrize("case", FIXED, ids=lambda case: f"{case.parent.name}-{case.stem}")
def test_a_fix_of_a_case_changes_only_the_file_that_it_is_about(case: Path) -> None:
    names = {file.name for file in files_of(case)}
    for found in findings(case):
        for edit in found.fix.edits if found.fix else ():
            assert edit.span.source.path in names
            assert edit.text != edit.span.text
