"""What to write instead of a number, a boolean, a text or a name of the wrong kind."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from unicodedata import combining, normalize

from wfc.caching import pattern
from wfc.language.fields import (
    BOOLEAN,
    CONDITION,
    COUNT,
    DELAY,
    FACTOR,
    ID,
    NAME,
    NUMBER,
    OPTIONAL_TEXT,
    SECONDS,
    SIZE,
    TEXT,
    WORD,
    FieldType,
)
from wfc.rules.shared.wording import quote
from wfc.yaml import Node, Scalar

Advice = Callable[[str, FieldType[Any], Node], str]
"""What to write in a field, by its key, what it takes and what stands there; empty for no advice."""

_TEXTS: tuple[FieldType[Any], ...] = (WORD, TEXT, ID, NAME, OPTIONAL_TEXT)
_NUMBERS: tuple[FieldType[Any], ...] = (NUMBER, COUNT, SIZE, FACTOR, SECONDS, DELAY)
_YES = {"yes": "true", "on": "true", "y": "true", "true": "true", "1": "true"}
_NO = {"no": "false", "off": "false", "n": "false", "false": "false", "0": "false"}
_DURATION = pattern(
    r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)\s*", re.I
)
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def _no_template(key: str, kind: FieldType[Any], node: Node) -> str:
    if kind not in (*_NUMBERS, BOOLEAN) or not isinstance(node, Scalar) or "{{" not in node.text:
        return ""
    return f"`{key}` is fixed when the workflow is compiled: no expression can stand here"


def _seconds(key: str, kind: FieldType[Any], node: Node) -> str:
    found = _DURATION.fullmatch(node.text) if kind in (SECONDS, DELAY) and isinstance(node, Scalar) else None
    if found is None:
        return ""
    unit = found[2].lower()
    seconds = float(found[1]) * _UNITS["ms" if unit == "ms" else unit[0]]
    return f"write the seconds as a bare number: `{key}: {seconds:.10g}`"


def _bare_number(key: str, kind: FieldType[Any], node: Node) -> str:
    if kind not in _NUMBERS or not isinstance(node, Scalar) or not isinstance(node.value, str):
        return ""
    if not re.fullmatch(r"[0-9][0-9_]*(?:\.[0-9]+)?", node.text):
        return ""
    return f"write a bare number: `{key}: {node.text.replace('_', '')}`"


def _boolean(key: str, kind: FieldType[Any], node: Node) -> str:
    if kind is not BOOLEAN or not isinstance(node, Scalar):
        return ""
    word = {**_YES, **_NO}.get(node.text.strip().lower())
    return f"write `{word}`" if word else ""


def _quotes(key: str, kind: FieldType[Any], node: Node) -> str:
    if (
        kind not in _TEXTS
        or not isinstance(node, Scalar)
        or node.value is None
        or isinstance(node.value, str)
    ):
        return ""
    return f"quote it, so that it is text: `{quote(node.text)}`" if kind is not NAME else ""


def _name(key: str, kind: FieldType[Any], node: Node) -> str:
    if kind not in (ID, NAME) or not isinstance(node, Scalar) or not isinstance(node.value, str):
        return ""
    gap = "-" if kind is ID else "_"
    plain = "".join(char for char in normalize("NFKD", node.text) if not combining(char))  # Without accents.
    made = re.sub(r"[^A-Za-z0-9_]+", gap, plain.replace("ß", "ss")).strip("-_")
    is_name = bool(made) and len(made) <= 100 and (kind is ID or not made[0].isdigit())
    signs = (
        "letters, digits, `-`, `_`, `.` and `:`" if kind is ID else "letters, digits and `_`, a letter first"
    )
    return f"use {signs}, at most 100 characters" + (f": `{made}`" if is_name else "")


def _condition(key: str, kind: FieldType[Any], node: Node) -> str:
    return 'write an expression, such as "{{ inputs.force }}"' if kind is CONDITION else ""


SCALAR_ADVICE: tuple[Advice, ...] = (
    _no_template,
    _seconds,
    _bare_number,
    _boolean,
    _quotes,
    _name,
    _condition,
)
