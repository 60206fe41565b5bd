"""Workflows that were right once: whatever became of them, wfc says what is wrong and never falls over."""

from __future__ import annotations

from hypothesis import given

from tests.property.mutations import mutated_texts, mutated_trees
from tests.property.survival import survived


@given(mutated_texts())
def test_no_edit_of_its_text_makes_the_compiler_raise(text: str) -> None:
    result = survived(text)
    assert result.findings or result.modules


@given(mutated_trees())
def test_no_edit_of_its_tree_makes_the_compiler_raise(text: str) -> None:
    result = survived(text)
    assert result.findings or result.modules
