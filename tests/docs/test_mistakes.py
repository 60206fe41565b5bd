"""The table of typical mistakes: wfc finds every one of them, and the page says what it says."""

from __future__ import annotations

import sys

import pytest

from tests.support import ROOT

sys.path.insert(0, str(ROOT / "docs"))
from mistakes import MISTAKES, Mistake, finding_of, mistakes


def test_there_are_at_least_seventy() -> None:
    assert len(MISTAKES) >= 70
    assert len({(one.code, one.words) for one in MISTAKES}) == len(MISTAKES)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: f"{one.code}-{one.words.replace(' ', '-')}")
def test_a_typical_mistake_is_found(mistake: Mistake) -> None:
    found = finding_of(mistake)
    assert found is not None
    assert found.help or found.message


def test_the_page_is_made_of_them_and_shows_no_secret() -> None:
    page = "\n".join(mistakes()) + "\n"
    assert (ROOT / "docs" / "mistakes.md").read_text(encoding="utf-8") == page
    assert "p_A1b2" not in page
