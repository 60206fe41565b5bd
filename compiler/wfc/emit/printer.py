"""Print Python source in the layout of black, without importing black, which is slow.

A bracket is printed on one line if it fits. Otherwise each element has its own line and the last one a trailing
comma, which black keeps. A test compares the output with black.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field
from math import isfinite
from typing import Any
from unicodedata import east_asian_width

from wfc.ir import Ref

WIDTH = 88
INDENT = "    "


def width(text: str) -> int:
    """The width of a text as black counts it: East Asian characters and most emoji take two columns."""
    if text.isascii():
        return len(text)
    return len(text) + sum(east_asian_width(char) in "WF" for char in text)


UNSURE = re.compile(
    "[\u2630-\u2637\u268a-\u268f\u302a-\u302f\u3099\u309a\u4dc0-\u4dff\U00016fe4\U00016ff0\U00016ff1\U0001d300-\U0001d376\U0001f3fb-\U0001f3ff]"
)
"""Characters whose width differs between versions of Unicode."""


@dataclass(frozen=True, slots=True)
class Call:
    """`name(positional, key=value)`."""

    name: str
    positional: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tuple:
    items: tuple[Any, ...]


def print_value(value: Any, indent: int, before: int, after: int = 0) -> str:
    """A value as source. `before` and `after` are the widths of the other text on its first and last line."""
    flat = _flat(value, WIDTH - indent * 4 - before - after)
    if flat is not None:
        return flat
    match value:
        case str():
            return _long_text(value, indent)
        case Call():
            parts = [("", item) for item in value.positional]
            parts += [(f"{key}=", item) for key, item in value.keywords.items()]
            return _exploded(f"{value.name}(", ")", parts, indent)
        case Tuple():
            return _exploded("(", ")", [("", item) for item in value.items], indent)
        case list():
            return _exploded("[", "]", [("", item) for item in value], indent) if value else "[]"
        case dict():
            entries = [(f"{_atom(key)}: ", item) for key, item in value.items()]
            return _exploded("{", "}", entries, indent) if value else "{}"
    return _atom(value)


def print_assignment(target: str, value: Any, indent: int) -> str:
    """`target = value`, indented. A value without brackets that does not fit on the line gets parentheses."""
    text = print_value(value, indent, width(target) + 3)
    pad = INDENT * indent
    line = f"{pad}{target} = {text}"
    # An annotation that ends with a bracket has been split already.
    if width(line.split("\n", 1)[0]) <= WIDTH or target.endswith("]"):
        return line
    if isinstance(value, Call):
        # Inside parentheses the call begins on its own line, and has the whole width.
        text = print_value(value, indent + 1, 0)
    elif "\n" in text:
        return line
    wrapped = f"{pad}{target} = (\n{pad}{INDENT}{text}\n{pad})"
    # Each test that black makes is made here as well, in the same order.
    # Black adds parentheses around a call only if every line fits then.
    helps = not isinstance(value, Call) or all(width(part) <= WIDTH for part in wrapped.split("\n"))
    return wrapped if helps else line


def print_class(name: str, bases: tuple[Any, ...], keywords: dict[str, Any], indent: int) -> str:
    """The `class` statement, on one or more lines."""
    call = Call(f"class {name}", bases, keywords)
    return INDENT * indent + print_value(call, indent, 0, 1) + ":"


def _exploded(opening: str, closing: str, parts: list[tuple[str, Any]], indent: int) -> str:
    if not parts:
        return opening + closing
    pad = INDENT * (indent + 1)
    lines = [f"{pad}{key}{print_value(item, indent + 1, width(key), 1)}," for key, item in parts]
    return "\n".join([opening, *lines, INDENT * indent + closing])


def _flat(value: Any, room: int) -> str | None:
    """The value on one line, or None if it is longer than `room`. Printing stops as soon as that is clear."""
    match value:
        case Call():
            parts = [("", item) for item in value.positional]
            parts += [(f"{key}=", item) for key, item in value.keywords.items()]
            return _joined(f"{value.name}(", parts, ")", room)
        case Tuple():
            # A tuple with one item needs its comma.
            only = len(value.items) == 1
            return _joined("(", [("", item) for item in value.items], ",)" if only else ")", room)
        case list():
            return _joined("[", [("", item) for item in value], "]", room)
        case dict():
            return _joined("{", [(f"{_atom(key)}: ", item) for key, item in value.items()], "}", room)
        # Checked before it is quoted: texts may be very long, and this is called at every level of nesting.
        # Two quotes are the least that is added.
        case str() if len(value) + 2 > room:
            return None
    text = _atom(value)
    return text if width(text) <= room else None


def _joined(opening: str, parts: list[tuple[str, Any]], closing: str, room: int) -> str | None:
    room -= len(opening) + len(closing)
    texts: list[str] = []
    for key, item in parts:
        room -= width(key) + (2 if texts else 0)
        text = _flat(item, room) if room > 0 else None
        if text is None:
            return None
        texts.append(key + text)
        room -= width(text)
    return opening + ", ".join(texts) + closing if room >= 0 else None


def _atom(value: Any) -> str:
    """A value without brackets."""
    match value:
        case Ref():
            return value.name
        case str():
            return quoted(value)
        case float():
            # Black writes exponents without the plus sign.
            return repr(value).replace("e+", "e") if isfinite(value) else f'float("{value}")'
    return repr(value)


def quoted(text: str) -> str:
    """A string literal, in the quotes that need fewer backslashes; double quotes if both need the same."""
    body = _SPECIAL.sub(_escaped, text)
    if '"' not in body:
        return f'"{body}"'
    double = body.replace('"', '\\"')
    single = body.replace("'", "\\'")
    # Equal counts prefer double quotes, as black does.
    return f"'{single}'" if single.count("\\") < double.count("\\") else f'"{double}"'


_SPECIAL = re.compile(r"[^ -\[\]-~]")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escaped(found: re.Match[str]) -> str:
    char = found.group()
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def _long_text(text: str, indent: int) -> str:
    """Text of several lines as one literal per line, in parentheses. A single line is not split, however long."""
    lines = text.splitlines(keepends=True)
    # Only newlines may separate literals, so other line ends stay inside one.
    if len(lines) < 2 or "\r" in text:
        return quoted(text)
    literals = [quoted(line) for line in _at_newlines(text)]
    if len(literals) < 2:
        return literals[0]
    pad = INDENT * (indent + 1)
    joined = " ".join(literals)
    if len(pad) + width(joined) <= WIDTH:
        return f"(\n{pad}{joined}\n{INDENT * indent})"
    return "\n".join(["(", *(pad + literal for literal in literals), INDENT * indent + ")"])


def _at_newlines(text: str) -> list[str]:
    parts = text.split("\n")
    lines = [part + "\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def docstring(text: str, indent: int) -> list[str]:
    """The lines of a docstring. White space is folded: a new layout of the text in the YAML changes nothing."""
    words = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    if not words:
        return []
    # The state machine library replaces `{statechart:...}` in docstrings by a diagram.
    words = words.replace("{statechart:", "{ statechart:")
    escaped = words.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    pad = "    " * indent
    # Black puts a space between a quotation mark of the text and those of the docstring.
    opening = f'{pad}""" ' if escaped.startswith('"') else f'{pad}"""'
    closing = ' """' if escaped.endswith('"') else '"""'
    lines = textwrap.wrap(escaped, WIDTH - len(pad) - 3, break_long_words=False, break_on_hyphens=False)
    if len(opening + escaped + closing) <= WIDTH or len(lines) == 1:
        return [opening + escaped + closing]
    return [opening + lines[0], *(pad + line for line in lines[1:]), f'{pad}"""']
