"""Scopes: the files that an agent works on, as path patterns. They are compared with paths, never with a disk.

A pattern is relative to the project, with `/` between its segments. `*` and `?` match within one segment, a segment
`**` any number of segments, `{a,b}` either part. A folder covers what is below it, and `!pattern` takes away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

ANY_DEPTH = "**"
_MOST_ALTERNATIVES = 64
_NO_START = ",;:'\"<>|\\()"


# Reading a scope: a list, or a text with commas; paths if every part is one, otherwise words.


def is_path(text: str) -> bool:
    """Whether a text is a path or a pattern: without spaces, and with a `/`, a `*` or an extension."""
    if not text or text[0] in _NO_START or "://" in text or any(char.isspace() for char in text):
        return False
    name, _, ending = text.rpartition(".")
    has_extension = bool(name) and len(ending) <= 10 and ending.isalnum() and not ending.isdigit()
    return "/" in text or "*" in text or has_extension


def scope_parts(scope: str | Sequence[str]) -> list[str]:
    """The parts of a scope. A comma inside braces separates nothing."""
    if not isinstance(scope, str):
        return [part.strip() for part in scope if part.strip()]
    parts, depth = [""], 0
    for char in scope:
        depth = max(0, depth + (char == "{") - (char == "}"))
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


def path_patterns(scope: str | Sequence[str] | None) -> list[str] | None:
    """The patterns of a scope, with braces expanded; None if it is words, or empty."""
    parts = scope_parts(scope) if scope is not None else []
    if not parts or not all(map(is_path, parts)):
        return None
    return [pattern for part in parts for pattern in expanded(part)]


def expanded(pattern: str) -> list[str]:
    """The patterns that a pattern with braces stands for. One with too many of them stays as it is."""
    found = [pattern]
    while True:
        spread = list(dict.fromkeys(other for one in found for other in _alternatives(one)))
        if len(spread) > _MOST_ALTERNATIVES:
            return [pattern]
        if spread == found:
            return found
        found = spread


def _alternatives(pattern: str) -> list[str]:
    """Expand the first innermost pair of braces that has a comma."""
    for closing in range(len(pattern)):
        if pattern[closing] != "}":
            continue
        opening = pattern.rfind("{", 0, closing)
        inside = pattern[opening + 1 : closing]
        if opening >= 0 and "," in inside:
            return [pattern[:opening] + part + pattern[closing + 1 :] for part in inside.split(",")]
    return [pattern]


# Comparing a path with patterns.


@lru_cache(maxsize=1024)
def segments_of(pattern: str) -> tuple[str, ...]:
    """The segments of a pattern. After a last segment without a wildcard, `**` matches everything below a folder."""
    segments = [one for one in pattern.removeprefix("!").split("/") if one not in ("", ".")]
    is_folder = pattern.endswith("/") or not segments or not is_wild(segments[-1])
    return (*segments, ANY_DEPTH) if is_folder else tuple(segments)


def covers(patterns: Iterable[str], path: str) -> bool:
    """Whether a path, relative to the project, is in a scope."""
    names = [name for name in path.split("/") if name not in ("", ".")]
    is_in = False
    for pattern in patterns:
        if pattern.startswith("!"):
            if matches(segments_of(pattern), names):
                return False
        else:
            is_in = is_in or matches(segments_of(pattern), names)
    return is_in


def is_wild(segment: str) -> bool:
    return "*" in segment or "?" in segment


def matches(segments: Sequence[str], names: Sequence[str]) -> bool:
    """Match segment by segment, keeping the set of positions the pattern may have reached: no backtracking."""
    reached = {0}
    for segment in segments:
        if not reached:
            return False
        if segment == ANY_DEPTH:
            reached = set(range(min(reached), len(names) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(names) and matches_one(segment, names[at])}
    return len(names) in reached


def matches_one(segment: str, name: str) -> bool:
    # In a file pattern `[` is an ordinary character; fnmatch would start a set.
    return fnmatchcase(name, segment.replace("[", "[[]"))
