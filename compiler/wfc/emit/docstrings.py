"""Descriptions as docstrings that black leaves alone."""

from __future__ import annotations

import textwrap

from wfc.emit.printer import WIDTH


def docstring(text: str, indent: int) -> list[str]:
    """The lines of a docstring; white space is folded, so that the author's layout does not matter."""
    words = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    if not words:
        return []
    # The state machine library would put a picture in the place of `{statechart:...}`.
    words = words.replace("{statechart:", "{ statechart:")
    escaped = words.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    pad = "    " * indent
    # Black sets quotation marks of the text apart from those around it.
    opening = f'{pad}""" ' if escaped.startswith('"') else f'{pad}"""'
    closing = ' """' if escaped.endswith('"') else '"""'
    lines = textwrap.wrap(escaped, WIDTH - len(pad) - 3, break_long_words=False, break_on_hyphens=False)
    if len(opening + escaped + closing) <= WIDTH or len(lines) == 1:
        return [opening + escaped + closing]
    return [opening + lines[0], *(pad + line for line in lines[1:]), f'{pad}"""']
