"""Findings for people: the place, the line with the span underlined, notes, and the way out."""

from __future__ import annotations

from collections.abc import Sequence

from wfc.diagnostics import Diagnostic, Severity
from wfc.render.style import Style
from wfc.source import Span

_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_WIDTH = 160


def render_text(found: Sequence[Diagnostic], style: Style) -> str:
    return "".join(_finding(diagnostic, style) + "\n" for diagnostic in found)


def _finding(found: Diagnostic, style: Style) -> str:
    color = _COLORS[found.severity]
    place = f"{found.path}:{found.span.line}:{found.span.column}:"
    kind = style.paint(f"{found.severity}[{found.code}]", color, "bold")
    lines = [f"{style.paint(place, 'bold')} {kind}: {found.message}", *_excerpt(found.span, style, color)]
    for note in found.notes:
        lines.append(f"  note: {note.message}" + (f" ({_place(note.span, found)})" if note.span else ""))
        if note.span:
            lines += _excerpt(note.span, style, "blue")
    if found.help:
        lines.append(f"  {style.paint('help:', 'green')} {found.help}")
    if found.fix:
        flag = "--fix" if found.fix.safe else "--fix --unsafe-fixes"
        lines.append(f"  fixable with `wfc check {flag}`")
    return "\n".join(lines) + "\n"


def _place(span: Span, found: Diagnostic) -> str:
    place = f"line {span.line}"
    return place if span.source.path == found.path else f"{span.source.path}, {place}"


def _excerpt(span: Span, style: Style, color: str) -> list[str]:
    """The first line of the span, cut around it if it is very long."""
    text = span.source.line(span.line)
    if not text.strip():
        return []
    start = span.column - 1
    end = span.end_column - 1 if span.end_line == span.line else len(text.rstrip())
    cut = max(0, start - _WIDTH // 2) if len(text) > _WIDTH else 0
    shown = _printable(text[cut : cut + _WIDTH])
    marks = "^" * max(1, min(end, cut + _WIDTH) - start)
    gutter = f"{span.line:>5} | "
    return [f"{gutter}{shown}", " " * 5 + " | " + " " * (start - cut) + style.paint(marks, color)]


def _printable(text: str) -> str:
    """One character for one character, so that the marks below stay in place."""
    return "".join(char if char.isprintable() else " " if char.isspace() else "\ufffd" for char in text)
