"""Fixes applied to text: edits by span, so that everything else stays as the author wrote it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from wfc.diagnostics import Diagnostic

_Change = tuple[int, int, str]
"""Where it begins and ends, and what comes there."""


def apply_fixes(text: str, found: Iterable[Diagnostic], *, unsafe: bool) -> tuple[str, int]:
    """The text with every fix that does not overlap an earlier one, and how many findings that settles.

    Several findings may carry the same fix: it is applied once and settles them all. What an overlap leaves
    over is found again, and can be fixed, when the new text is checked.
    """
    chosen: list[_Change] = []
    settled = 0
    for diagnostic in found:
        fix = diagnostic.fix
        if fix is None or not (fix.safe or unsafe) or not diagnostic.is_fixed_in_place:
            continue
        changes = [(edit.span.start, edit.span.end, edit.text) for edit in fix.edits]
        if all(_is_chosen(change, chosen) for change in changes):
            settled += 1
        elif not any(_overlaps(change, chosen) for change in changes):
            for change in changes:
                chosen.insert(bisect_left(chosen, change), change)
            settled += 1
    return _rewrite(text, chosen), settled


def _is_chosen(change: _Change, chosen: list[_Change]) -> bool:
    at = bisect_left(chosen, change)
    return at < len(chosen) and chosen[at] == change


def _overlaps(change: _Change, chosen: list[_Change]) -> bool:
    """Whether it touches a chosen one. Those are sorted and apart, so only the neighbours matter."""
    start, end, _ = change
    at = bisect_left(chosen, (start,))
    before, after = chosen[at - 1 : at], chosen[at : at + 1]
    return any(other[1] > start for other in before) or any(
        other[0] == start or other[0] < end for other in after
    )


def _rewrite(text: str, changes: list[_Change]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end, replacement in changes:
        pieces += (text[done:start], replacement)
        done = end
    return "".join([*pieces, text[done:]])
