"""Findings as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from wfc.findings import Diagnostic, Redaction, Severity


def render_json(found: Sequence[Diagnostic]) -> str:
    mask = Redaction(found)
    document = {
        "findings": [to_json(mask.finding(diagnostic)) for diagnostic in found],
        "errors": sum(diagnostic.severity is Severity.ERROR for diagnostic in found),
        "warnings": sum(diagnostic.severity is Severity.WARNING for diagnostic in found),
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def to_json(found: Diagnostic) -> dict[str, Any]:
    return {
        "code": found.code,
        "name": found.name,
        "severity": str(found.severity),
        "file": found.path,
        "line": found.span.line,
        "column": found.span.column,
        "end_line": found.span.end_line,
        "end_column": found.span.end_column,
        "message": found.message,
        "help": found.help,
        "fixable": found.fix is not None,
        "step": found.step,
    }
