"""What plain scalars mean in YAML 1.2 (core schema): `no`, `on`, `12:30` and dates are text, `010` is ten."""

from __future__ import annotations

import re

MAX_DIGITS = 1_000
"""Longer integers stay text: Python refuses to print them, and nothing downstream could hold them."""

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_STARTS = frozenset("+-.0123456789")
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITY = re.compile(r"[-+]?\.(?:inf|Inf|INF)")
_NOT_A_NUMBER = frozenset((".nan", ".NaN", ".NAN"))
_BASES = {"0o": 8, "0x": 16}


def resolve(text: str) -> str | int | float | bool | None:
    """The value of a plain scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in _NUMBER_STARTS:
        return _resolve_number(text)
    return text


def is_overlong_integer(text: str) -> bool:
    return len(text) > MAX_DIGITS and _INTEGER.fullmatch(text) is not None


def _resolve_number(text: str) -> str | int | float:
    if _INTEGER.fullmatch(text):
        if len(text) > MAX_DIGITS:
            return text
        base = _BASES.get(text[:2], 10)
        return int(text[2:] if base != 10 else text, base)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _INFINITY.fullmatch(text):
        return float("-inf" if text[0] == "-" else "inf")
    if text in _NOT_A_NUMBER:
        return float("nan")
    return text
