"""Suggestions, of which there are only so many."""

from __future__ import annotations

from tests.counting import calls_of
from wfc.rules.bad_agent import near_agent
from wfc.rules.shared.nearest import Nearest


def test_the_nearest_name_is_suggested() -> None:
    names = Nearest(["build", "deploy", "run-tests"])
    assert names.to("biuld") == "build"
    assert names.hint("run_tests") == "did you mean `run-tests`?"
    assert names.to("zzz") is None
    assert names.hint("zzz") == "there is `build`, `deploy`, `run-tests`"
    assert Nearest([]).hint("zzz") == ""


def test_a_thousand_wrong_names_do_not_cost_a_thousand_searches() -> None:
    def work(wrong: int) -> int:
        names = Nearest(f"step-number-{number}" for number in range(1000))
        found: list[str | None] = []
        calls = calls_of(lambda: found.extend(names.to(f"stpe-nmuber-{number}x") for number in range(wrong)))
        assert found[0]
        assert found[-1] is None
        return calls

    assert work(1000) < 1.5 * work(20)


def test_an_agents_name_is_mended_as_far_as_it_can_be() -> None:
    assert near_agent("@Data_X") == "@data-x"
    assert near_agent("planReviewer") == "@plan-reviewer"
    assert near_agent("  @@ code reviewer!") == "@code-reviewer"
    assert near_agent("@") is None
    assert near_agent("日本") is None
