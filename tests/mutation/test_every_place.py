"""Our workflows with a mistake seeded where it fits: the analyzer notices, or the list says why not."""

from __future__ import annotations

import pytest

from tests.mutation.catching import all_mutants, chosen_mutants, is_caught, meaning, originals
from tests.mutation.misses import LISTED
from tests.mutation.seeding import MISTAKES


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_is_caught_unless_the_list_says_why_not(name: str) -> None:
    mutants = chosen_mutants(name)
    missed = {str(mutant) for mutant in mutants if not is_caught(mutant)}
    assert missed == {str(mutant) for mutant in mutants} & LISTED


@pytest.mark.parametrize("file", originals())
def test_each_mutant_that_is_not_caught_says_something_else_than_the_original(file: str) -> None:
    """The others do because something is found in them: the originals are clean."""
    text = originals()[file].source.text
    mutants = [mutant for mutant in all_mutants() if mutant.file == file and str(mutant) in LISTED]
    assert [str(mutant) for mutant in mutants if meaning(mutant.text(text)) == meaning(text)] == []
