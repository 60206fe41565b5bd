"""Findings as GitHub Actions annotations."""

from __future__ import annotations

import os
from collections.abc import Sequence

from wfc.config import GITHUB_WORKSPACE
from wfc.findings import Diagnostic, Redaction, Severity

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render_github(found: Sequence[Diagnostic]) -> str:
    mask = Redaction(found)
    return "".join(_annotation(mask.finding(diagnostic)) + "\n" for diagnostic in found)


def _annotation(found: Diagnostic) -> str:
    span = found.span
    place = {"file": whole(found.path), "line": span.line, "endLine": span.end_line}
    if span.line == span.end_line:
        place |= {"col": span.column, "endColumn": span.end_column}
    place["title"] = f"{found.code} {found.name}"
    properties = ",".join(f"{key}={_property(str(value))}" for key, value in place.items())
    message = found.message + (f"\nhelp: {found.help}" if found.help else "")
    return f"::{_COMMANDS[found.severity]} {properties}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def whole(path: str) -> str:
    """The path relative to the root of the repository, if that is known: services read paths from there, wherever the
    command ran. Otherwise a path with `..` is made absolute, because it depends on the working folder."""
    full, root = os.path.abspath(path), os.environ.get(GITHUB_WORKSPACE)
    if root and full.startswith(os.path.join(os.path.abspath(root), "")):
        return os.path.relpath(full, root)
    return full if path.startswith("..") else path
