"""A mistake of each kind, and the rate over all: `test_every_place` holds the list against every mutant there is."""

from __future__ import annotations

from collections import Counter

from tests.mutation.catching import all_mutants, clean_findings, is_caught, one_of_each
from tests.mutation.misses import LISTED
from tests.mutation.seeding import MISTAKES

LEAST_RATE = 0.98


def test_the_originals_are_clean() -> None:
    assert clean_findings() == []


def test_every_kind_of_mistake_fits_somewhere() -> None:
    assert Counter(mutant.mistake.name for mutant in all_mutants()).keys() == MISTAKES.keys()
    assert len(MISTAKES) >= 15


def test_no_two_mutants_have_one_name_and_the_list_names_only_mutants() -> None:
    names = Counter(map(str, all_mutants()))
    assert [name for name, count in names.items() if count > 1] == []
    assert LISTED - names.keys() == set()


def test_at_least_98_percent_are_caught() -> None:
    assert 1 - len(LISTED) / len(all_mutants()) >= LEAST_RATE


def test_one_mistake_of_each_kind_is_caught() -> None:
    assert [str(mutant) for mutant in one_of_each() if not is_caught(mutant)] == []
