"""Fixes over all we have: the cases of the checks, mutants of our workflows, and workflows edited at random."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.errors.test_errors import CASES, FIXED, files_of, findings
from tests.mutation.catching import findings_in, one_of_each
from tests.mutation.seeding import Mutant
from tests.property.fixing import broken_promises
from tests.property.mutations import mutated_texts, mutated_trees
from tests.support import check
from wfc.findings import Diagnostic
from wfc.suppress import apply_fixes

few = settings(max_examples=settings.default.max_examples // 2 or 1)
BAD = [
    case
    for case in CASES
    if case.name.startswith("bad") and "latin1" not in case.name and not (case / "generated").is_dir()
]


@pytest.mark.parametrize("case", BAD, ids=lambda case: f"{case.parent.name}-{case.stem}")
def test_the_fixes_of_a_case_keep_their_promises(case: Path) -> None:
    file = files_of(case)[0]

    def look(text: str) -> list[Diagnostic]:
        return [found for found in findings(case, text) if found.path == file.name]

    assert broken_promises(file.read_bytes().decode(), look) == []


@pytest.mark.parametrize("mutant", one_of_each(), ids=lambda mutant: mutant.mistake.name)
def test_the_fixes_of_a_mutant_keep_their_promises(mutant: Mutant) -> None:
    original, look = findings_in(mutant.file)
    assert broken_promises(mutant.text(original), look) == []


@few
@given(mutated_texts())
def test_the_fixes_of_an_edited_text_keep_their_promises(text: str) -> None:
    assert broken_promises(text, check) == []


@few
@given(mutated_trees())
def test_the_fixes_of_an_edited_tree_keep_their_promises(text: str) -> None:
    assert broken_promises(text, check) == []


@pytest.mark.parametrize("case", FIXED, ids=lambda case: f"{case.parent.name}-{case.stem}")
def test_a_file_with_other_line_breaks_is_fixed_in_the_same_way(case: Path) -> None:
    file = files_of(case)[0]
    text = file.read_bytes().decode()
    if "\r\n" in text:
        return

    def fixed(before: str) -> str:
        mine = [found for found in findings(case, before) if found.path == file.name]
        return apply_fixes(before, mine, unsafe=True)[0]

    assert fixed(text.replace("\n", "\r\n")) == fixed(text).replace("\n", "\r\n")
