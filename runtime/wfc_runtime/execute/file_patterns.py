"""Patterns of files, as `--allow-read` and `--allow-write` take them.

A pattern is relative to the project or absolute inside a granted folder, with `/` between its segments. `*` and `?`
match within one segment, hidden names included; a segment `**` matches any number of segments; a trailing `/` means
everything in the folder. Other characters match themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

_ANY_DEPTH = "**"
_WILD = ("*", "?")


def pattern_problem(pattern: str, root: Path, more_roots: Iterable[Path] = ()) -> str:
    """Why a text cannot be used as a pattern; empty if it can."""
    if not pattern.strip():
        return "the pattern is empty"
    if "\0" in pattern or "\\" in pattern:
        return "it contains a NUL character or a backslash; separate segments with `/`"
    if pattern.startswith("~"):
        return "`~` is not expanded; write a path relative to the project, or an absolute one"
    segments = pattern.split("/")
    if ".." in segments:
        return "it contains `..`; --exec-root grants folders outside the project"
    if any(_ANY_DEPTH in segment and segment != _ANY_DEPTH for segment in segments):
        return "`**` must be a whole segment, as in `reports/**`"
    if pattern.startswith("/"):
        literal = _literal_folder(_segments_of(pattern))
        if not any(literal.is_relative_to(folder.resolve()) for folder in (root, *more_roots)):
            return "it is outside the project; name the folder with --exec-root as well"
    return ""


def matches_any(patterns: Iterable[str], root: Path, path: Path) -> bool:
    """Whether a resolved path matches one of the patterns, relative ones below `root`."""
    names = path.parts[1:]
    return any(_matches(_absolute(pattern, root), names) for pattern in patterns)


@lru_cache(maxsize=256)
def _absolute(pattern: str, root: Path) -> tuple[str, ...]:
    """The segments of a pattern from the file system's root down. Links in its literal part are resolved."""
    segments = _segments_of(pattern)
    if not pattern.startswith("/"):
        return (*root.resolve().parts[1:], *segments)
    literal = _literal_folder(segments)
    count = next((at for at, one in enumerate(segments) if _is_wild(one)), len(segments) - 1)
    return (*literal.parts[1:], *segments[count:])


def _segments_of(pattern: str) -> tuple[str, ...]:
    segments = [segment for segment in pattern.split("/") if segment not in ("", ".")]
    return (*segments, _ANY_DEPTH) if pattern.endswith("/") else tuple(segments)


def _literal_folder(segments: Sequence[str]) -> Path:
    """The folder that an absolute pattern starts in: its segments before the first wildcard or the last name."""
    count = next((at for at, one in enumerate(segments) if _is_wild(one)), len(segments) - 1)
    return Path("/", *segments[:count]).resolve()


def _is_wild(segment: str) -> bool:
    return any(char in segment for char in _WILD)


def _matches(segments: Sequence[str], names: Sequence[str]) -> bool:
    """Segment by segment, with the set of positions that the pattern may have reached: no backtracking."""
    reached = {0}
    for segment in segments:
        if not reached:
            return False
        if segment == _ANY_DEPTH:
            reached = set(range(min(reached), len(names) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(names) and _matches_one(segment, names[at])}
    return len(names) in reached


def _matches_one(segment: str, name: str) -> bool:
    return fnmatchcase(name, segment.replace("[", "[[]"))
