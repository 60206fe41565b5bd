"""How messages show pieces of the file: never more than fits in a line."""

from __future__ import annotations


def excerpt(text: str, limit: int = 40) -> str:
    """The text, cut where it is too long to be read in a message."""
    return text if len(text) <= limit else text[:limit] + "..."


def advise_quotes(advice: str, text: str, limit: int = 60) -> str:
    """The advice, with the text in the quotes that it needs, if that is short enough to be copied."""
    if len(text) > limit:
        return advice
    if '"' not in text and "\\" not in text:
        return f'{advice}: "{text}"'
    return f"{advice}: '" + text.replace("'", "''") + "'"
