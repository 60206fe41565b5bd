"""Scopes: which paths their patterns cover, and what counts as a path at all."""

from __future__ import annotations

import pytest

from wfc_runtime.scopes import covers, expanded, is_path, path_patterns, scope_parts, segments_of


@pytest.mark.parametrize(
    ("patterns", "inside", "outside"),
    [
        (["src/"], ["src/a.py", "src/x/y.py", "src"], ["srcs/a.py", "a/src/b.py", "src.py"]),
        (["src/api"], ["src/api/a.py", "src/api"], ["src/api.py", "src/ap"]),
        (["src/*.py"], ["src/a.py", "src/.py"], ["src/x/a.py", "src/a.pyc"]),
        (["src/**/*.py"], ["src/a.py", "src/x/y/a.py"], ["src/a.md", "lib/a.py"]),
        (["**/test_*.py"], ["test_a.py", "a/b/test_c.py"], ["a/test_b.md"]),
        (["./docs/", "!docs/old"], ["docs/a.md"], ["docs/old/a.md", "docs/old"]),
        (["!docs/old", "docs/"], ["docs/a.md"], ["docs/old/a.md"]),
        (["docs/[a].md"], ["docs/[a].md"], ["docs/a.md"]),
        (["größe/", "a b/"], ["größe/ü.md", "a b/c\nd"], ["gross/u.md"]),
        (["**"], ["a", "a/b", ".hidden"], []),
        (["*"], ["a", ".a"], ["a/b"]),
        ([], [], ["a"]),
        (["!a"], [], ["a", "b"]),
    ],
)
def test_a_scope_covers_what_its_patterns_say(
    patterns: list[str], inside: list[str], outside: list[str]
) -> None:
    assert [path for path in inside if not covers(patterns, path)] == []
    assert [path for path in outside if covers(patterns, path)] == []


@pytest.mark.parametrize("text", ["src/", "a.md", "*", "**/x", "!src/", "x.tar.gz", ".github/"])
def test_a_path_has_no_spaces_and_a_slash_a_star_or_an_extension(text: str) -> None:
    assert is_path(text)


@pytest.mark.parametrize(
    "text",
    ["", "src", "the API", "src/ and lib/", "https://a.b/c", "e.g.", "1.2", " a.md", "(a/b)", "a\n.md"],
)
def test_anything_else_is_words(text: str) -> None:
    assert not is_path(text)


def test_a_scope_is_a_list_or_a_text_with_commas() -> None:
    assert scope_parts("src/, *.{ts,tsx} ,, lib/") == ["src/", "*.{ts,tsx}", "lib/"]
    assert path_patterns("src/, *.{ts,tsx}") == ["src/", "*.ts", "*.tsx"]
    assert path_patterns(["src/", "the API"]) is None
    assert path_patterns("") is path_patterns(None) is None
    assert expanded("{a,b{c,d}}/{e,f}") == ["a/e", "a/f", "bc/e", "bc/f", "bd/e", "bd/f"]
    # Too many alternatives, and braces that are none, stay as they are.
    assert expanded("{a,b}" * 10) == ["{a,b}" * 10]
    assert expanded("{a}}{") == ["{a}}{"]


def test_a_pattern_ends_with_any_depth_if_its_last_segment_may_be_a_folder() -> None:
    assert (
        segments_of("src/api")
        == segments_of("./src//api/")
        == segments_of("!src/api")
        == ("src", "api", "**")
    )
    assert segments_of("src/*") == ("src", "*")
    assert segments_of("src/*/") == ("src", "*", "**")
