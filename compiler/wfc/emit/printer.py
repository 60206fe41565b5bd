"""Python source laid out as black lays it out, without the time that black takes.

A bracket is written on one line where that fits, else one element a line with a trailing comma, which black keeps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wfc.ir import Ref

WIDTH = 88
INDENT = "    "


@dataclass(frozen=True)
class Call:
    """`name(positional, key=value)`."""

    name: str
    positional: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Tuple:
    items: tuple[Any, ...]


def print_value(value: Any, indent: int, before: int, after: int = 0) -> str:
    """A value as source. `before` and `after`: what else stands on its first and last line, in characters."""
    flat = _flat(value)
    if flat is not None and indent * 4 + before + len(flat) + after <= WIDTH:
        return flat
    match value:
        case str():
            return _long_text(value, indent, before, after)
        case Call():
            parts = [("", item) for item in value.positional]
            parts += [(f"{key}=", item) for key, item in value.keywords.items()]
            return _exploded(f"{value.name}(", ")", parts, indent)
        case Tuple():
            return _exploded("(", ")", [("", item) for item in value.items], indent)
        case list():
            return _exploded("[", "]", [("", item) for item in value], indent) if value else "[]"
        case dict():
            entries = [(f"{_flat(key)}: ", item) for key, item in value.items()]
            return _exploded("{", "}", entries, indent) if value else "{}"
    return flat if flat is not None else repr(value)


def print_assignment(target: str, value: Any, indent: int) -> str:
    """`target = value`, indented. What has no brackets of its own gets a pair when the line is too long."""
    text = print_value(value, indent, len(target) + 3)
    pad = INDENT * indent
    line = f"{pad}{target} = {text}"
    if "\n" in text or len(line) <= WIDTH or target.endswith("]"):
        return line
    return f"{pad}{target} = (\n{pad}{INDENT}{text}\n{pad})"


def print_class(name: str, bases: tuple[Any, ...], keywords: dict[str, Any], indent: int) -> str:
    """The first line of a class, or its first lines."""
    call = Call(f"class {name}", bases, keywords)
    return INDENT * indent + print_value(call, indent, 0, 1) + ":"


def _exploded(opening: str, closing: str, parts: list[tuple[str, Any]], indent: int) -> str:
    if not parts:
        return opening + closing
    pad = INDENT * (indent + 1)
    lines = [f"{pad}{key}{print_value(item, indent + 1, len(key), 1)}," for key, item in parts]
    return "\n".join([opening, *lines, INDENT * indent + closing])


def _flat(value: Any) -> str | None:
    """The value on one line, or None if it holds text that is better read on several."""
    match value:
        case Ref():
            return value.name
        case str():
            return quoted(value)
        case bool() | None:
            return repr(value)
        case int():
            return _integer(value)
        case float():
            return repr(value)
        case Call():
            parts = [_flat(item) for item in value.positional]
            parts += [_key(f"{key}=", _flat(item)) for key, item in value.keywords.items()]
            return _joined(f"{value.name}(", parts, ")")
        case Tuple():
            only = len(value.items) == 1
            return _joined("(", [_flat(item) for item in value.items], ",)" if only else ")")
        case list():
            return _joined("[", [_flat(item) for item in value], "]")
        case dict():
            return _joined("{", [_key(f"{_flat(key)}: ", _flat(item)) for key, item in value.items()], "}")
    return repr(value)


def _integer(value: int) -> str:
    """Python refuses to print integers of thousands of digits in decimal."""
    return repr(value) if value.bit_length() < 10_000 else hex(value)


def _key(key: str, value: str | None) -> str | None:
    return None if value is None else key + value


def _joined(opening: str, parts: list[str | None], closing: str) -> str | None:
    texts = [part for part in parts if part is not None]
    return opening + ", ".join(texts) + closing if len(texts) == len(parts) else None


def quoted(text: str) -> str:
    """A string literal in the quotes that need fewer backslashes, double ones if it is all the same."""
    body = "".join(_escaped(char) for char in text)
    double = body.replace('"', '\\"')
    single = body.replace("'", "\\'")
    return f"'{single}'" if single.count("\\") < double.count("\\") else f'"{double}"'


_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def _long_text(text: str, indent: int, before: int, after: int) -> str:
    """Text of several lines as one literal a line, in brackets; a single line stays whole however long it is."""
    lines = text.splitlines(keepends=True)
    if len(lines) < 2 or "\r" in text:
        return quoted(text)
    literals = [quoted(line) for line in _at_newlines(text)]
    if len(literals) < 2:
        return literals[0]
    pad = INDENT * (indent + 1)
    joined = " ".join(literals)
    if len(pad) + len(joined) <= WIDTH:
        return f"(\n{pad}{joined}\n{INDENT * indent})"
    return "\n".join(["(", *(pad + literal for literal in literals), INDENT * indent + ")"])


def _at_newlines(text: str) -> list[str]:
    parts = text.split("\n")
    lines = [part + "\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines
