"""Printing, shared by the commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wfc.diagnostics import Diagnostic

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


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
