"""Findings as text: the position, the source line with the span underlined, notes and help."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import combining, east_asian_width

from wfc.findings import Diagnostic, Redaction, Severity, one_line
from wfc.render.style import Style
from wfc.yaml import Span

_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_WIDTH = 160


def render_text(found: Sequence[Diagnostic], style: Style) -> str:
    mask = Redaction(found)
    return "".join(_finding(mask.finding(diagnostic), style, mask) + "\n" for diagnostic in found)


def _finding(found: Diagnostic, style: Style, mask: Redaction) -> str:
    color = _COLORS[found.severity]
    place = f"{_escaped(found.path)}:{found.span.line}:{found.span.column}:"
    rule = f"[{found.code} {found.name}]" if found.code else ""
    kind = style.paint(f"{found.severity}{rule}", color, "bold")
    message = _escaped(found.message)
    lines = [f"{style.paint(place, 'bold')} {kind}: {message}", *_excerpt(found.span, style, color, mask)]
    for note in (*found.flow, *found.notes):
        where = f" ({_place(note.span, found)})" if note.span else ""
        lines.append(f"  note: {_escaped(note.message + where)}")
        if note.span:
            lines += _excerpt(note.span, style, "blue", mask)
    if found.help:
        lines.append(f"  {style.paint('help:', 'green')} {_escaped(found.help)}")
    if found.fix:
        flag = "--fix" if found.fix.safe else "--fix --unsafe-fixes"
        lines.append(f"  fixable with `wfc check {flag}`")
    return "\n".join(lines) + "\n"


def _place(span: Span, found: Diagnostic) -> str:
    place = f"line {span.line}"
    return place if span.source.path == found.path else f"{span.source.path}, {place}"


def _excerpt(span: Span, style: Style, color: str, mask: Redaction) -> list[str]:
    """The first line of the span, cut around it if it is very long."""
    text = mask.line(span.source, span.line)
    if not text.strip():
        return []
    start = span.column - 1
    end = span.end_column - 1 if span.end_line == span.line else len(text.rstrip())
    cut = max(0, start - _WIDTH // 2) if len(text) > _WIDTH else 0
    shown = one_line(text[cut : cut + _WIDTH])
    before = _columns(shown[: start - cut])
    marks = "^" * max(1, _columns(shown[start - cut : min(end, cut + _WIDTH) - cut]))
    return [f"{span.line:>5} | {shown}", f"      | {' ' * before}{style.paint(marks, color)}"]


def _columns(text: str) -> int:
    """The width in a terminal: East Asian characters and emoji take two columns, combining accents none."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def _escaped(text: str) -> str:
    """Names come from an untrusted file, so their control characters are escaped."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
