"""Printing, shared by the commands."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from wfc.render.style import printable

if TYPE_CHECKING:
    from wfc.findings import Diagnostic

FORMATS = ("text", "json", "github", "sarif")


def rendered(found: Sequence[Diagnostic], form: str) -> str:
    """Findings for standard output, in one of the four forms. Only the renderer that is used is imported."""
    match form:
        case "json":
            from wfc.render.json import render_json

            return render_json(found)
        case "github":
            from wfc.render.github import render_github

            return render_github(found)
        case "sarif":
            from wfc.render.sarif import render_sarif

            return render_sarif(found)
        case _:
            from wfc.render.style import style_for
            from wfc.render.text import render_text

            return render_text(found, style_for(sys.stdout))


_FOREIGN = re.compile(r"[^\x20-\x7e\n]")


def write_out(text: str) -> None:
    """Print what was found. That nobody reads it to its end changes nothing of the exit code."""
    with suppress(BrokenPipeError):
        sys.stdout.write(text)
        sys.stdout.flush()


def say(line: str) -> None:
    write_out(f"{line}\n")


def data(text: str) -> str:
    """A value for standard output: as it is for a file or a program, as text for a terminal."""
    return printable(text) if sys.stdout.isatty() else text


def to_json(value: Any) -> str:
    """JSON to be read by a program or a person: what would control a terminal is escaped, the value is the same."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    return _FOREIGN.sub(lambda found: _escaped(found[0]), text)


def _escaped(char: str) -> str:
    return char if char.isprintable() else json.dumps(char)[1:-1]


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
