"""Findings as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from wfc.findings import Diagnostic, Fix, Redaction, Severity
from wfc.yaml import Span


def render_json(found: Sequence[Diagnostic]) -> str:
    mask = Redaction(found)
    document = {
        "findings": [to_json(diagnostic, mask) for diagnostic in found],
        "errors": sum(diagnostic.severity is Severity.ERROR for diagnostic in found),
        "warnings": sum(diagnostic.severity is Severity.WARNING for diagnostic in found),
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def to_json(found: Diagnostic, mask: Redaction | None = None) -> dict[str, Any]:
    """A finding with its secrets, or those of `mask`, hidden; a fix that would write one is left out."""
    mask = mask or Redaction([found])
    found = mask.finding(found)
    return {
        "code": found.code,
        "name": found.name,
        "severity": str(found.severity),
        **_place(found.span),
        "message": found.message,
        "help": found.help,
        "fixable": found.fix is not None,
        "step": found.step,
        "notes": [
            {"message": note.message, **(_place(note.span) if note.span else {})}
            for note in (*found.flow, *found.notes)
        ],
        "fix": _fix(found.fix) if found.fix is not None and not mask.hides(found.fix) else None,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    edits = [{**_place(edit.span), "text": edit.text} for edit in fix.edits]
    return {"description": fix.description, "safe": fix.safe, "edits": edits}


def _place(span: Span) -> dict[str, Any]:
    """Lines and columns begin at 1, and the end is one past the last character."""
    return {
        "file": span.source.path,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }
