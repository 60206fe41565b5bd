"""Write plain data as readable YAML: block texts, short lists on one line, quotes only if needed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_./$][A-Za-z0-9_./$ ()=+,;<>|&*@-]*")
_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"])
"""Words that some YAML readers do not take for text."""
_WIDTH = 100


def write_yaml(data: dict[str, Any]) -> str:
    """The data as YAML, which reads back as the same data."""
    return "\n".join(_mapping(data, 0)) + "\n"


def _mapping(data: dict[str, Any], indent: int) -> Iterator[str]:
    pad = " " * indent
    for key, value in data.items():
        yield from _entry(f"{pad}{_scalar(key)}:", value, indent)


def _entry(start: str, value: Any, indent: int) -> Iterator[str]:
    """The lines of a value after its key or dash."""
    if isinstance(value, str) and _can_be_block(value):
        yield f"{start} {_block_mark(value)}"
        # Indented from the key, not from the dash, which YAML allows as well.
        pad = " " * (indent + 2)
        yield from (f"{pad}{line}" if line else "" for line in value.rstrip("\n").split("\n"))
        yield from [""] * (len(value) - len(value.rstrip("\n")) - 1)
    elif isinstance(value, dict) and value and not _fits(start, value):
        yield start
        yield from _mapping(value, indent + 2)
    elif isinstance(value, list) and value and not _fits(start, value):
        yield start
        for item in value:
            yield from _item(item, indent + 2)
    else:
        yield f"{start} {_flow(value)}"


def _item(item: Any, indent: int) -> Iterator[str]:
    pad = " " * indent
    if not isinstance(item, dict) or not item:
        yield from _entry(f"{pad}-", item, indent)
        return
    lines = _mapping(item, indent + 2)
    # The first entry of a mapping is on the line of its dash.
    yield f"{pad}- {next(lines).lstrip()}"
    yield from lines


def _fits(start: str, value: Any) -> bool:
    """Whether a list of plain values is short enough for one line; a mapping never is."""
    if isinstance(value, dict) or any(isinstance(item, (dict, list)) or _has_lines(item) for item in value):
        return False
    return len(start) + len(_flow(value)) < _WIDTH


def _has_lines(value: Any) -> bool:
    return isinstance(value, str) and "\n" in value


def _flow(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow_scalar, value)) + "]"
    return "{}" if isinstance(value, dict) else _scalar(value)


def _flow_scalar(value: Any) -> str:
    return (
        json.dumps(value, ensure_ascii=False) if isinstance(value, str) and "," in value else _scalar(value)
    )


def _scalar(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    # A leading or trailing blank would be lost.
    is_plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS and value == value.strip()
    return value if is_plain else _quoted(value)


def _quoted(text: str) -> str:
    """The text in double quotes, with escapes for invisible characters."""
    return "".join(
        character if character.isprintable() else f"\\U{ord(character):08X}"
        for character in json.dumps(text, ensure_ascii=False)
    )


def _can_be_block(text: str) -> bool:
    """Whether a text has several lines that a block scalar can hold without changes."""
    lines = text.split("\n")
    return (
        len(lines) > 1
        # Indentation of the first line would be read as that of the block.
        and bool(lines[0].strip())
        and not lines[0].startswith((" ", "\t"))
        and bool(text.rstrip("\n").split("\n")[-1].strip())
        and all(character.isprintable() or character in "\n\t" for character in text)
    )


def _block_mark(text: str) -> str:
    ends = len(text) - len(text.rstrip("\n"))
    return "|-" if not ends else "|" if ends == 1 else "|+"
