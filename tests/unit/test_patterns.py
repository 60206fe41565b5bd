"""Patterns that every Python from 3.11.0 on reads alike."""

from __future__ import annotations

import re
from pathlib import Path

SOURCES = [
    path for part in ("compiler", "runtime") for path in (Path(__file__).parents[2] / part).rglob("*.py")
]


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Before 3.11.5 `(?:...)*+` fails where it should match; an atomic group around `*` says the same."""
    assert len(SOURCES) > 300
    found = [
        path.name for path in SOURCES if re.search(r'r["\'].*\)[*+?]\+', path.read_text(encoding="utf-8"))
    ]
    assert found == []
