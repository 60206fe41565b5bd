"""Which regular expressions let nothing through that a shell would act on."""

from __future__ import annotations

import pytest

from wfc.taint.patterns import is_safe, picks_safe, strips


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
    assert is_safe(pattern)


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
        "",
        None,
        3,
    ],
)
def test_a_pattern_that_leaves_room_for_more_is_not(pattern: object) -> None:
    assert not is_safe(pattern)


def test_what_a_search_picks_is_judged_by_its_groups() -> None:
    assert picks_safe(r"Score: (\d+)")
    assert picks_safe(r"\d+")
    assert picks_safe("red|green")
    assert not picks_safe("Name: (.*)")
    assert not picks_safe(r"((\d+) .*)")
    assert not picks_safe(".*")
    assert not picks_safe(None)


def test_replacing_all_but_plain_characters_leaves_those() -> None:
    assert strips("[^a-z0-9-]", "-")
    assert strips("[^A-Za-z0-9_]+", "")
    assert not strips("[^a-z ]", "-")
    assert not strips("[^a-z]", ";")
    assert not strips("[a-z]", "")
    assert not strips("[^a-z]", None)
