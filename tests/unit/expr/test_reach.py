"""How far beyond a match a search may read, told by the pattern."""

import pytest

from wfc_runtime.expr.filters.patterns import End, reach_of

from .support import ev

PATTERNS = [
    ("x", End.MATCH, 1),
    ("", End.MATCH, 0),
    (r"\d+", End.MATCH, 1),
    (r"code (\d+)", End.MATCH, 6),
    (r"(\w+)@(\w+)\.com", End.MATCH, 7),
    ("(?:foo|bar)x*", End.MATCH, 7),
    ("x{3,}y{2,5}z{4}", End.MATCH, 12),
    ("(?:ab){3}", End.MATCH, 6),
    ("((?:ab){3}c){2}", End.MATCH, 14),
    ("(x)+", End.MATCH, 1),
    ("[^]x]*", End.MATCH, 1),
    (r"[\]|]+x", End.MATCH, 2),
    ("[[:alpha:]|]+", End.MATCH, 1),
    (r"\Qa|b*\E", End.MATCH, 8),
    (r"\x{41}{2}", End.MATCH, 2),
    (r"a\|b*", End.MATCH, 3),
    ("(?i)x*", End.MATCH, 1),
    ("(?P<n>x*)y", End.MATCH, 2),
    ("x|y", End.MATCH, 2),
    ("x*?", End.MATCH, 1),
    ("x.*y|x", End.LINE, 4),
    ("(x.*y)|x", End.LINE, 4),
    ("x(?:x*y)?", End.LINE, 3),
    ("(?:xx)*", End.LINE, 2),
    ("(x*)*", End.LINE, 1),
    ("(x*){2}", End.LINE, 2),
    ("(?m)^# .*$|^- .*$", End.LINE, 10),
    (r"(?:x|\w+)y", End.LINE, 3),
    (r"(?:x[^;]*;)*", End.TEXT, 3),
    ("(?s)x.*y|x", End.TEXT, 4),
    ("(?is:x.*y)|x", End.TEXT, 4),
    (r"x\s*y|x", End.TEXT, 4),
    ("x(?:[\t-z]*y)?", End.TEXT, 3),
    (r"(?:\x0a|x)*y", End.TEXT, 5),
    (r"x\D*y|x", End.TEXT, 4),
    ("x(?:[[:space:]]*y)?", End.TEXT, 3),
]


@pytest.mark.parametrize(("pattern", "end", "length"), PATTERNS)
def test_how_far_a_search_reads(pattern: str, end: End, length: int) -> None:
    reach = reach_of(pattern)
    assert (reach.end, reach.length) == (end, length)


@pytest.mark.parametrize("pattern", ["(", ")", "x)", "*", "[", "{2}", "(?", "\\", "a**", "x{2,1}", ")(|*"])
def test_a_pattern_that_is_none_is_read_without_a_failure(pattern: str) -> None:
    assert reach_of(pattern).length >= 0


def test_alternatives_are_found_line_by_line_in_a_long_text() -> None:
    text = "\n".join(f"- item {number}" for number in range(20_000))
    found = ev("{{ text | regex_findall(pattern) }}", text=text, pattern="(?m)^#+ .*$|^- .*$")
    assert len(found) == 20_000
