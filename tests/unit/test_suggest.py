"""The nearest name."""

from __future__ import annotations

import pytest

from wfc.suggest import did_you_mean, nearest

FIELDS = ("command", "timeout", "needs_state", "output_to", "retry")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("comand", "command"),
        ("Command", "command"),
        ("needs-state", "needs_state"),
        ("NEEDS_STATE", "needs_state"),
        ("outputto", "output_to"),
        ("retrys", "retry"),
    ],
)
def test_the_nearest_name_is_found_through_typing_mistakes_case_and_dashes(written: str, meant: str) -> None:
    assert nearest(written, FIELDS) == meant


@pytest.mark.parametrize("written", ["", "x", "frobnicate", "\n", "✓"])
def test_a_name_like_no_other_has_no_nearest(written: str) -> None:
    assert nearest(written, FIELDS) is None


def test_nothing_is_near_when_nothing_is_known() -> None:
    assert nearest("command", ()) is None


def test_the_same_name_in_other_letters_is_nearer_than_a_similar_one() -> None:
    assert nearest("Build_All", ["build-al", "build-all"]) == "build-all"


def test_very_long_names_are_not_compared() -> None:
    assert nearest("command" * 100, ["command" * 100 + "s"]) is None


def test_help_names_the_nearest() -> None:
    assert did_you_mean("comand", FIELDS) == "did you mean `command`?"


def test_help_lists_what_there_is_when_nothing_is_near() -> None:
    assert did_you_mean("x", ["b", "a"]) == "available: `a`, `b`"


def test_help_lists_eight_names_at_most() -> None:
    assert did_you_mean("?", [f"n{number}" for number in range(20)]).endswith("`n15`, ...")


def test_help_is_empty_when_there_is_nothing_to_name() -> None:
    assert did_you_mean("x", []) == ""
