"""The JavaScript of a file, as far as the translation looks into it."""

from __future__ import annotations

from wfc.caching import cached
from wfc.javascript import Script, is_installed, parse_script
from wfc_runtime.expr.errors import TemplateError
from wfc_runtime.javascript import Hole, find_holes


@cached(4096)
def holes(text: str) -> list[Hole]:
    """The holes of a text. One that is never closed leaves the text without holes; WF201 reports it."""
    try:
        return find_holes(text)
    except TemplateError:
        return []


def script(code: str) -> Script | None:
    """The parsed code; None if the parser is not installed, which is one finding for the whole file."""
    return parse_script(code) if is_installed() else None


def kind_of(code: str) -> str:
    """Whether code is an `expression`, an `object` literal, the `body` of a function, or an `error`."""
    found = script(code)
    return found.kind if found else "expression"


def value_at(code: str) -> int | None:
    """Where the last of several statements begins, if its value is that of the code."""
    found = script(code)
    return found.value_at if found else None


def joined(text: str) -> str:
    """The text as code: each hole is its expression in parentheses. Positions stay the same."""
    for hole in holes(text):
        text = f"{text[: hole.start]} ({text[hole.start + 2 : hole.end - 2]}) {text[hole.end :]}"
    return text
