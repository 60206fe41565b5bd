"""`wfc check --types`."""

from __future__ import annotations

from tests.e2e.command import wfc
from tests.support import ROOT


def test_it_shows_each_state_field_with_its_type_writers_and_readers() -> None:
    done = wfc("check", "--types", "workflows/interactive-planning.yaml", cwd=ROOT)
    assert done.status == 0
    line = next(line for line in done.out.splitlines() if "review_round" in line)
    assert "int" in line
    assert "count-review" in done.out
    assert "approve-plan" in done.out


def test_it_is_for_people_and_says_so_beside_another_format() -> None:
    done = wfc("check", "--types", "--format", "json", "workflows", cwd=ROOT)
    assert done.status == 2
    assert "--types requires --format text" in done.err
