"""Descriptions as docstrings that black leaves alone."""

from __future__ import annotations

import textwrap


def docstring(text: str, indent: int) -> list[str]:
    """The lines of a docstring; white space is folded, so that the author's layout does not matter."""
    words = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    if not words:
        return []
    pad = "    " * indent
    escaped = words.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    one = f'{pad}"""{escaped}"""'
    if len(one) <= 88 and not escaped.endswith('"'):
        return [one]
    lines = textwrap.wrap(
        escaped, 88 - len(pad) - 3, break_long_words=False, break_on_hyphens=False
    )
    return [f'{pad}"""{lines[0]}', *(pad + line for line in lines[1:]), f'{pad}"""']
