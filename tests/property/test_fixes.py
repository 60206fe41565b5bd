"""Fixes over all we have: the cases of the checks, mutants of our workflows, and workflows edited at random."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings

from tests.errors.test_errors import CASES, FIXED, files_of, findings
from tests.mutation.catching import all_mutants, findings_in
from tests.mutation.seeding import MISTAKES
from tests.property.fixing import broken_promises
from tests.property.mutations import mutated_texts, mutated_trees
from tests.support import W, check, fixed
from wfc.findings import Diagnostic

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


@few
@given(mutated_texts())
def test_the_fixes_of_an_edited_text_keep_their_promises(text: str) -> None:
    assert broken_promises(text, check) == []


@few
@given(mutated_trees())
def test_the_fixes_of_an_edited_tree_keep_their_promises(text: str) -> None:
    assert broken_promises(text, check) == []


def _crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


def _commented(text: str) -> str:
    """A comment on lines of its own, in letters of every width, and one at the end."""
    return f"# ünïcode 日本 🚀\n{text.rstrip()}\n# the end"


def _quoted(style: str) -> Callable[[str], str]:
    def requote(text: str) -> str:
        return _dumped(text, default_style=style)

    return requote


def _flow(text: str) -> str:
    return _dumped(text, default_flow_style=True)


def _dumped(text: str, **how: Any) -> str:
    try:
        tree = yaml.load(text, yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError):
        return text
    return str(
        yaml.dump(tree, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=100, **how)
    )


def _anchored(text: str) -> str:
    """The first step has an anchor, and something else refers to it."""
    at = text.find("  - {id:")
    return text if at < 0 else f"{text[: at + 4]}&first {text[at + 4 :].rstrip()}\nx-first: *first\n"


LAYOUTS = {
    "other line breaks": _crlf,
    "comments": _commented,
    "double quotes": _quoted('"'),
    "single quotes": _quoted("'"),
    "flow style": _flow,
    "anchors": _anchored,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", FIXED, ids=lambda case: f"{case.parent.name}-{case.stem}")
def test_the_fixes_of_a_case_in_another_layout_keep_their_promises(case: Path, layout: str) -> None:
    file = files_of(case)[0]

    def look(text: str) -> list[Diagnostic]:
        return [found for found in findings(case, text) if found.path == file.name]

    assert broken_promises(LAYOUTS[layout](file.read_bytes().decode()), look) == []


@pytest.mark.parametrize("case", FIXED, ids=lambda case: f"{case.parent.name}-{case.stem}")
def test_a_file_with_other_line_breaks_is_fixed_in_the_same_way(case: Path) -> None:
    file = files_of(case)[0]
    text = file.read_bytes().decode()
    if "\r\n" in text:
        return

    def mine(now: str) -> list[Diagnostic]:
        return [found for found in findings(case, now) if found.path == file.name]

    assert fixed(_crlf(text), mine).texts[W] == _crlf(fixed(text, mine).texts[W])


@pytest.mark.parametrize("name", MISTAKES)
def test_the_fixes_of_the_mutants_of_a_kind_keep_their_promises(name: str) -> None:
    """Every eighth mutant; all thousands of them with HYPOTHESIS_PROFILE=long."""
    mutants = [mutant for mutant in all_mutants() if mutant.mistake.name == name]
    step = 1 if settings.default is settings.get_profile("long") else 8
    wrong = []
    for mutant in mutants[::step]:
        original, look = findings_in(mutant.file)
        wrong += [f"{mutant}: {one}" for one in broken_promises(mutant.text(original), look)]
    assert wrong == []
