"""Which regular expressions let nothing through that a shell would act on."""

from __future__ import annotations

import pytest

from wfc.analysis.taint.policy import IN_PATH, IN_SHELL


@pytest.mark.parametrize(
    "pattern",
    [
        "^[a-z][a-z0-9-]*$",
        r"^\d+\.\d+\.\d+$",
        "^(main|dev)$",
        r"^v\d{1,3}(?:-rc\d+)?$",
        r"^[\w./-]+$",
        "^@[a-z]+$",
    ],
)
def test_a_pattern_of_plain_characters_from_beginning_to_end_is_safe(pattern: str) -> None:
    assert IN_SHELL.is_safe(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "[a-z]+",
        "^[a-z]+",
        "[a-z]+$",
        "^.+$",
        "^[^;]+$",
        r"^\S+$",
        "^a b$",
        "^a|b$",
        "^(a|b$",
        r"^[a-z;]+$",
        r"^[\s\w]+$",
        r"^\d+\$",
        "^[a-z]+(?=;)$",
        # A range lets through what lies between its ends.
        "^[,-z]+$",
        "^[%-9]+$",
        "",
        None,
        3,
    ],
)
def test_a_pattern_that_leaves_room_for_more_is_not(pattern: object) -> None:
    assert not IN_SHELL.is_safe(pattern)


def test_what_a_search_picks_is_judged_by_its_groups() -> None:
    assert IN_SHELL.picks_safe(r"Score: (\d+)")
    assert IN_SHELL.picks_safe(r"\d+")
    assert IN_SHELL.picks_safe("red|green")
    assert not IN_SHELL.picks_safe("Name: (.*)")
    assert not IN_SHELL.picks_safe(r"((\d+) .*)")
    assert not IN_SHELL.picks_safe(".*")
    assert not IN_SHELL.picks_safe(None)


def test_replacing_all_but_plain_characters_leaves_those() -> None:
    assert IN_SHELL.strips("[^a-z0-9-]", "-")
    assert IN_SHELL.strips("[^A-Za-z0-9_]+", "")
    assert not IN_SHELL.strips("[^a-z ]", "-")
    assert not IN_SHELL.strips("[^a-z]", ";")
    assert not IN_SHELL.strips("[a-z]", "")
    assert not IN_SHELL.strips("[^a-z]", None)
    assert not IN_SHELL.strips("[^,-z]", "")


@pytest.mark.parametrize(
    "pattern",
    [
        "^[a-z0-9-]+$",
        r"^\d+\.\d+\.\d+$",
        r"^[a-z][a-z0-9.-]*$",
        r"^\w+(\.\w+)*$",
        "^(main|dev)$",
        "^[0-9A-F]{2,8}$",
    ],
)
def test_a_pattern_that_stays_within_one_part_of_a_path_is_safe_there(pattern: str) -> None:
    assert IN_PATH.is_safe(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[\w./-]+$",
        r"^[\w.]+$",
        r"^\.+$",
        r"^\.?\.?$",
        r"^a\/b$",
        "^[a-z]+/[a-z]+$",
        "^(a/b|c)$",
        "^[+-9]+$",
        "^[a-z.]{1,2}$",
        "^.+$",
        "[a-z]+",
        None,
    ],
)
def test_a_pattern_that_lets_a_value_lead_elsewhere_is_not(pattern: object) -> None:
    assert not IN_PATH.is_safe(pattern)


def test_what_is_picked_or_left_is_judged_by_where_it_stands() -> None:
    assert IN_PATH.picks_safe(r"(\d+)\.md")
    assert not IN_PATH.picks_safe(r"name: ([\w.]+)")
    assert not IN_PATH.picks_safe(r"[\w/]+")
    assert IN_PATH.strips("[^A-Za-z0-9_-]", "-")
    assert IN_PATH.strips(r"[^\w-]+", "")
    # Dots that are left may be all that is left.
    assert not IN_PATH.strips("[^a-z.]", "-")
    assert not IN_PATH.strips("[^a-z]", ".")
    assert not IN_PATH.strips("[^a-z]", "/")
    assert not IN_PATH.strips("[^a-z/]", "")
    assert not IN_PATH.strips("[^+-9]", "")
