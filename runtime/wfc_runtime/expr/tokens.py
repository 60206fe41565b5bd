"""The words of a template: what they look like, and the values they stand for.

Jinja's own lexer gives line numbers only. Here every token knows its offsets, and its number in the stream
takes the place of the line number in Jinja's tree, so each node leads back to the exact characters it came
from.
"""

from __future__ import annotations

import math
import re
from typing import Any

from jinja2 import lexer

from .errors import TemplateError

# The same shapes as jinja2.lexer's in one pattern: a token takes one match instead of seven attempts.
_FLOAT = r"(?<!\.)(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?[eE][+\-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)"
_INTEGER = r"0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0[xX](?:_?[\da-fA-F])+|[1-9](?:_?\d)*|0(?:_?0)*"
_STRING = r"'[^'\\]*(?:\\.[^'\\]*)*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\""
# Anything that could be part of a name in some script; whether it is one, str.isidentifier tells.
_NAME = r"[^\x00-/:-@\[-^`{-\x7f\s]+"
_OPERATOR = lexer.operator_re.pattern

# What is most often met comes first.
TOKEN = re.compile(
    rf"\s*(?:(?P<name>(?!\d|r(?:{_STRING})){_NAME})|(?P<variable_end>-\}}\}}\s*|\}}\}})"
    rf"|(?P<block_end>\+%\}}|-%\}}\s*|%\}})|(?P<operator>{_OPERATOR[1:-1]})|(?P<string>{_STRING})"
    # An r before a string takes it as it stands, as in the specification's examples: r'\d+'.
    rf"|(?P<float>{_FLOAT})|(?P<integer>{_INTEGER})|(?P<raw>r(?:{_STRING}))|(?P<misnamed>{_NAME}))",
    re.S,
)
OPERATOR = re.compile(_OPERATOR)
TAG = re.compile(r"(?P<raw>\{%[-+]?\s*raw\s*(?:-%\}\s*|%\}))|\{[{%#][-+]?")
COMMENT_END = re.compile(r"\+#\}|-#\}\s*|#\}")
RAW_END = re.compile(r"\{%(?P<sign>[-+]?)\s*endraw\s*(?:\+%\}|-%\}\s*|%\})")

OPERATORS = lexer.operators
_ESCAPE = re.compile(
    r"\\(?:[abfnrtv\\'\"\n]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3]?[0-7]{1,2}|N\{[^}]*\})"
)
_MAX_DIGITS = 300


class Token:
    """One token as Jinja's parser wants it; `lineno` is its number in the stream."""

    __slots__ = ("key", "lineno", "type", "value")

    def __init__(self, number: int, kind: str, value: Any) -> None:
        self.lineno = number
        self.type = kind
        self.value = value
        self.key = f"name:{value}" if kind == "name" else kind

    def test(self, expr: str) -> bool:
        return expr == self.key or expr == self.type

    def test_any(self, *exprs: str) -> bool:
        return self.key in exprs or self.type in exprs


def to_integer(digits: str, start: int) -> int:
    if len(digits) > _MAX_DIGITS:
        raise TemplateError(f"a number of {len(digits):,} digits is too long", start, start + len(digits))
    return int(digits.replace("_", ""), 0)


def to_float(digits: str, start: int) -> float:
    number = float(digits.replace("_", ""))
    if not math.isfinite(number):
        raise TemplateError("this number is too large", start, start + len(digits))
    return number


def to_text(quoted: str, start: int) -> str:
    """What stands between the quotes, escapes resolved. An unknown escape stays as it is, as in `'\\d+'`."""
    inner = quoted[1:-1]
    if "\\" not in inner:
        return inner
    try:
        # Codec errors are wanted; the codec's warnings about unknown escapes are not, hence one escape at a
        # time.
        text = _ESCAPE.sub(lambda match: match.group().encode().decode("unicode_escape"), inner)
        text.encode()
    except UnicodeError:
        message = "this string has an escape that stands for no character"
        raise TemplateError(message, start, start + len(quoted)) from None
    return text
