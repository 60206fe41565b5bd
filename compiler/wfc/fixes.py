"""Fixes applied to text: edits by span, so that everything else stays as the author wrote it."""

from __future__ import annotations

from collections.abc import Iterable

from wfc.diagnostics import Diagnostic, Edit


def apply_fixes(text: str, found: Iterable[Diagnostic], *, unsafe: bool) -> tuple[str, int]:
    """The text with every fix that does not overlap an earlier one, and how many findings that settles."""
    chosen: list[Edit] = []
    settled = 0
    for diagnostic in found:
        fix = diagnostic.fix
        if fix is None or not (fix.safe or unsafe):
            continue
        if all(edit in chosen for edit in fix.edits):
            settled += 1
        elif not any(_overlap(edit, other) for edit in fix.edits for other in chosen):
            chosen += fix.edits
            settled += 1
    for edit in sorted(chosen, key=lambda edit: edit.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text, settled


def _overlap(one: Edit, other: Edit) -> bool:
    if one.span.start == other.span.start:
        return True
    first, second = sorted((one.span, other.span), key=lambda span: span.start)
    return first.end > second.start
