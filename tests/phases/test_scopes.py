"""Scopes of agents that work at the same time: whether they share a path, and a path that shows it."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from wfc.dialects.phases.scopes import overlaps, path_scope
from wfc_runtime.scopes import covers, path_patterns, scope_parts


def shared(one: str, other: str) -> str | None:
    scopes = [path_scope(scope_parts(one)), path_scope(scope_parts(other))]
    found = list(overlaps([scope for scope in scopes if scope is not None]))
    return found[0][2].path if found else None


@pytest.mark.parametrize(
    ("one", "other", "path"),
    [
        ("src/", "src/api/", "src/api"),
        ("src", "src/api/", None),  # `src` alone is a word
        ("src/a", "src/ab", None),
        ("src/*", "src/a/b", None),
        ("src/*/", "src/a/b", "src/a/b"),
        ("src/*.py", "src/x*", "src/xx.py"),
        ("**/test_*.py", "src/", "src/test_x.py"),
        ("docs/**/*.md", "docs/api/*.rst", None),
        ("docs/**/*.md", "docs/*.md", "docs/x.md"),
        ("src/**, !src/gen/", "src/gen/x.py", None),
        ("src/*, !src/x", "src/x*", "src/xx"),
        ("src/*, !src/*.md", "src/*.md", None),
        ("src/**/a/*", "src/x/**/b", "src/x/a/b"),
        ("src/*.{ts,tsx}", "src/*.tsx", "src/x.tsx"),
        ("./src//api/", "src/api/x.c", "src/api/x.c"),
        ("*", "a/b.c", None),
        ("**", "x/y", "x/y"),
        ("src/?.py", "src/a?.py", None),
        ("src/a?", "src/?b", "src/ab"),
        ("a*b/", "a/b/", None),
        ("src/[ab].py", "src/a.py", None),  # brackets are ordinary characters
        ("!docs/", "docs/a.md", None),
        # What is excluded does not hide the other texts that both segments match.
        ("*a*/*/", "?*/a/*.md, !a?*/, !xa/, !*aa*/", "a/a/x.md"),
        ("src/a*, !src/ax*, !src/a", "src/*b", "src/ab"),
        ("src/*, !src/?, !src/??, !src/x*", "src/*", "src/yyy"),
    ],
)
def test_an_overlap_comes_with_a_path(one: str, other: str, path: str | None) -> None:
    assert shared(one, other) == path
    assert (shared(other, one) is None) == (path is None)


def test_random_scopes_overlap_exactly_where_some_path_is_in_both() -> None:
    random = Random(21)
    segments = ["a", "b", "a*", "*b", "?", "*", "**", "ab", "a?*", "?*", "*a*"]
    names = ["a", "b", "ab", "aab", "x", "xb"]
    paths = ["/".join(parts) for length in (1, 2, 3) for parts in product(names, repeat=length)]

    def pattern() -> str:
        return "/".join(random.choice(segments) for _ in range(random.randint(1, 3))) + random.choice(
            ("", "/")
        )

    compared = 0
    for _ in range(400):
        lists = [[pattern() for _ in range(random.randint(1, 2))] for _ in range(2)]
        for one in lists:
            if random.random() < 0.5:
                one.append(f"!{pattern()}")
        scopes = [path_scope(one) for one in lists]
        if None in scopes:
            continue
        compared += 1
        found = list(overlaps([one for one in scopes if one is not None]))
        both = [path_patterns(one) or [] for one in lists]
        if found:
            witness = found[0][2].path
            assert all(covers(one, witness) for one in both), (lists, witness)
        else:
            assert [path for path in paths if all(covers(one, path) for one in both)] == [], lists
    assert compared > 100


def test_many_patterns_are_compared_by_their_beginnings() -> None:
    scopes = [path_scope([f"src/m{number}/f{part}/" for part in range(40)]) for number in range(40)]
    assert list(overlaps([one for one in scopes if one is not None])) == []
    deep = [path_scope(["/".join(["**", word] * 12)]) for word in ("a", "b")]
    assert len(list(overlaps([one for one in deep if one is not None]))) == 1
