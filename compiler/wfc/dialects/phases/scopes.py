"""Whether two scopes have a path in common, with a path that shows it. `wfc_runtime.scopes` defines the meaning of
patterns.

Patterns are compared segment by segment, never by listing files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain

from wfc.caching import cached, cached_property
from wfc.struct import struct
from wfc_runtime.scopes import ANY_DEPTH, expanded, is_wild, matches_one, path_patterns, segments_of

_MOST_STATES = 20_000
"""A search that takes more states than this is given up, and the patterns count as separate. Only patterns with many
`**` get that far."""
_MOST_TEXTS = 500
"""The same for the characters of one segment."""
_FILLER = "x"
"""The text that replaces `*` in the path that shows an overlap."""


@struct(frozen=True)
class Pattern:
    text: str
    """As the author wrote it."""
    segments: tuple[str, ...]

    @cached_property
    def prefix(self) -> tuple[str, ...]:
        """The segments before the first wildcard."""
        first = next((at for at, one in enumerate(self.segments) if is_wild(one)), len(self.segments))
        return self.segments[:first]


@struct(frozen=True)
class PathScope:
    """A scope of path patterns."""

    included: tuple[Pattern, ...]
    excluded: tuple[Pattern, ...]


def path_scope(entries: Sequence[str]) -> PathScope | None:
    """The scope of a list of entries; None if one of them is words, or there is none."""
    if path_patterns(entries) is None:
        return None
    patterns = [Pattern(entry, segments_of(one)) for entry in entries for one in expanded(entry)]
    included = tuple(one for one in patterns if not one.text.startswith("!"))
    excluded = tuple(one for one in patterns if one.text.startswith("!"))
    return PathScope(included, excluded)


def contains(scope: PathScope, path: str) -> bool:
    """Whether a scope has every path that a pattern matches."""
    patterns = [Pattern(path, segments_of(one)) for one in expanded(path)]
    # A path outside of the scope is one that the pattern and `**` have in common and no included pattern matches.
    everything = Pattern("**", segments_of("**"))
    return not any(
        common_path(one, everything, scope.included) is not None
        or any(common_path(one, other, ()) is not None for other in scope.excluded)
        for one in patterns
    )


@struct(frozen=True)
class Overlap:
    one: str
    other: str
    path: str
    """A path that both patterns match and neither scope excludes."""


def overlaps(scopes: Sequence[PathScope]) -> Iterator[tuple[int, int, Overlap]]:
    """The pairs of scopes that have a path in common, each with the first overlap that is found.

    Patterns are looked up by the segments before their first wildcard: two of them can only overlap if the prefix of
    one begins with that of the other.
    """
    by_prefix: dict[tuple[str, ...], list[tuple[int, Pattern]]] = {}
    for number, scope in enumerate(scopes):
        for pattern in scope.included:
            by_prefix.setdefault(pattern.prefix, []).append((number, pattern))
    found: set[tuple[int, int]] = set()
    for number, scope in enumerate(scopes):
        for pattern in scope.included:
            for length in range(len(pattern.prefix) + 1):
                for other, against in by_prefix.get(pattern.prefix[:length], ()):
                    pair = (min(number, other), max(number, other))
                    if number == other or pair in found:
                        continue
                    path = common_path(pattern, against, (*scope.excluded, *scopes[other].excluded))
                    if path is not None:
                        found.add(pair)
                        first, second = (pattern, against) if number < other else (against, pattern)
                        yield *pair, Overlap(first.text, second.text, path)


def common_path(one: Pattern, other: Pattern, excluded: Sequence[Pattern]) -> str | None:
    """The shortest path that two patterns match and the excluded ones do not."""
    avoided = tuple(pattern.segments for pattern in excluded)
    # Breadth first, so the first path found is the shortest. A state has the positions in both patterns and in every
    # excluded one: whether a path is excluded depends on all of its segments.
    begin = tuple(_closed(segments, frozenset({0})) for segments in avoided)
    queue: deque[tuple[int, int, tuple[frozenset[int], ...], tuple[str, ...]]] = deque([(0, 0, begin, ())])
    seen = {(0, 0, begin)}
    while queue and len(seen) <= _MOST_STATES:
        i, j, places, path = queue.popleft()
        is_end = _is_end(one.segments, i) and _is_end(other.segments, j)
        is_avoided = any(len(segments) in at for segments, at in zip(avoided, places, strict=True))
        if is_end and path and not is_avoided:
            return "/".join(path)
        # The segments that lead on in an excluded pattern. Only they matter for the choice of a text for a wildcard.
        unwanted = frozenset(
            segments[place]
            for segments, at in zip(avoided, places, strict=True)
            for place in at
            if place < len(segments) and segments[place] != ANY_DEPTH
        )
        for segment, after_i, after_j in _moves(one.segments, i, other.segments, j, unwanted):
            after = tuple(
                _advance(segments, at, segment) for segments, at in zip(avoided, places, strict=True)
            )
            state = (after_i, after_j, after)
            if state not in seen:
                seen.add(state)
                queue.append((after_i, after_j, after, (*path, segment)))
    return None


def _is_end(segments: tuple[str, ...], at: int) -> bool:
    return all(segment == ANY_DEPTH for segment in segments[at:])


def _moves(
    one: tuple[str, ...], i: int, other: tuple[str, ...], j: int, unwanted: frozenset[str]
) -> Iterator[tuple[str, int, int]]:
    """Each segment that both patterns can take, with their places after it."""
    for taken, after_i in _steps(one, i):
        for against, after_j in _steps(other, j):
            for segment in _common_segments(taken, against, unwanted):
                yield segment, after_i, after_j


def _steps(segments: tuple[str, ...], at: int) -> Iterator[tuple[str, int]]:
    """The possible next segments of a path, each with the position after it. `**` may also match none."""
    while at < len(segments) and segments[at] == ANY_DEPTH:
        yield "*", at
        at += 1
    if at < len(segments):
        yield segments[at], at + 1


def _closed(segments: tuple[str, ...], places: frozenset[int]) -> frozenset[int]:
    """The positions, including those after a `**` that matches nothing."""
    found = set(places)
    for at in sorted(places):
        while at < len(segments) and segments[at] == ANY_DEPTH:
            at += 1
            found.add(at)
    return frozenset(found)


def _advance(segments: tuple[str, ...], places: frozenset[int], segment: str) -> frozenset[int]:
    after = {
        at if segments[at] == ANY_DEPTH else at + 1
        for at in places
        if at < len(segments) and (segments[at] == ANY_DEPTH or matches_one(segments[at], segment))
    }
    return _closed(segments, frozenset(after))


# Segments. Both may have wildcards; the result is a text that both match.


@cached(4096)
def _common_segments(one: str, other: str, unwanted: frozenset[str]) -> tuple[str, ...]:
    """Texts that both segments match. Of two texts, one is enough if it matches fewer of the unwanted segments."""
    if not is_wild(one):
        return (one,) if matches_one(other, one) else ()
    if not is_wild(other):
        return (other,) if matches_one(one, other) else ()
    first = _merged(one, other)
    if first is None:
        return ()
    found: dict[frozenset[str], str] = {}
    for text in chain([first], _texts_of_both(one, other, sorted(unwanted))):
        matched = frozenset(segment for segment in unwanted if matches_one(segment, text))
        if not any(fewer <= matched for fewer in found):
            found = {more: kept for more, kept in found.items() if not matched <= more} | {matched: text}
        if not matched:
            break
    return tuple(found.values())


def _texts_of_both(one: str, other: str, avoided: Sequence[str]) -> Iterator[str]:
    """Texts that two segments match, the shortest first, one for each state of all segments together.

    Characters that no segment names are equivalent, so one of them is enough.
    """
    segments = (one, other, *avoided)
    named = sorted({char for segment in segments for char in segment} - {"*", "?"})
    unnamed = next(char for char in map(chr, range(ord(_FILLER), 0x10FFFF)) if char not in named)
    begin = tuple(_after_stars(segment, frozenset({0})) for segment in segments)
    queue = deque([(begin, "")])
    seen = {begin}
    while queue and len(seen) <= _MOST_TEXTS:
        places, text = queue.popleft()
        if text and len(one) in places[0] and len(other) in places[1]:
            yield text
        for char in (unnamed, *named):
            after = tuple(map(_after_character, segments, places, char * len(segments)))
            if after[0] and after[1] and after not in seen:
                seen.add(after)
                queue.append((after, text + char))


def _after_character(segment: str, places: frozenset[int], char: str) -> frozenset[int]:
    after = {
        at if segment[at] == "*" else at + 1
        for at in places
        if at < len(segment) and segment[at] in ("*", "?", char)
    }
    return _after_stars(segment, frozenset(after))


def _after_stars(segment: str, places: frozenset[int]) -> frozenset[int]:
    """The places, with those behind a `*` that stands for nothing."""
    found = set(places)
    for at in sorted(places):
        while segment[at : at + 1] == "*":
            at += 1
            found.add(at)
    return frozenset(found)


def _merged(one: str, other: str) -> str | None:
    """A text that two patterns match, found by a search over the characters of both at once."""
    queue = deque([(0, 0, "")])
    seen = {(0, 0)}
    while queue:
        i, j, text = queue.popleft()
        if i == len(one) and j == len(other):
            return text or _FILLER
        for after_i, after_j, added in _character_moves(one[i : i + 1], i, other[j : j + 1], j):
            if (after_i, after_j) not in seen:
                seen.add((after_i, after_j))
                queue.append((after_i, after_j, text + added))
    return None


def _character_moves(a: str, i: int, b: str, j: int) -> Iterator[tuple[int, int, str]]:
    if a == "*" and b == "*":
        # Some text rather than none: `src/x.ts` is easier to read than `src/.ts`.
        yield i + 1, j + 1, _FILLER
        yield i + 1, j, _FILLER
        yield i, j + 1, _FILLER
    if a == "*":
        yield i + 1, j, ""
    if b == "*":
        yield i, j + 1, ""
    if not a or not b or a == b == "*":
        return
    wanted = [char for char in (a, b) if char not in "*?"] or [_FILLER]
    if len(set(wanted)) == 1:
        yield i if a == "*" else i + 1, j if b == "*" else j + 1, wanted[0]
