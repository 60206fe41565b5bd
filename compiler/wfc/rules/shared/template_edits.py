"""Edits inside templates."""

from __future__ import annotations

from wfc.findings import Edit, Fix
from wfc.language.values import Text


def replace_in_text(text: Text, places: list[tuple[int, int]], old: str, new: str) -> Fix | None:
    """Put another name in some places of a template. None where the file spells one of them differently."""
    spans = [text.at(start, end) for start, end in places]
    if any(span.text != old for span in spans):
        return None
    return Fix(f"write {new} for {old}", tuple(Edit(span, new) for span in spans), safe=False)
