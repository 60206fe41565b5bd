"""SECURITY.md: each statement names the tests that hold it, and they exist."""

from __future__ import annotations

import re

import pytest

from tests.support import ROOT

PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## What holds, and which test holds it")[2].partition("\n## ")[0]
STATEMENTS = re.findall(r"^- \*\*.*?(?=^- |^\w|\Z)", SECTION, re.M | re.S)
NAMED = sorted(set(re.findall(r"`((?:tests/[\w/.]+|test_\w+)(?:::\w+)?)`", PAGE)))


@pytest.fixture(scope="module")
def defined() -> set[str]:
    found: set[str] = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        found.update(re.findall(r"^(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.M))
    return found


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda text: text[4:60])
def test_each_statement_of_the_model_names_a_test(statement: str) -> None:
    assert re.search(r"`(tests/[\w/.]+|test_\w+)", statement)


def test_every_test_that_the_page_names_is_there(defined: set[str]) -> None:
    assert len(NAMED) > 40
    assert len(STATEMENTS) >= 20
    missing = []
    for name in NAMED:
        path, _, test = name.rpartition("::") if "::" in name else ("", "", name)
        place = path or (name if "/" in name else "")
        if (place and not (ROOT / place).exists()) or (
            test.startswith("test_") and "/" not in test and test not in defined
        ):
            missing.append(name)
    assert missing == []
