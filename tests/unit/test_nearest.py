"""Suggestions, of which there are only so many."""

from __future__ import annotations

from wfc.rules.bad_agent import near_agent
from wfc.suggest import Nearest


def test_the_nearest_name_is_suggested() -> None:
    names = Nearest(["build", "deploy", "run-tests"])
    assert names.to("biuld") == "build"
    assert names.hint("run_tests") == "did you mean `run-tests`?"
    assert names.to("zzz") is None
    assert names.hint("zzz") == "available: `build`, `deploy`, `run-tests`"
    assert Nearest([]).hint("zzz") == ""


def test_an_agents_name_is_mended_as_far_as_it_can_be() -> None:
    assert near_agent("@Data_X") == "@data-x"
    assert near_agent("planReviewer") == "@plan-reviewer"
    assert near_agent("  @@ code reviewer!") == "@code-reviewer"
    assert near_agent("@") is None
    assert near_agent("日本") is None
